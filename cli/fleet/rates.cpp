#include "cli/fleet/rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/exit_status.h"
#include "common/print.h"
#include "tracefs-compat/fleet/balance.h"
#include "tracefs-compat/fleet/overview.h"
#include "tracefs-compat/record/print/trace_line.h"

namespace kevt::cli {
namespace {

// A bar of text for each number, as high as its part of the greatest one.
std::string bars_of(const std::vector<std::uint64_t>& numbers) {
  constexpr const char* kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::uint64_t most = std::max<std::uint64_t>(1, *std::ranges::max_element(numbers));
  std::string out;
  for (const std::uint64_t one : numbers) {
    const double part = static_cast<double>(one) / static_cast<double>(most);
    out += one == 0 ? " " : kBars[std::min<std::size_t>(static_cast<std::size_t>(part * 8), 7)];
  }
  return out;
}

std::string duration_text(std::int64_t ns) {
  return ns % 1'000'000'000 == 0 ? fmt::format("{} s", ns / 1'000'000'000) : fmt::format("{} ms", ns / 1'000'000);
}

void print_picture(const fleet::OverviewPicture& picture) {
  print("{} to {} UTC, {} a bar\n", fleet::utc_text(picture.span.from_ns), fleet::utc_text(picture.span.to_ns),
        duration_text(picture.width_ns));
  std::size_t width = 0;
  std::vector<std::string> names;
  for (const fleet::OverviewLine& line : picture.lines) {
    names.push_back(record::words_of_file(line.name));
    width = std::max(width, names.back().size());
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::uint64_t sum = 0;
    for (const std::uint64_t hits : picture.lines[i].hits) sum += hits;
    print("{:<{}} {:>12} {}\n", names[i], width, sum, bars_of(picture.lines[i].hits));
  }
}

void print_picture_as_json(const fleet::OverviewPicture& picture, const std::string& by) {
  nlohmann::json lines = nlohmann::json::array();
  for (const fleet::OverviewLine& line : picture.lines) lines.push_back({{by, line.name}, {"records", line.hits}});
  const nlohmann::json all = {{"from_ns", picture.span.from_ns},
                              {"to_ns", picture.span.to_ns},
                              {"width_ns", picture.width_ns},
                              {"records", picture.records},
                              {"lines", lines}};
  print("{}\n", all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace

int show_rates(const FleetOptions& options, const Reporter& report) {
  auto overview = fleet::open_overview(options.address);
  if (!overview) {
    report.error(overview.error());
    return kFailed;
  }
  fleet::TimeSpan span = (*overview)->all();
  if (span.from_ns == span.to_ns) {
    report.status("no records were shipped there that are meant");
    if (options.format != "json") return kOk;
  }
  if (options.last) span.from_ns = std::max(span.from_ns, span.to_ns - static_cast<std::int64_t>(*options.last * 1e9));
  const auto by = options.by == "host" ? fleet::Overview::By::Host : fleet::Overview::By::Event;
  const auto picture = (*overview)->count(span, options.bars, by);
  if (!picture) {
    report.error(picture.error());
    return kFailed;
  }
  if (options.format == "json")
    print_picture_as_json(*picture, options.by);
  else
    print_picture(*picture);
  return kOk;
}

}  // namespace kevt::cli
