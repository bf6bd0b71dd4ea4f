#include <algorithm>
#include <iterator>
#include <map>

#include "tracefs-compat/record/analysis/answer_table.h"
#include "tracefs-compat/record/analysis/counts.h"
#include "tracefs-compat/record/analysis/histogram.h"
#include "tracefs-compat/record/analysis/key_room.h"
#include "tracefs-compat/record/record_filter.h"

namespace kevt::record {
namespace {

class ValueHistogram final : public AnswerTable {
 public:
  ValueHistogram(OutputFile out, const Metadata& metadata, HistogramRequest request)
      : AnswerTable(std::move(out), metadata), request_(std::move(request)) {}
  bool wants_order() const override { return false; }
  // Whole numbers can be counted at the hit; texts would be cut there.
  std::vector<CountWish> count_wishes(CountedBy who) const override {
    std::vector<CountWish> wishes;
    for (const EventFormat& event : metadata_.formats.all()) {
      if (!has_value(event)) continue;
      const auto by = request_.by ? counted_key(event, *request_.by, who) : std::string();
      const auto value = who == CountedBy::Database                     ? counted_key(event, request_.value, who)
                         : is_whole_number(event, request_.value.field) ? std::optional(request_.value.field)
                                                                        : std::nullopt;
      if (!value || !by) return {};
      wishes.push_back({&event, *value, *by});
    }
    return wishes;
  }
  void take_counts(const EventFormat& event, std::span<const CountedBucket> buckets, std::uint64_t dropped) override {
    dropped_ += dropped;
    for (const CountedBucket& bucket : buckets) {
      const Field* const field = event.find(request_.value.field);
      const bool is_text = field ? field->kind != FieldKind::Number : request_.value.field == "comm";
      Group& group = group_of(key_of(event, bucket), is_text ? 0 : bucket.from);
      const bool is_signed = field ? field->is_signed : request_.value.field == "pid";
      if (is_text)
        group.texts.add(shown(std::string(bucket.text)), bucket.hits);
      else if (is_signed && static_cast<std::int64_t>(bucket.from) < 0)
        group.negative += bucket.hits;
      else
        group.numbers.add_cell(bucket.from, bucket.to, bucket.hits, bucket.sum);
    }
  }
  Result<void> add(const TypedRecord& record) override {
    const auto value = number_or_text(request_.value, record);
    if (!value) return {};
    std::string key;
    if (request_.by) key = key_text(*request_.by, record, key_styles_).value_or("");
    const bool is_negative = value->kind == Value::Kind::Signed && static_cast<std::int64_t>(value->number) < 0;
    const bool is_counted = value->is_integer() && !is_negative;
    Group& group = group_of(key, is_counted ? value->number : 0);
    if (is_counted)
      group.numbers.add(value->number);
    else if (is_negative)
      ++group.negative;
    else
      group.texts.add(text_of(*value));
    return {};
  }

