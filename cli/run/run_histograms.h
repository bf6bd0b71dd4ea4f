// RunHistograms: what histograms of a run have counted, printed at the end or every so often: behind the trace lines,
// beside a recording, or in a file of their own.
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

  // What cannot be is refused before any file is opened. `instances`: how many.
  Result<void> choose_form(std::size_t instances);
  Result<void> open();

  // Since they were last taken; a recording of the instance keeps them, too. To be printed by print().
  std::string take(engine::Tracing& tracing, InstanceOutput& output, session::HistogramSpan span);
  void print(const std::string& text, InstanceOutput& output);
  bool has_failed() const { return has_failed_; }
  // That they go to; empty: to none of their own.
  std::string file() const { return have_own_file() ? options_.histogram_output : ""; }

 private:
  bool have_own_file() const;
  void write(const std::string& text);
  std::string with_heads(std::span<const std::string> texts, const InstanceOutput& output,
                         session::HistogramSpan span) const;

  const RunOptions& options_;
  const Reporter& report_;
  std::optional<RunOutput> file_;
  // Where they are printed, of one output or of several.
  struct Place {
    std::optional<session::HistogramExport> exported;  // what stands there already; nullopt: they are text
    bool has_any = false;
  };
  Place& place_of(const InstanceOutput& output);

  session::HistogramForm form_ = session::HistogramForm::Text;
  std::map<const void*, Place> places_;  // by the lines that they stand behind; nullptr: a file of their own, or none
  bool has_failed_ = false;
};

}  // namespace kevt::cli
