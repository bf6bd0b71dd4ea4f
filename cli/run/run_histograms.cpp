#include "cli/run/run_histograms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/error.h"
#include "common/print.h"

namespace kevt::cli {

namespace {

void keep(session::Recorder& recorder, std::span<const engine::HistSnapshot> snapshots, const std::string& text,
          session::HistogramSpan span) {
  record::HistogramReading kept{.objects = {}, .text = text};
  const std::string objects = session::HistogramExport(session::HistogramForm::Json).text(snapshots, span);
  for (std::size_t at = 0; at < objects.size();) {
    const std::size_t end = std::min(objects.find('\n', at), objects.size());
    kept.objects.push_back(objects.substr(at, end - at));
    at = end + 1;
  }
  recorder.add_histograms(std::move(kept));
}

}  // namespace

Result<void> RunHistograms::choose_form(std::size_t instances) {
  const std::string& format = options_.histogram_format;
  const auto form = format.empty() ? session::histogram_form_of_file(options_.histogram_output)
                                   : session::histogram_form(format).value();
  if (form == session::HistogramForm::OpenMetrics && options_.interval)
    return std::unexpected(Error("openmetrics is one exposition of the whole run: leave --interval out", EINVAL));
  if (form == session::HistogramForm::OpenMetrics && instances > 1)
    return std::unexpected(Error("openmetrics is one exposition of one instance: leave the others out", EINVAL));
  if (have_own_file() && options_.histogram_output == options_.output)
    return std::unexpected(Error("--hist-output and -o name the same file", EINVAL));
  form_ = form;
  return {};
}

Result<void> RunHistograms::open() {
  if (!have_own_file()) return {};
  file_ = KEVT_TRY(RunOutput::open(options_.histogram_output));
  return {};
}

// The texts of the file `hist`, each under a head with the event's name and, with --interval, the time it covers.
std::string RunHistograms::with_heads(std::span<const std::string> texts, const InstanceOutput& output,
                                      session::HistogramSpan span) const {
  const std::string& name = output.instance().name;
  const std::string instance = name.empty() ? "" : name + '/';
  const std::string time = options_.interval ? fmt::format(", {:.3f} s to {:.3f} s", span.from, span.to) : "";
  std::string text;
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (!texts[i].empty())
      text += fmt::format("{}# {}{}:{}{}\n{}", text.empty() ? "" : "\n", instance, output.events()[i]->group,
                          output.events()[i]->name, time, texts[i]);
  return text;
}

RunHistograms::Place& RunHistograms::place_of(const InstanceOutput& output) {
  const auto [at, is_new] = places_.try_emplace(have_own_file() ? nullptr : output.lines().get());
  if (is_new && form_ != session::HistogramForm::Text) at->second.exported.emplace(form_);
  return at->second;
}

std::string RunHistograms::take(engine::Tracing& tracing, InstanceOutput& output, session::HistogramSpan span) {
  using Forms = engine::TriggerFiles::HistForms;
  const auto reading = tracing.triggers().take_histograms(output.instance(), output.events(),
                                                          output.recorder()                       ? Forms::Both
                                                          : form_ != session::HistogramForm::Text ? Forms::Snapshots
                                                                                                  : Forms::Texts);
  const std::string text = with_heads(reading.texts, output, span);
  if (output.recorder() && !text.empty()) keep(*output.recorder(), reading.snapshots, text, span);
  Place& place = place_of(output);
  if (place.exported) return place.exported->text(reading.snapshots, span);
  return text.empty() || !std::exchange(place.has_any, true) ? text : "\n" + text;
}

// Behind the trace lines; beside a recording.
void RunHistograms::print(const std::string& text, InstanceOutput& output) {
  if (have_own_file()) return write(text);
  if (output.lines()) return output.lines()->add_lines(text);
  print_to(output.is_on_stdout() ? stderr : stdout, "{}", Lines{text});
}

// If a write fails, the trace goes on without histograms.
void RunHistograms::write(const std::string& text) {
  if (!file_) return;
  file_->add_lines(text);
  auto written = file_->flush();
  if (written) return;
  report_.error(written.error());
  has_failed_ = true;
  file_.reset();
}

bool RunHistograms::have_own_file() const {
  return !options_.histogram_output.empty() && options_.histogram_output != "-";
}

}  // namespace kevt::cli
