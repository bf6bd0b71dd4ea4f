// kevtrace flame: what a recording's paths of calls weigh, as a tree, a picture, lines or JSON; beside another
// recording's.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "cli/exit_status.h"
#include "cli/output_format.h"
#include "cli/recording_input.h"
#include "cli/verbs/cmd_recordings.h"
#include "tracefs-compat/record/analysis/call_tree.h"
#include "tracefs-compat/record/analysis/folded_paths.h"
#include "tracefs-compat/record/formats/flame_graph.h"

namespace kevt::cli {
namespace {

std::string format_of(const FlameOptions& options) {
  if (!options.format.empty()) return options.format;
  for (const char* format : {"svg", "folded", "json"})
    if (options.output.ends_with(std::string(".") + format)) return format;
  return "tree";
}

record::FoldedPaths::Folded folded_of(RecordingInput& input, const record::FoldRequest& request) {
  record::FoldedPaths paths(input.metadata(), request);
  record::TypedRecord record;
  while (input.reader().next(record)) paths.add(record);
  return paths.folded();
}

std::string rendered(const FlameOptions& options, const record::FoldedPaths::Folded& now,
                     const record::PathWeights* before, Controls controls) {
  const std::string format = format_of(options);
  if (format == "folded") return record::folded_lines(now.weights, controls);
  const record::CallTree tree = record::CallTree::of(now.weights, now.counts, before);
  if (format == "svg") return record::flame_graph_svg(tree);
  return format == "json" ? tree.json() : tree.text(options.least / 100, controls);
}

// Why two recordings cannot be compared, or a weight is none.
std::optional<std::string> mistake(const FlameOptions& options, const record::FoldRequest& request,
                                   const RecordingInput& input, const RecordingInput* before) {
  if (before && format_of(options) == "folded")
    return "--before: folded lines have one weight; svg, tree and json have two";
  if (request.by != record::FoldRequest::By::Value) return std::nullopt;
  for (const RecordingInput* one : {&input, before})
    if (one && !record::is_known(request.value, one->metadata()))
      return fmt::format("--weight: no event of the recording has a field `{}`", options.weight);
  return std::nullopt;
}

}  // namespace

int flame_recording(const FlameOptions& options, const GlobalOptions& global) {
  const Reporter report(global);
  const record::FoldRequest request = record::parse_fold_request(options.weight);
  int status = kOk;
  auto input = RecordingInput::open(options.input, report, status);
  if (!input) return status;
  std::optional<RecordingInput> other;
  if (!options.before.empty()) {
    InputOptions same = options.input;
    same.file = options.before;
    if (!options.before_range.empty()) take_range(options.before_range, same);
    other = RecordingInput::open(same, report, status);
    if (!other) return status;
  }
  if (const auto why = mistake(options, request, *input, other ? &*other : nullptr)) {
    report.error(*why);
    return kNotCompiled;
  }
  auto now = folded_of(*input, request);
  auto before = other ? std::optional(folded_of(*other, request)) : std::nullopt;
  if (before && before->counts != now.counts && !before->weights.empty() && !now.weights.empty()) {
    report.error(fmt::format("{} weighs {}, {} {}: --weight tells what is compared", options.before, before->counts,
                             options.input.file, now.counts));
    return kNotCompiled;
  }
  if (now.weights.empty() && before && !before->weights.empty()) now.counts = before->counts;
  if (now.weights.empty())
    report.status(request.by == record::FoldRequest::By::Time
                      ? "no calls: they take a p and an r probe of the same function"
                      : "no records are left of the recording");
  if (options.bottom_up) now.weights = record::reversed_paths(now.weights);
  if (options.bottom_up && before) before->weights = record::reversed_paths(before->weights);
  const bool is_standard = options.output.empty() || options.output == "-";
  const Controls controls = is_standard ? controls_for(STDOUT_FILENO) : Controls::Raw;
  const std::string text = rendered(options, now, before ? &before->weights : nullptr, controls);
  if (auto written = write_answer(options.output, text); !written && written.error().errno_value() != EPIPE) {
    report.error(written.error());
    return kFailed;
  }
  const int first = input->finish(report), second = other ? other->finish(report) : kOk;
  return first ? first : second;
}

}  // namespace kevt::cli
