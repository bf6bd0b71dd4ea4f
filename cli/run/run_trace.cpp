// A recording is flushed ten times a second: if kevtrace is killed, the file is complete up to the last flush. Trace
// lines are written in every round.
//
// Lines of an instance without an output of its own are printed among the top instance's, as trace-cmd prints several
// buffers:
//
//   "            steps-41 …"
//   "    errors: steps-41 …"
#include "cli/run/run_trace.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "cli/exit_status.h"
#include "cli/output_format.h"
#include "common/error.h"
#include "common/output_place.h"
#include "common/print.h"
#include "runtime-user/engine/records/accounting.h"
#include "runtime-user/engine/tracing.h"
#include "tracefs-compat/record/dat/flight_recorder.h"
#include "tracefs-compat/record/formats/text_writer.h"

namespace kevt::cli {
namespace {

constexpr std::chrono::milliseconds kFlushEvery{100};

// A recording beside which another can stand: a file, or the folder of a CTF trace. Not a pipe, or a device.
bool is_file(const std::string& path) {
  struct stat status = {};
  const bool is_there = !path.empty() && path != "-" && stat(path.c_str(), &status) == 0;
  return is_there && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
}

// Lines written during a run use the kernel's print formats: libtraceevent's need another program, whose start a trace
// of the kernel would show.
session::MakeWriter kernel_lines(const std::string& file) {
  return [file](const record::Metadata& metadata) { return record::create_kernel_lines(file, metadata); };
}

}  // namespace

// Mistakes are found before any file is opened, since opening empties a file.
std::optional<int> RunTrace::open(engine::Tracing& tracing, std::vector<RunInstance> instances) {
  tracing_ = &tracing;
  for (RunInstance& one : instances) outputs_.emplace_back(tracing, std::move(one));
  for (const InstanceOutput& one : outputs_)
    if (one.is_on_stdout()) longest_name_ = std::max(longest_name_, one.instance().name.size());
  if (!make_) make_ = writer_of(options_, outputs_.front().file(), report_);
  auto opened = histograms_.choose_form(outputs_.size());
  if (opened) opened = check_outputs();
  if (!opened) {
    report_.error(opened.error());
    return outputs_.size() > 1 ? kUsage : kFailed;
  }
  for (InstanceOutput& one : outputs_)
    if (opened) opened = open_output(one);
  if (opened) opened = histograms_.open();
  if (!opened) {
    report_.error(opened.error());
    return kFailed;
  }
  // A limit (-c) means the first records in time, not those of the first CPU; and triggers need the order of the hits.
  const session::Recorder* const recorder = outputs_.front().recorder();
  const bool any_order = outputs_.size() == 1 && recorder && recorder->takes_any_order() && !options_.events &&
                         tracing.top().triggers.events().empty();
  tracing.records().set_tap(*this, any_order ? engine::DrainOrder::ByCpu : engine::DrainOrder::ByTime);
  return std::nullopt;
}

// Checks, as far as possible, that all output files are different and can be made.
Result<void> RunTrace::check_outputs() const {
  std::map<std::string, std::string> names;  // by device and inode, or folder and name
  const auto take = [&](const std::string& file) -> Result<void> {
    auto place = KEVT_TRY(find_output(file));
    struct stat status = {};
    const bool is_there = place.file && fstat(place.file.get(), &status) == 0;
    if (!is_there && place.folder) fstat(place.folder.get(), &status);
    if (is_there && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return {};  // /dev/null may be shared
    const auto [other, is_new] =
        names.try_emplace(fmt::format("{}:{}{}", status.st_dev, status.st_ino, is_there ? "" : "/" + place.name), file);
    if (is_new) return {};
    return std::unexpected(Error(fmt::format("`{}` and `{}` are the same file: each instance needs its own, and so do "
                                             "histograms",
                                             other->second, file),
                                 EINVAL));
  };
  for (const InstanceOutput& one : outputs_) {
    if (const std::string why = why_own_file(one); !why.empty())
      return std::unexpected(Error(fmt::format("the records of instance `{0}` need a file of their own, since {1}: -o "
                                               "FILE behind --instance, or `instance {0} output FILE`",
                                               one.instance().name, why),
                                   EINVAL));
    if (outputs_.size() == 1 || one.is_on_stdout()) continue;
    KEVT_TRY(take(one.file()));
  }
  return histograms_.file().empty() || outputs_.size() == 1 ? Result<void>() : take(histograms_.file());
}

// Why the instance needs an output file of its own; empty: it does not. Lines have no room for stacks, and a recording
// holds the records of one instance.
std::string RunTrace::why_own_file(const InstanceOutput& output) const {
  if (&output == &outputs_.front() || !output.is_on_stdout() || !output.may_record()) return "";
  if (output.instance().records_stacks()) return "stacks are recorded";
  const InstanceOutput& top = outputs_.front();
  const bool is_recorded = make_ || top.instance().records_stacks();
  return is_recorded ? "the top instance makes a recording" : "";
}

// With stacks, even text goes through a recorder.
Result<void> RunTrace::open_output(InstanceOutput& output) {
  const bool is_top = &output == &outputs_.front();
  const std::string& name = output.instance().name;
  if (!is_top && output.is_on_stdout() && outputs_.front().lines()) {
    output.print(outputs_.front().lines(), fmt::format("{:>{}}: ", name, longest_name_));
    return {};
  }
  const bool may_have_records = is_top || !output.is_on_stdout();  // else it only has histograms
  session::MakeWriter make = is_top ? make_ : session::MakeWriter();
  if (!is_top && may_have_records) make = writer_of(options_, output.file(), report_);
  if (!make && may_have_records && output.instance().records_stacks()) make = kernel_lines(output.file());
  if (make) return output.record(make, options_.recording_id);
  auto lines = KEVT_TRY(RunOutput::open(output.file()));
  const std::size_t head = is_top && longest_name_ ? longest_name_ + 2 : 0;
  output.print(std::make_shared<RunOutput>(std::move(lines)), std::string(head, ' '));
  return {};
}

namespace {

// An address has a name in its process alone. BPF numbers no stacks of programs.
bool can_count_stacks(const engine::Tracing& tracing, std::span<const session::Recorder::CountTrigger> wanted) {
  const auto& targets = tracing.code().targets();
  if (targets.size() != 1 || tracing.options().follows) return false;
  const runtime::Capabilities able = targets.front()->runtime().capabilities();
  const auto is_of_program = [](const auto& one) { return one.event->is_of_program(); };
  return able.numbers_stacks && (able.code == model::CodeKind::Native || std::ranges::none_of(wanted, is_of_program));
}

}  // namespace

// A limit of records needs records, and so does what acts on them. From the moment on that the trigger is there, the
// reader counts each hit that it gets: records that still come, until the event is off, are no further hits (take()).
void RunTrace::count_instead() {
  session::Recorder* const recorder = outputs_.front().recorder();
  const bool wants_records = options_.events || options_.max_bytes || options_.interval || options_.overwrite;
  engine::Instance& top = tracing_->top();
  if (!recorder || outputs_.size() > 1 || wants_records || !top.triggers.events().empty()) return;
  const std::vector<session::Recorder::CountTrigger> wanted = recorder->count_triggers();
  const bool are_stacks = std::ranges::any_of(wanted, &session::Recorder::CountTrigger::is_of_stacks);
  if (are_stacks ? !can_count_stacks(*tracing_, wanted) : top.records_stacks()) return;
  const auto is_on = [&](const session::Recorder::CountTrigger& one) {
    const engine::EventState* const state = top.find_state(one.event->id);
    return state && state->records();
  };
  if (wanted.empty() || !std::ranges::all_of(wanted, is_on)) return;
  tracing_->drain();  // these hits have no trigger yet
  std::vector<const engine::TracedEvent*> counted;
  Result<void> done;
  for (const session::Recorder::CountTrigger& one : wanted) {
    counted_.insert(one.event->id);
    done = tracing_->triggers().write(top, *one.event, one.text);
    if (!done) break;
    counted.push_back(one.event);
  }
  if (done) done = tracing_->switcher().set_enabled(top, counted, false);
  if (done)
    return report_.status(are_stacks
                              ? "hits are counted by themselves and not recorded"
                              : "hits are counted by themselves and not recorded: min and max are true to 1.6 %");
  report_.status(fmt::format("hits are recorded, not counted by themselves: {}", done.error().message()));
  take_counts();
  for (const engine::TracedEvent* event : counted)
    if (auto removed = tracing_->triggers().truncate(top, *event); !removed) report_.error(removed.error());
  counted_.clear();
  if (auto on = tracing_->switcher().set_enabled(top, counted, true); !on) report_.error(on.error());
}

// ---- records --------------------------------------------------------------------------------

InstanceOutput& RunTrace::output_of(const engine::Instance& instance) {
  return *std::ranges::find_if(outputs_, [&](const InstanceOutput& one) { return &one.instance() == &instance; });
}

std::uint64_t RunTrace::taken() const {
  std::uint64_t sum = 0;
  for (const InstanceOutput& one : outputs_) sum += one.taken();
  return taken_before_ + sum;
}

// Behind the limit of records no more are wanted. What an output that was closed does not take stays recorded.
bool RunTrace::take(const engine::Instance& instance, const engine::TracedEvent& event, engine::TracedTarget& target,
                    const runtime::Record& record) {
  InstanceOutput& output = output_of(instance);
  if (counted_.contains(event.id) && instance.find_state(event.id)->soft_users) {  // its trigger has counted the hit
    last_taken_ = nullptr;
    return true;
  }
  const bool is_beyond = options_.events && taken() >= *options_.events;
  const bool is_wanted = !is_beyond && !output.is_closed();
  last_taken_ = is_wanted ? &output : nullptr;
  if (is_wanted) note_written(output, output.take(event, target, record));
  return !is_beyond;
}

void RunTrace::take_stack(const engine::Instance& instance, engine::TracedTarget& target, const runtime::Record& of,
                          std::span<const std::uint64_t> frames) {
  if (last_taken_ && &last_taken_->instance() == &instance && !last_taken_->is_closed())
    note_written(*last_taken_, last_taken_->take_stack(target, of, frames));
}

void RunTrace::flush(Which which) {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    InstanceOutput& one = outputs_[i];
    if (one.is_closed() || (one.recorder() && which == Which::Lines)) continue;
    note_written(one, one.flush());
    written_counts_.note(i);
  }
}

void RunTrace::write(Round round) {
  const bool is_due = Clock::now() - flushed_ >= kFlushEvery;
  if (is_due) flushed_ = Clock::now();
  flush(is_due && round == Round::Running ? Which::All : Which::Lines);
  written_ = 0;
  for (const InstanceOutput& one : outputs_) written_ += one.bytes();
}

// A copy that is made between the two steps of an interval's end begins with the next interval, and knows what is still
// to be printed of this one.
void RunTrace::round(session::Keeper& keeper) {
  go_on();
  const bool ends_interval = is_interval_over();
  if (ends_interval) end_interval();
  look_at(keeper, ends_interval);
  if (ends_interval) print_interval();
}

void RunTrace::end_interval() {
  tracing_->drain();
  const session::HistogramSpan span = next_span();
  interval_texts_.clear();
  for (InstanceOutput& one : outputs_) interval_texts_.push_back(histograms_.take(*tracing_, one, span));
  ++intervals_;
}

void RunTrace::print_interval() {
  for (std::size_t i = 0; i < interval_texts_.size(); ++i) histograms_.print(interval_texts_[i], outputs_[i]);
  interval_texts_.clear();
  for (InstanceOutput& one : outputs_)
    if (one.recorder()) one.recorder()->write_histograms();
  flush(Which::All);
  write(Round::Running);
  std::fflush(stdout);  // where a recording is made, tables go there
  written_counts_.note_intervals(intervals_);
}

// After a failed write tracing ends; the other outputs are still written.
void RunTrace::note_written(InstanceOutput& output, const Result<void>& written) {
  if (written || output.is_closed()) return;
  for (InstanceOutput& one : outputs_)
    if (&one == &output || (one.lines() && one.lines() == output.lines())) one.close();
  is_any_closed_ = true;
  if (written.error().errno_value() == EPIPE)
    return report_.status("nobody reads the trace any more; tracing stops, what was traced goes on");
  has_failed_ = true;
  report_.error(written.error());
}

void RunTrace::take_counts() {
  if (counted_.empty() || !outputs_.front().recorder()) return;
  InstanceOutput& top = outputs_.front();
  const auto reading =
      tracing_->triggers().take_histograms(top.instance(), top.events(), engine::TriggerFiles::HistForms::Snapshots);
  top.recorder()->give_counts(reading.snapshots);
}

void RunTrace::files_change() {
  take_counts();
  for (InstanceOutput& one : outputs_) one.forget_names();
}

void RunTrace::finish() {
  tracing_->records().finish();
  tracing_->drain();
  if (goes_on_) count_what_was_written();
  flush(Which::All);  // a disk may be full of just this
  if (has_failed_) count_what_files_have();
  std::vector<std::string> counted;
  const session::HistogramSpan span = next_span();
  take_counts();
  for (InstanceOutput& one : outputs_) {
    counted.push_back(!counted_.empty() ? "" : histograms_.take(*tracing_, one, span));
    if (one.lines() && !one.is_closed()) histograms_.print(counted.back(), one);
  }
  write(Round::Last);
  progress_.end();
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    session::Recorder* const recorder = outputs_[i].recorder();
    if (!recorder) continue;
    const bool was_closed = outputs_[i].is_closed();
    if (!was_closed) note_written(outputs_[i], outputs_[i].finish());
    if (!was_closed && outputs_[i].is_closed()) count_what_files_have();
    if (outputs_[i].is_closed() && has_failed_ && !outputs_[i].is_on_stdout()) finish_as_it_is(outputs_[i]);
    if (const auto note = recorder->take_note()) report_.status(*note);
    histograms_.print(counted[i], outputs_[i]);
    if (const std::size_t left_out = recorder->histograms_left_out())
      report_.status(fmt::format("the recording has the newest histograms alone: {} readings had no room", left_out));
    if (outputs_[i].is_closed() || outputs_[i].is_on_stdout()) continue;
    const std::string what = counted_.empty() ? fmt::format("{} events", outputs_[i].taken() - recorder->overwritten())
                                              : fmt::format("{} hits", recorder->counted());
    report_.status(fmt::format("wrote {}: {}, {} bytes", outputs_[i].file(), what, recorder->bytes()));
  }
}