 private:
  static bool is_whole_number(const EventFormat& event, const std::string& name) {
    static constexpr std::string_view kWordsOfHist[] = {"hitcount", "stacktrace", "STACKTRACE", "cpu",
                                                        "CPU",      "comm",       "COMM"};
    if (name.starts_with("common_") || std::ranges::find(kWordsOfHist, name) != std::end(kWordsOfHist)) return false;
    const Field* const field = event.find(name);
    return field && field->kind == FieldKind::Number && !field->is_float && field->items() == 1;
  }
  // What a histogram calls the key; nullopt: it can have none like it.
  static std::optional<std::string> counted_key(const EventFormat& event, const ValueName& by, CountedBy who) {
    if (!by.event.empty() && !is_named(event, by.event)) return std::nullopt;
    if (is_whole_number(event, by.field)) return by.field;
    if (const Field* const field = event.find(by.field)) {
      const bool is_text = field->kind == FieldKind::Text || field->kind == FieldKind::DynamicText;
      return is_text && who == CountedBy::Database ? std::optional(by.field) : std::nullopt;
    }
    if (by.field == "pid" || by.field == "cpu" || by.field == "comm") return "common_" + by.field;
    return std::nullopt;
  }
  std::string key_of(const EventFormat& event, const CountedBucket& bucket) {
    if (!request_.by) return "";
    const Field* const field = event.find(request_.by->field);
    if (field ? field->kind != FieldKind::Number : request_.by->field == "comm") return std::string(bucket.by_text);
    if (!field || field->is_signed) return std::to_string(static_cast<std::int64_t>(bucket.by));
    return number_key(*request_.by, event, bucket.by, key_styles_);
  }
  // Floating point numbers, too: powers of two say little of them.
  std::string text_of(const Value& value) const {
    std::string text;
    append_plain(value, text);
    return value.kind == Value::Kind::Text ? shown(text) : text;
  }
  struct Group {
    explicit Group(KeyRoom& room) : texts(room) {}
    Histogram numbers;
    std::uint64_t negative = 0;
    Counts texts;
  };
  // The key's own, where there is room for it and for the number.
  Group& group_of(const std::string& key, std::uint64_t number) {
    auto found = groups_.find(key);
    if (found == groups_.end() && groups_.size() < Counts::kMaxKeys &&
        room_.take(KeyRoom::kNodeBytes + sizeof(Group) + key.size()))
      found = groups_.try_emplace(key, room_).first;
    if (found != groups_.end() && room_.take(found->second.numbers.growth(number))) return found->second;
    return groups_.try_emplace(std::string(Counts::kOthers), room_).first->second;
  }
  void print(std::string& out) override {
    const auto at = std::back_inserter(out);
    for (const auto& [key, group] : groups_) {
      fmt::format_to(at, "{}{}{}\n", request_.value.field, request_.by ? " of " + request_.by->field + " " : "",
                     shown(key));
      if (group.negative) fmt::format_to(at, "{:>20} -> {:<20} : {:>10}\n", "below 0", "", group.negative);
      group.numbers.append_bars(out);
      if (group.numbers.count())
        fmt::format_to(at, "count {}  mean {:.1f}  min {}  p50 {}  p99 {}  max {}\n", group.numbers.count(),
                       group.numbers.mean(), group.numbers.min(), group.numbers.percentile(50),
                       group.numbers.percentile(99), group.numbers.max());
      for (const auto& [text, count] : group.texts.top(20)) fmt::format_to(at, "{:<60} {:>10}\n", text, count);
    }
    if (groups_.empty()) out += "no record has a value\n";
    if (dropped_) fmt::format_to(at, "not in here: {} hits whose keys had no room\n", dropped_);
    print_unseen(unseen_hits(metadata_, [&](const EventFormat& event) { return has_value(event); }), out);
  }
  bool has_value(const EventFormat& event) const {
    const bool named = request_.value.event.empty() || is_named(event, request_.value.event);
    return named && (is_of_all_records(request_.value.field) || event.find(request_.value.field));
  }
  void print_json(JsonObject& json) override {
    json.member("type", "hist");
    if (dropped_) json.member("dropped", dropped_);
    json.member("event", request_.value.event);
    json.member("field", request_.value.field);
    if (request_.by) json.member("by", request_.by->field);
    json.begin("groups", '[');
    for (const auto& [key, group] : groups_) {
      json.begin('{');
      if (request_.by) json.member("key", key);
      print_json_percentiles(json, group.numbers);
      json.member("below_0", group.negative);
      json.begin("rows", '[');
      for (const Histogram::Row& row : group.numbers.rows()) {
        json.begin('{');
        json.member("from", row.from);
        json.member("to", row.to);
        json.member("count", row.count);
        json.end();
      }
      json.end();
      json.begin("texts", '[');
      for (const auto& [text, count] : group.texts.top(20)) print_json_count(json, "text", text, count);
      json.end();
      json.end();
    }
    json.end();
    print_unseen(unseen_hits(metadata_, [&](const EventFormat& event) { return has_value(event); }), json);
  }
  KeyRoom room_;
  std::uint64_t dropped_ = 0;
  HistogramRequest request_;
  ValueStyles key_styles_;
  std::map<std::string, Group> groups_;
};

}  // namespace

Analysis value_histogram(OutputFile out, const Metadata& metadata, const HistogramRequest& request, AnswerForm form) {
  if (!is_known(request.value, metadata)) return std::unexpected(no_field(request.value));
  if (request.by && !is_known(*request.by, metadata)) return std::unexpected(no_field(*request.by));
  return in_form(std::make_unique<ValueHistogram>(std::move(out), metadata, request), form);
}

}  // namespace kevt::record
