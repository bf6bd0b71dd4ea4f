// RunHistograms: prints the histograms of a run at the end or at intervals: behind the trace lines, beside a recording,
// or to a file of their own.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "cli/options/run_options.h"
#include "cli/reporter.h"
#include "cli/run/instance_output.h"
#include "cli/run/run_output.h"
#include "runtime-user/session/histogram_export.h"

namespace kevt::cli {

class RunHistograms {
 public:
  RunHistograms(const RunOptions& options, const Reporter& report) : options_(options), report_(report) {}

  // Refuses impossible combinations before any file is opened. `instances`: the number of instances.
  Result<void> choose_form(std::size_t instances);
  Result<void> open();

  // The text, for print(), of what the instance's histograms have counted since the last take(). A recording of the
  // instance also keeps these counts.
  std::string take(engine::Tracing& tracing, InstanceOutput& output, session::HistogramSpan span);
  void print(const std::string& text, InstanceOutput& output);
  bool has_failed() const { return has_failed_; }
  // The file of their own that they are written to; empty: none.
  std::string file() const { return have_own_file() ? options_.histogram_output : ""; }

 private:
  bool have_own_file() const;
  void write(const std::string& text);
  std::string with_heads(std::span<const std::string> texts, const InstanceOutput& output,
                         session::HistogramSpan span) const;

  const RunOptions& options_;
  const Reporter& report_;
  std::optional<RunOutput> file_;
  // One place where histograms are printed, perhaps for several instances.
  struct Place {
    std::optional<session::HistogramExport> exported;  // remembers what was printed; nullopt: plain text
    bool has_any = false;
  };
  Place& place_of(const InstanceOutput& output);

  session::HistogramForm form_ = session::HistogramForm::Text;
  std::map<const void*, Place> places_;  // by the RunOutput that they follow; nullptr: none
  bool has_failed_ = false;
};

}  // namespace kevt::cli