// The time from the end of the last span until now.
session::HistogramSpan RunTrace::next_span() {
  const auto since_start = [this](Clock::time_point at) {
    return std::chrono::duration<double>(at - started_).count();
  };
  const Clock::time_point now = Clock::now();
  const double from = since_start(std::exchange(interval_began_, now));
  return {from, since_start(now)};
}

bool RunTrace::is_interval_over() const {
  return options_.interval &&
         std::chrono::duration<double>(Clock::now() - interval_began_).count() >= *options_.interval;
}

bool RunTrace::is_over() const {
  if (is_any_closed_) return true;
  if (options_.events && taken() >= *options_.events) return true;
  if (options_.max_bytes && !options_.overwrite && written_ >= *options_.max_bytes) return true;
  return options_.seconds && std::chrono::duration<double>(Clock::now() - started_).count() >= *options_.seconds;
}

// ---- a copy that goes on ---------------------------------------------------------------------

bool RunTrace::is_in_memory(const InstanceOutput& output) const {
  return (is_question_ && &output == &outputs_.front()) ||
         (output.recorder() && output.recorder()->is_known_only_at_end());
}

// Of what this process counts when it reads, a copy sees nothing. What is waiting is written before, so that the copy
// does not write it again.
void RunTrace::look_at(session::Keeper& keeper, bool always) {
  const auto has_triggers = [](const auto& instance) { return !instance->triggers.events().empty(); };
  const bool counts = std::ranges::any_of(outputs_, [this](const auto& one) { return is_in_memory(one); }) ||
                      std::ranges::any_of(tracing_->instances(), has_triggers);
  const session::Keeper::Version version = {.code = tracing_->code().changes(),
                                            .counts = counts ? tracing_->records().delivered() : 0};
  if (!keeper.is_due(version) && !always) return;
  flush(Which::All);
  written_counts_.share(intervals_ - !interval_texts_.empty());
  keeper.renew(version);
}

