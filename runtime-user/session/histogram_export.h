// Histograms for other programs: JSON, CSV, OpenMetrics (docs/histograms.md, "For other programs"); and as heat maps.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime-user/engine/histograms/hist_snapshot.h"
#include "runtime-user/session/histogram_heat.h"

namespace kevt::session {

enum class HistogramForm : std::uint8_t {
  Text,         // as the file `hist` reads; not made here
  Json,         // one line per histogram: a JSON object
  Csv,          // a row per entry; where columns change, a blank line and a line with their names
  Heat,         // a line per reading: time by buckets (histogram_heat.h)
  OpenMetrics,  // one exposition, https://prometheus.io/docs/specs/om/open_metrics_spec/ 1.0
};

// From "text", "json", "csv", "openmetrics" or "heat"; nullopt: none of them. By a file's ending: .json, .csv, .prom,
// else Text.
std::optional<HistogramForm> histogram_form(std::string_view name);
HistogramForm histogram_form_of_file(std::string_view file);

// Makes the text of several readings written to one file: for CSV, column names are repeated only where they change.
class HistogramExport {
 public:
  // `form` is not Text.
  explicit HistogramExport(HistogramForm form) : form_(form) {}
  std::string text(std::span<const engine::HistSnapshot> snapshots, HistogramSpan span);

 private:
  // `number`: the histogram's number among its event's, from 1.
  std::string csv(const engine::HistSnapshot& snapshot, unsigned number, HistogramSpan span);

  HistogramForm form_;
  std::string columns_;  // Csv: of the last table
  HistogramHeat heat_;
};

}  // namespace kevt::session
