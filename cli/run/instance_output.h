// InstanceOutput: writes the records of one instance of a run to a recording, or prints them as trace lines.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/definitions/run_definitions.h"
#include "cli/run/run_output.h"
#include "runtime-user/engine/text/event_text.h"
#include "runtime-user/engine/tracing.h"
#include "runtime-user/session/recorder.h"

namespace kevt::cli {

class InstanceOutput {
 public:
  // `tracing` and the instance outlive this object.
  InstanceOutput(engine::Tracing& tracing, RunInstance wanted);

  // Call record() or print() once, before anything else. `lines` may be shared with other instances; each line starts
  // with `head`.
  Result<void> record(const session::MakeWriter& make, std::string_view id_begin);
  void print(std::shared_ptr<RunOutput> lines, std::string head);

  Result<void> take(const engine::TracedEvent& event, engine::TracedTarget& target, const runtime::Record& record);
  Result<void> take_stack(engine::TracedTarget& target, const runtime::Record& of,
                          std::span<const std::uint64_t> frames);
  // Writes buffered records or lines, so that other programs can read them.
  Result<void> flush();
  // To be called when the output cannot be written any more: it takes no more records.
  void close();
  bool is_closed() const { return is_closed_; }
  // From now on the output is another file, for the records that are taken from now on: open it by record(). Returns
  // the recorder that there was.
  std::unique_ptr<session::Recorder> go_on_in(std::string file);
  // To be called when counters are final: completes a recording.
  Result<void> finish();

  // Whether records may come: some event is on in the instance, or may be switched on.
  bool may_record() const;
  engine::Instance& instance() const { return *wanted_.instance; }
  const std::vector<const engine::TracedEvent*>& events() const { return wanted_.events; }
  const std::string& file() const { return wanted_.output; }
  bool is_on_stdout() const { return wanted_.output.empty() || wanted_.output == "-"; }
  session::Recorder* recorder() { return recorder_.get(); }  // nullptr: it prints lines
  const session::Recorder* recorder() const { return recorder_.get(); }
  const std::shared_ptr<RunOutput>& lines() const { return lines_; }
  std::uint64_t taken() const { return taken_; }
  std::uint64_t bytes() const;
  // The name of an event of this instance in messages.
  std::string name_of(const engine::TracedEvent& event) const;

  // Tell of targets that were added or are removed.
  void add(const engine::TracedTarget& target);
  void remove(const engine::TracedTarget& target);
  // Addresses may have other names from now on.
  void forget_names() { text_.forget(); }

 private:
  void print_line(const engine::TracedEvent& event, const engine::TracedTarget& target, const runtime::Record& record);

  engine::Tracing& tracing_;
  RunInstance wanted_;
  engine::EventText text_;
  std::string head_, line_;
  std::shared_ptr<RunOutput> lines_;
  std::unique_ptr<session::Recorder> recorder_;
  bool is_closed_ = false;
  std::uint64_t taken_ = 0;    // records
  std::uint64_t printed_ = 0;  // bytes
};

}  // namespace kevt::cli
