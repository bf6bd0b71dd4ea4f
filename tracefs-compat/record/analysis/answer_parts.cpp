// Names of members are those of NDJSON's totals (json_writer.cpp).
#include "tracefs-compat/record/analysis/answer_parts.h"

#include <fmt/format.h>

#include <string>
#include <unordered_map>
#include <utility>

namespace kevt::record {

void print_json_count(JsonObject& json, std::string_view name, std::string_view key, std::uint64_t count) {
  json.begin('{');
  json.member(name, key);
  json.member("count", count);
  json.end();
}

void print_json_percentiles(JsonObject& json, const Histogram& numbers) {
  json.member("count", numbers.count());
  json.member("mean", numbers.mean());
  json.member("min", numbers.min());
  for (const auto& [name, percent] : {std::pair("p50", 50), std::pair("p90", 90), std::pair("p99", 99)})
    json.member(name, numbers.percentile(percent));
  json.member("max", numbers.max());
}

void print_json_totals(JsonObject& json, const EventTotals& totals) {
  json.member("hits", totals.attempts);
  json.member("recorded", totals.recorded);
  if (totals.aggregated) json.member("aggregated", totals.aggregated);
  json.member("filtered", totals.filtered);
  json.member("lost", totals.lost);
  if (totals.sees_misses)
    json.member("missed", totals.missed);
  else
    json.member("missed", nullptr);
}

// A file chooses how many of both there are, so names are not looked for one by one.
void for_each_total(const Metadata& metadata, const std::function<void(const EventFormat&, const EventTotals&)>& take) {
  if (metadata.totals.empty()) return;
  std::unordered_map<std::string, const EventFormat*> events;  // by SYSTEM/NAME
  for (const EventFormat& event : metadata.formats.all()) events.try_emplace(event.system + "/" + event.name, &event);
  for (const EventTotals& one : metadata.totals)
    if (const auto found = events.find(one.event); found != events.end()) take(*found->second, one);
}

UnseenHits unseen_hits(const Metadata& metadata, const std::function<bool(const EventFormat&)>& is_asked) {
  UnseenHits sum;
  for_each_total(metadata, [&](const EventFormat& event, const EventTotals& one) {
    if (!is_asked(event)) return;
    sum.lost += one.lost;
    sum.missed += one.missed;
  });
  return sum;
}

void print_unseen(const UnseenHits& unseen, std::string& out) {
  if (unseen.lost || unseen.missed)
    fmt::format_to(std::back_inserter(out), "not in here: {} hits lost, {} missed\n", unseen.lost, unseen.missed);
}

void print_unseen(const UnseenHits& unseen, JsonObject& json) {
  json.member("lost", unseen.lost);
  json.member("missed", unseen.missed);
}

}  // namespace kevt::record