void RunTrace::take_over() {
  goes_on_ = true;
  std::uint64_t here = 0;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    InstanceOutput& one = outputs_[i];
    const bool is_written = !is_in_memory(one);
    written_counts_.take_over(i, is_written);
    if (is_written && one.recorder() && !one.is_closed())
      is_file(one.file()) ? go_on_beside(i) : one.recorder()->go_on_behind_another();
    here += one.taken();
  }
  taken_before_ = std::max(written_counts_.taken(), here) - here;
  if (written_counts_.intervals() < intervals_) return print_interval();
  for (InstanceOutput& one : outputs_)  // the other process has written them
    if (one.recorder()) one.recorder()->forget_histograms();
}

void RunTrace::go_on() {
  tracing_->drain();
  write(Round::Running);
}

void RunTrace::go_on_beside(std::size_t output) {
  InstanceOutput& one = outputs_[output];
  const std::string before = one.file();
  const auto recorder = one.go_on_in(rest_of(before));
  if (!options_.overwrite) left_files_.emplace_back(output, before);
  if (output == 0) make_ = writer_of(options_, one.file(), report_);
  auto opened = open_output(one);
  if (opened && one.recorder()) return one.recorder()->go_on_from(*recorder);
  const Error none("there is nothing to write the rest to");
  note_written(one, std::unexpected(opened ? none : opened.error()));
}

