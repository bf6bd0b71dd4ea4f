// What answers have in common, as text and as JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "tracefs-compat/record/analysis/histogram.h"
#include "tracefs-compat/record/formats/json_object.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::record {

// {NAME: key, "count": count}, an item.
void print_json_count(JsonObject& json, std::string_view name, std::string_view key, std::uint64_t count);
// Members: count, mean, min, p50, p90, p99, max.
void print_json_percentiles(JsonObject& json, const Histogram& numbers);
// Members: hits, recorded, aggregated where it is not 0, filtered, lost, missed.
void print_json_totals(JsonObject& json, const EventTotals& totals);

// The totals of events that are known, with their events.
void for_each_total(const Metadata& metadata, const std::function<void(const EventFormat&, const EventTotals&)>& take);

// Hits that left no record, as far as the totals say: an answer that is made of records lacks them.
struct UnseenHits {
  std::uint64_t lost = 0, missed = 0;
};
UnseenHits unseen_hits(const Metadata& metadata, const std::function<bool(const EventFormat&)>& is_asked);
// A line, where there were any.
void print_unseen(const UnseenHits& unseen, std::string& out);
// Members: lost, missed.
void print_unseen(const UnseenHits& unseen, JsonObject& json);

}  // namespace kevt::record
