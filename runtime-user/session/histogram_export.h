// Histograms for other programs: JSON, CSV, OpenMetrics (docs/histograms.md, "For other programs").
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime-user/engine/histograms/hist_snapshot.h"

namespace kevt::session {

enum class HistogramForm : std::uint8_t {
  Text,         // as the file `hist` has them: not made here
  Json,         // an object in a line for each
  Csv,          // a row for each entry; a line names the columns, behind a blank one where they change
  OpenMetrics,  // one exposition, https://prometheus.io/docs/specs/om/open_metrics_spec/ 1.0
};

// "text", "json", "csv", "openmetrics"; and by a file's ending: .json, .csv, .prom, else Text.
std::optional<HistogramForm> histogram_form(std::string_view name);
HistogramForm histogram_form_of_file(std::string_view file);

// Seconds since tracing began that the counts are of.
struct HistogramSpan {
  double from = 0, to = 0;
};

// Of several readings one behind the other: a line that names columns stands where they change.
class HistogramExport {
 public:
  // Not Text.
  explicit HistogramExport(HistogramForm form) : form_(form) {}
  std::string text(std::span<const engine::HistSnapshot> snapshots, HistogramSpan span);

 private:
  // `number`: of the event's histograms, from 1.
  std::string csv(const engine::HistSnapshot& snapshot, unsigned number, HistogramSpan span);

  HistogramForm form_;
  std::string columns_;  // Csv: of the last table
};

}  // namespace kevt::session