// A writer with a full buffer writes by itself, so that more may be in the file than was noted. Reading the file takes
// its time, so it comes when nothing is waiting in the rings any more.
void RunTrace::count_what_was_written() {
  for (const auto& [output, file] : left_files_) written_counts_.recount(output, file);
  tracing_->records().count_gone();
}

// Of what a file that could not be written to has not, nothing is recorded: it is lost.
void RunTrace::count_what_files_have() {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!outputs_[i].is_closed() || outputs_[i].is_on_stdout()) continue;
    std::vector<std::string> files;
    for (const auto& [output, file] : left_files_)
      if (output == i) files.push_back(file);
    if (outputs_[i].recorder() && is_file(outputs_[i].file())) files.push_back(outputs_[i].file());
    if (files.empty()) continue;  // lines, or a FIFO
    written_counts_.set_recorded(i, files);
  }
  tracing_->records().count_gone();
}

void RunTrace::finish_as_it_is(InstanceOutput& output) {
  const auto finished = output.recorder()->finish_as_it_is();
  if (!finished) return report_.error(finished.error());
  if (*finished) report_.status(output.file() + " has what was written before, and the counts of what was lost");
}

// ---- figures --------------------------------------------------------------------------------

std::vector<const engine::TracedEvent*> RunTrace::events() const {
  std::vector<const engine::TracedEvent*> all;
  for (const InstanceOutput& one : outputs_) all.insert(all.end(), one.events().begin(), one.events().end());
  std::ranges::sort(all, {}, &engine::TracedEvent::id);
  all.erase(std::ranges::unique(all).begin(), all.end());
  return all;
}

