#include "gui/model/comparison_page.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "tracefs-compat/fleet/fleet_reader.h"
#include "tracefs-compat/record/analysis/compare.h"
#include "tracefs-compat/record/analysis/compare_html.h"
#include "tracefs-compat/record/beside.h"
#include "tracefs-compat/record/output_file.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::gui {

namespace {

record::Query queryOf(const ComparedPart& part) {
  return {.filters = {}, .from = part.range.from, .to = part.range.to};
}

}  // namespace

Result<std::string> writeComparison(const ComparisonWish& wish, const std::atomic<bool>& cancelled) {
  const std::unique_ptr<record::RecordReader> a = KEVT_TRY(fleet::open_recording(wish.before.path));
  const std::unique_ptr<record::RecordReader> b = KEVT_TRY(fleet::open_recording(wish.now.path));
  record::CompareRequest request{.values = {}, .latencies = {}, .wants_paths = true, .align_on = wish.align_on};
  for (const record::ValueName& one : wish.values)
    if (record::is_known(one, a->metadata()) || record::is_known(one, b->metadata())) request.values.push_back(one);
  record::QueriedReader of_a(*a, queryOf(wish.before)), of_b(*b, queryOf(wish.now));
  const record::Comparison both = KEVT_TRY(record::compare_recordings(of_a, of_b, request));
  if (cancelled) return std::unexpected(Error("cancelled"));
  auto file = KEVT_TRY(record::OutputFile::create(wish.page));
  file.append(record::comparison_html(both, {wish.before.path, &a->metadata()}, {wish.now.path, &b->metadata()}));
  KEVT_TRY(file.flush());
  for (const auto& [reader, part] : {std::pair(a.get(), &wish.before), std::pair(b.get(), &wish.now)})
    if (!reader->problems().empty()) return part->path + ": " + reader->problems().front();
  return "";
}

Result<void> takeRangeOfBoth(const std::string& opened, const record::MomentRange& range, ComparisonWish& wish) {
  const auto names = record::beside_names(opened);
  if (!names || names->files.size() != 2)
    return std::unexpected(Error("there are no two recordings beside one another"));
  const std::vector<std::int64_t> shifts = KEVT_TRY(record::beside_shifts(*names));
  const std::array parts = {&wish.before, &wish.now};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i]->path = names->files[i];
    parts[i]->range = range;
    const auto own = [shift = shifts[i]](std::uint64_t together) {
      constexpr std::uint64_t kLatest = std::uint64_t{1} << 62;
      return static_cast<std::int64_t>(std::min(together, kLatest)) - shift;
    };
    for (std::optional<record::Moment>* moment : {&parts[i]->range.from, &parts[i]->range.to})
      if (*moment) (*moment)->ns = static_cast<std::uint64_t>(std::max<std::int64_t>(own((*moment)->ns), 0));
    // It lies before the file's time 0: nothing is there.
    if (range.to && own(range.to->ns) < 0) parts[i]->range.from = record::Moment{1, false};
  }
  return {};
}

}  // namespace kevt::gui
