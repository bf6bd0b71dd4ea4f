#include "cli/run/instance_output.h"

#include <algorithm>
#include <utility>

#include "common/error.h"
#include "compiler/layout/layout.h"
#include "compiler/model/record_view.h"

namespace kevt::cli {

InstanceOutput::InstanceOutput(engine::Tracing& tracing, RunInstance wanted)
    : tracing_(tracing), wanted_(std::move(wanted)), text_(tracing.code().static_events()) {}

Result<void> InstanceOutput::record(const session::MakeWriter& make, std::string_view id_begin) {
  recorder_ = KEVT_TRY(session::Recorder::create(tracing_, *wanted_.instance, wanted_.events, make, id_begin));
  return {};
}

void InstanceOutput::print(std::shared_ptr<RunOutput> lines, std::string head) {
  lines_ = std::move(lines);
  head_ = std::move(head);
}

Result<void> InstanceOutput::take(const engine::TracedEvent& event, engine::TracedTarget& target,
                                  const runtime::Record& record) {
  ++taken_;
  if (recorder_) return recorder_->give(event, target, record);
  print_line(event, target, record);
  return {};
}

Result<void> InstanceOutput::take_stack(engine::TracedTarget& target, const runtime::Record& of,
                                        std::span<const std::uint64_t> frames) {
  return recorder_ ? recorder_->give_stack(target, of, frames) : Result<void>();
}

void InstanceOutput::print_line(const engine::TracedEvent& event, const engine::TracedTarget& target,
                                const runtime::Record& record) {
  if (record.bytes.size() < model::kCommonBytes) return;
  line_ = head_;
  layout::LineContext context;
  context.comm = record.comm;
  context.pid = model::pid_of(record.bytes);
  context.cpu = record.cpu;
  context.timestamp_ns = record.timestamp_ns;
  context.flags = record.bytes[2];
  context.preempt_count = record.bytes[3];
  layout::append_line_prefix(line_, context);
  text_.append(event, record.bytes, text_.symbols(&target.known_env()), {}, line_);
  lines_->add_line(line_);
}

Result<void> InstanceOutput::flush() {
  if (recorder_) return recorder_->flush();
  printed_ += lines_->waiting();
  return lines_->flush();
}

void InstanceOutput::close() {
  is_closed_ = true;
  if (lines_) lines_->drop();
}

std::unique_ptr<session::Recorder> InstanceOutput::go_on_in(std::string file) {
  wanted_.output = std::move(file);
  taken_ = 0;
  return std::exchange(recorder_, nullptr);
}

bool InstanceOutput::may_record() const {
  const engine::Instance& instance = *wanted_.instance;
  const auto is_on = [](const auto& one) { return one.second.records(); };
  const auto switches_on = [](const model::Trigger& trigger) {
    return trigger.kind == model::TriggerKind::EnableEvent;
  };
  return std::ranges::any_of(instance.events, is_on) ||
         std::ranges::any_of(instance.triggers.events(),
                             [&](const auto& one) { return std::ranges::any_of(one.second, switches_on); });
}

Result<void> InstanceOutput::finish() { return recorder_ ? recorder_->finish() : Result<void>(); }

std::uint64_t InstanceOutput::bytes() const { return recorder_ ? recorder_->bytes() : printed_; }

std::string InstanceOutput::name_of(const engine::TracedEvent& event) const {
  const std::string& name = wanted_.instance->name;
  return name.empty() ? event.name : name + '/' + event.name;
}

void InstanceOutput::add(const engine::TracedTarget& target) {
  if (recorder_) recorder_->add(target);
}

void InstanceOutput::remove(const engine::TracedTarget& target) {
  if (recorder_) recorder_->remove(target);
  forget_names();
}

}  // namespace kevt::cli