// Synthetic events are made separately in each instance, so their counts differ.
runtime::EventCounts RunTrace::counts_of(const engine::TracedEvent& event) const {
  runtime::EventCounts most;
  for (const InstanceOutput& one : outputs_) {
    if (outputs_.size() > 1 && std::ranges::find(one.events(), &event) == one.events().end()) continue;
    const runtime::EventCounts counts = tracing_->records().counts(one.instance(), event);
    if (counts.attempts >= most.attempts) most = counts;
  }
  return most;
}

runtime::EventCounts RunTrace::counts() const {
  runtime::EventCounts sum;
  std::set<const engine::TracedEvent*> seen;  // the code's counts are the same in each instance
  for (const InstanceOutput& one : outputs_)
    for (const engine::TracedEvent* event : one.events()) {
      const engine::EventState* const state = one.instance().find_state(event->id);
      if (seen.insert(event).second)
        sum += tracing_->records().counts(one.instance(), *event);
      else
        sum.lost += state ? state->lost : 0;
    }
  return sum;
}

void RunTrace::show_progress() {
  if (!progress_.is_due()) return;
  const runtime::EventCounts sum = counts();  // read seldom
  progress_.show({.events = counted_.empty() ? taken() : sum.recorded + sum.aggregated,
                  .lost = sum.lost,
                  .missed = sum.missed,
                  .bytes = written_});
}

