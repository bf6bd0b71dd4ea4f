#include "gui/model/comparison_page.h"

#include <memory>
#include <utility>

#include "tracefs-compat/fleet/fleet_reader.h"
#include "tracefs-compat/record/analysis/compare.h"
#include "tracefs-compat/record/analysis/compare_html.h"
#include "tracefs-compat/record/output_file.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::gui {

Result<void> writeComparison(const std::string& before, const std::string& now,
                             const std::vector<record::ValueName>& values, const std::string& align_on,
                             const std::string& page) {
  const std::unique_ptr<record::RecordReader> a = KEVT_TRY(fleet::open_recording(before));
  const std::unique_ptr<record::RecordReader> b = KEVT_TRY(fleet::open_recording(now));
  record::CompareRequest request{.values = {}, .latencies = {}, .wants_paths = true, .align_on = align_on};
  for (const record::ValueName& one : values)
    if (record::is_known(one, a->metadata()) || record::is_known(one, b->metadata())) request.values.push_back(one);
  const record::Comparison both = KEVT_TRY(record::compare_recordings(*a, *b, request));
  auto file = KEVT_TRY(record::OutputFile::create(page));
  file.append(record::comparison_html(both, {before, &a->metadata()}, {now, &b->metadata()}));
  KEVT_TRY(file.flush());
  for (const auto& [reader, path] : {std::pair(a.get(), &before), std::pair(b.get(), &now)})
    if (!reader->problems().empty())
      return std::unexpected(Error("the page is of what could be read: " + *path + ": " + reader->problems().front()));
  return {};
}

}  // namespace kevt::gui
