#include <algorithm>
#include <unordered_set>

#include "tracefs-compat/record/analysis/answer_table.h"
#include "tracefs-compat/record/record_filter.h"

namespace kevt::record {
namespace {

// Counters say how often an event was hit, records only what there was room for: where all hits are meant and the
// counters are known, they are the answer.
class EventCounter final : public AnswerTable {
 public:
  EventCounter(OutputFile out, const Metadata& metadata, CountRequest request)
      : AnswerTable(std::move(out), metadata), request_(std::move(request)) {}
  bool wants_order() const override { return false; }
  Result<void> add(const TypedRecord& record) override {
    add(*record.event, 1);
    return {};
  }
  std::vector<CountWish> count_wishes(CountedBy who) const override {
    std::vector<CountWish> wishes;
    if (who != CountedBy::Database) return wishes;
    for (const EventFormat& event : metadata_.formats.all()) wishes.push_back({.event = &event, .field = "", .by = ""});
    return wishes;
  }
  void take_counts(const EventFormat& event, std::span<const CountedBucket> buckets, std::uint64_t) override {
    for (const CountedBucket& bucket : buckets) add(event, bucket.hits);
  }

 private:
  void add(const EventFormat& event, std::uint64_t records) {
    if (event.id >= by_id_.size()) by_id_.resize(event.id + 1);
    by_id_[event.id] = {&event, by_id_[event.id].second + records};
  }
  struct Row {
    std::string event;
    std::uint64_t records = 0;
    const EventTotals* totals = nullptr;
    std::uint64_t hits() const { return totals ? totals->attempts : records; }
  };
  bool is_asked(const EventFormat& event) const {
    return request_.events.empty() ||
           std::ranges::any_of(request_.events, [&](const std::string& name) { return is_named(event, name); });
  }
  std::vector<Row> rows() const {
    std::vector<Row> rows;
    std::unordered_set<const EventFormat*> counted;
    if (request_.counts == Counted::Hits)
      for_each_total(metadata_, [&](const EventFormat& event, const EventTotals& one) {
        if (!is_asked(event)) return;
        rows.push_back({event.system + ":" + event.name, one.recorded, &one});
        for (const EventFormat& other : metadata_.formats.all())  // two recordings may have two formats of it
          if (other.name == event.name && other.system == event.system) counted.insert(&other);
      });
    for (const auto& [event, count] : by_id_)
      if (event && !counted.contains(event)) rows.push_back({event->system + ":" + event->name, count, nullptr});
    std::ranges::stable_sort(rows, [](const Row& a, const Row& b) { return a.hits() > b.hits(); });
    return rows;
  }
  void print(std::string& out) override {
    const auto at = std::back_inserter(out);
    const std::vector<Row> all = rows();
    if (std::ranges::none_of(all, [](const Row& row) { return row.totals != nullptr; })) {
      fmt::format_to(at, "{:<44} {:>15}\n", "EVENT", "COUNT");
      for (const Row& row : all) fmt::format_to(at, "{:<44} {:>15}\n", shown(row.event), row.records);
      return print_unseen(unseen_hits(metadata_, [&](const EventFormat& event) { return is_asked(event); }), out);
    }
    fmt::format_to(at, "{:<36} {:>12} {:>12} {:>12} {:>12} {:>12}\n", "EVENT", "HITS", "RECORDED", "FILTERED", "LOST",
                   "MISSED");
    for (const Row& row : all)
      if (const EventTotals* t = row.totals)
        fmt::format_to(at, "{:<36} {:>12} {:>12} {:>12} {:>12} {:>12}{}\n", shown(row.event), t->attempts, t->recorded,
                       t->filtered, t->lost, t->sees_misses ? std::to_string(t->missed) : "?",
                       t->aggregated ? fmt::format("  and {} aggregated", t->aggregated) : "");
      else
        fmt::format_to(at, "{:<36} {:>12} {:>12} {:>12} {:>12} {:>12}\n", shown(row.event), "?", row.records, "?", "?",
                       "?");
  }
  void print_json(JsonObject& json) override {
    json.member("type", "count");
    json.begin("events", '[');
    for (const Row& row : rows()) {
      json.begin('{');
      json.member("event", row.event);
      if (row.totals)
        print_json_totals(json, *row.totals);
      else
        json.member("recorded", row.records);
      json.end();
    }
    json.end();
  }
  CountRequest request_;
  std::vector<std::pair<const EventFormat*, std::uint64_t>> by_id_;
};

}  // namespace

Analysis count_events(OutputFile out, const Metadata& metadata, const CountRequest& request, AnswerForm form) {
  return in_form(std::make_unique<EventCounter>(std::move(out), metadata, request), form);
}

}  // namespace kevt::record