bool RunTrace::is_left_unsaid(const runtime::EventCounts& counts) const {
  return !says_never_hit_ && counts.attempts == 0 && counts.faults == 0;
}

// What became of values that could not be read.
static std::string faults_line(const engine::TracedEvent& event, std::string_view name, std::uint64_t faults) {
  const bool has_lists = std::ranges::any_of(event.layout.fields, [](const auto& one) { return one.type.is_counted; });
  return has_lists ? fmt::format("{}: {} numbers or lists could not be read; they are recorded as 0 or without items\n",
                                 name, faults)
                   : fmt::format("{}: {} numbers could not be read and are recorded as 0\n", name, faults);
}

void RunTrace::print_account(const InstanceOutput& output, const engine::TracedEvent& event) const {
  const runtime::EventCounts c = tracing_->records().counts(output.instance(), event);
  if (report_.is_quiet() && !c.lost && !c.missed && !c.faults) return;
  const std::string name = output.name_of(event);
  const auto misses = tracing_->code().sees_misses(event) ? engine::Misses::Known : engine::Misses::Unknown;
  print_to(messages(), "{}", Lines{engine::accounting_line(name, c, misses)});
  if (const std::uint64_t gone = output.recorder() ? output.recorder()->overwritten(event) : 0)
    print_to(messages(), "{}",
             Lines{fmt::format("{}: {} of the recorded were overwritten by newer ones\n", name, gone)});
  // The counters of one process do not include what the reader filtered, so these lines are left out then.
  const engine::EventState* state = output.instance().find_state(event.id);
  const auto targets = tracing_->code().targets_of(event);
  if (targets.size() > 1 && !options_.follow && (!state || state->filtered + state->aggregated + state->lost == 0))
    for (const engine::TracedTarget* target : targets)
      print_to(messages(), "  pid {} {}", target->pid(),
               Lines{engine::accounting_line(name, tracing_->code().counts(event.id, *target), misses)});
  if (c.faults) print_to(messages(), "{}", Lines{faults_line(event, name, c.faults)});
}

void RunTrace::print_accounts() const {
  std::size_t unsaid = 0;
  for (const InstanceOutput& one : outputs_)
    for (const engine::TracedEvent* event : one.events()) {
      if (is_left_unsaid(tracing_->records().counts(one.instance(), *event)))
        ++unsaid;
      else
        print_account(one, *event);
    }
  if (unsaid) report_.status(fmt::format("{} events were never hit", unsaid));
}

session::MakeWriter writer_of(const RunOptions& options, const std::string& output, const Reporter& report) {
  const record::FileFormat format = output_format(options.format, output, report);
  if (options.overwrite)
    return [format, options, output](const record::Metadata& metadata) {
      const std::uint64_t kept = options.max_bytes ? *options.max_bytes / std::max(metadata.cpus, 1u)
                                                   : options.buffer_kb.value_or(kDefaultBufferKb) * 1024;
      return record::create_flight_recording(format, output, metadata, kept);
    };
  if (format == record::FileFormat::Text && !options.stack) return {};
  if (format == record::FileFormat::Text) return kernel_lines(output);
  return
      [format, output](const record::Metadata& metadata) { return record::create_recording(format, output, metadata); };
}

std::optional<int> data_lost_status(const RunOptions& options, const runtime::EventCounts& counts) {
  for (const std::string& what : options.fail_on)
    if ((what == "lost" && counts.lost) || (what == "missed" && counts.missed)) return kDataLost;
  return std::nullopt;
}

}  // namespace kevt::cli
