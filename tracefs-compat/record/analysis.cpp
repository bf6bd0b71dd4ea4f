// Tables of counts are maps with limits, by their number and by their bytes: what comes first is kept, the rest counts
// as "(others)".
#include "tracefs-compat/record/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "tracefs-compat/record/answer_parts.h"
#include "tracefs-compat/record/columns.h"
#include "tracefs-compat/record/counts.h"
#include "tracefs-compat/record/histogram.h"
#include "tracefs-compat/record/key_room.h"
#include "tracefs-compat/record/record_filter.h"

namespace kevt::record {
namespace {

constexpr std::size_t kMaxShown = 120;  // bytes of a text
constexpr std::size_t kMaxOpen = 4096;  // starts without an end, per thread

class Table : public RecordWriter {
 public:
  Table(OutputFile out, const Metadata& metadata) : out_(std::move(out)), metadata_(metadata) {}
  Result<void> flush() override { return {}; }
  std::uint64_t bytes() const override { return out_.written(); }
  Result<void> finish() override {
    append_answer();
    return out_.flush();
  }
  void set_form(AnswerForm form) { form_ = form; }

 protected:
  virtual void print(std::string& out) = 0;
  // As an answer can have it: `table_text` of the text's begin; JSON has escapes of its own.
  std::string shown(std::string_view text) const {
    const std::string_view front = text.substr(0, kMaxShown);
    return form_ == AnswerForm::Json ? std::string(front) : table_text(front, out_.controls());
  }
  std::string shown_name(const EventFormat& event) const { return shown(event.system + ":" + event.name); }
  std::string shown_task(const TypedRecord& record) const {
    return fmt::format("{}-{}", shown(record.comm), record.pid);
  }
  // Members of the answer behind "v".
  virtual void print_json(JsonObject& json) = 0;
  void append_answer() {
    if (form_ == AnswerForm::Text) return print(out_.buffer());
    JsonObject json(out_.buffer());
    json.member("v", 1);
    print_json(json);
  }

  OutputFile out_;
  const Metadata& metadata_;

 private:
  AnswerForm form_ = AnswerForm::Text;
};

// Counters say how often an event was hit, records only what there was room for: where all hits are meant and the
// counters are known, they are the answer.
class EventCounter final : public Table {
 public:
  EventCounter(OutputFile out, const Metadata& metadata, CountRequest request)
      : Table(std::move(out), metadata), request_(std::move(request)) {}
  bool wants_order() const override { return false; }
  Result<void> add(const TypedRecord& record) override {
    if (record.event->id >= by_id_.size()) by_id_.resize(record.event->id + 1);
    by_id_[record.event->id] = {record.event, by_id_[record.event->id].second + 1};
    return {};
  }

 private:
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
        counted.insert(&event);
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
        fmt::format_to(at, "{:<36} {:>12} {:>12} {:>12} {:>12} {:>12}\n", shown(row.event), t->attempts, t->recorded,
                       t->filtered, t->lost, t->sees_misses ? std::to_string(t->missed) : "?");
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

class Statistics final : public Table {
 public:
  Statistics(OutputFile out, const Metadata& metadata, std::size_t top) : Table(std::move(out), metadata), top_(top) {}
  Result<void> add(const TypedRecord& record) override {
    if (count_++ == 0) first_ns_ = record.time_ns;
    last_ns_ = std::max(last_ns_, record.time_ns);
    if (record.lost_before == ~0ull) lost_somewhere_ = true;
    if (record.lost_before != ~0ull) lost_ += record.lost_before;
    ++per_cpu_[record.cpu];
    if (record.event->id >= by_id_.size()) by_id_.resize(record.event->id + 1);
    Event& event = by_id_[record.event->id];
    event.event = record.event;
    ++event.count;
    if (event.values.empty()) prepare(event);
    if (record.pid != last_pid_ || task_.empty()) last_pid_ = record.pid, task_ = shown_task(record);
    tasks_.add(task_);
    add_values(event, record);
    return {};
  }

 private:
  struct Event {
    const EventFormat* event = nullptr;
    std::uint64_t count = 0;
    std::vector<Counts> values;       // by field
    std::vector<NumberStyle> styles;  // by field
  };

  void prepare(Event& event) {
    const std::vector<Field>& fields = event.event->fields;
    if (fields.empty()) return;
    const auto print = PrintFormat::compile(*event.event);
    event.values.resize(std::min(fields.size(), kMaxFields), Counts(room_));
    for (std::size_t i = 0; i < event.values.size(); ++i)
      event.styles.push_back(print ? print->style_of(fields[i].name) : NumberStyle::Decimal);
  }

  // Fields with very many values (addresses, sizes) tell nothing by their most frequent ones.
  void add_values(Event& event, const TypedRecord& record) {
    for (std::size_t i = 0; i < event.values.size(); ++i) {
      const Field& field = record.event->fields[i];
      if (field.role != PlaceRole::None || event.values[i].size() > kMaxValues) continue;
      key_.clear();
      append_shown(field, event.styles[i], metadata_.symbols_of(record.pid), record.bytes, key_);
      event.values[i].add(key_);
    }
  }

  void print(std::string& out) override {
    const double seconds = static_cast<double>(last_ns_ - first_ns_) / 1e9;
    const auto rate = [&](std::uint64_t n) { return seconds > 0 ? static_cast<double>(n) / seconds : 0.0; };
    const auto at = std::back_inserter(out);
    fmt::format_to(at, "records {}  time {:.6f} s  rate {:.1f}/s  clock {}\n", count_, seconds, rate(count_),
                   shown(metadata_.clock));
    if (!metadata_.host.empty()) fmt::format_to(at, "host {}\n", line(metadata_.host));
    if (!metadata_.maker.empty()) fmt::format_to(at, "made by {}\n", line(metadata_.maker));
    if (lost_ || lost_somewhere_) fmt::format_to(at, "lost {}{}\n", lost_, lost_somewhere_ ? " and more" : "");
    for (const std::string& text : metadata_.definitions) fmt::format_to(at, "definition {}\n", line(text));
    for (const std::string& text : metadata_.filters) fmt::format_to(at, "filter {}\n", line(text));
    fmt::format_to(at, "\n{:<36} {:>12} {:>14}\n", "EVENT", "COUNT", "RATE/s");
    std::ranges::stable_sort(by_id_, [](const Event& a, const Event& b) { return a.count > b.count; });
    for (const Event& one : by_id_)
      if (one.count)
        fmt::format_to(at, "{:<36} {:>12} {:>14.1f}\n", shown_name(*one.event), one.count, rate(one.count));
    for (const EventTotals& t : metadata_.totals)
      fmt::format_to(at, "{}: hits {} = recorded {} + filtered {} + lost {} + missed {}{}\n", shown(t.event),
                     t.attempts, t.recorded, t.filtered, t.lost, t.sees_misses ? std::to_string(t.missed) : "?",
                     t.overwritten ? fmt::format(", {} of the recorded overwritten", t.overwritten) : "");
    fmt::format_to(at, "\n{:<36} {:>12}\n", "CPU", "COUNT");
    for (const auto& [cpu, count] : per_cpu_) fmt::format_to(at, "{:<36} {:>12}\n", cpu, count);
    fmt::format_to(at, "\n{:<36} {:>12}\n", "TASK", "COUNT");
    for (const auto& [task, count] : tasks_.top(top_)) fmt::format_to(at, "{:<36} {:>12}\n", task, count);
    print_values(out);
  }

  // All of it, however long.
  std::string line(std::string_view text) const { return table_text(text, out_.controls()); }

  void print_values(std::string& out) const {
    for (const Event& one : by_id_)
      for (std::size_t i = 0; i < one.values.size(); ++i) {
        if (one.values[i].size() == 0 || one.values[i].size() > kMaxValues) continue;
        const std::string head = shown(fmt::format("{}.{}", one.event->name, one.event->fields[i].name));
        fmt::format_to(std::back_inserter(out), "\n{:<36} {:>12}\n", head, "COUNT");
        for (const auto& [value, count] : one.values[i].top(std::min<std::size_t>(top_, 5)))
          fmt::format_to(std::back_inserter(out), "{:<36} {:>12}\n", shown(value), count);
      }
  }

  double seconds() const { return static_cast<double>(last_ns_ - first_ns_) / 1e9; }

  void print_json(JsonObject& json) override {
    const auto rate = [&](std::uint64_t n) { return seconds() > 0 ? static_cast<double>(n) / seconds() : 0.0; };
    json.member("type", "stat");
    json.member("records", count_);
    json.member("seconds", seconds());
    json.member("rate", rate(count_));
    json.member("clock", metadata_.clock);
    json.member("host", metadata_.host);
    json.member("maker", metadata_.maker);
    json.member("lost", lost_);
    json.member("lost_more", lost_somewhere_);
    for (const auto& [name, texts] :
         {std::pair("definitions", &metadata_.definitions), std::pair("filters", &metadata_.filters)}) {
      json.begin(name, '[');
      for (const std::string& text : *texts) json.item(text);
      json.end();
    }
    std::ranges::stable_sort(by_id_, [](const Event& a, const Event& b) { return a.count > b.count; });
    json.begin("events", '[');
    for (const Event& one : by_id_) {
      if (!one.count) continue;
      json.begin('{');
      json.member("event", one.event->system + ":" + one.event->name);
      json.member("count", one.count);
      json.member("rate", rate(one.count));
      json.end();
    }
    json.end();
    print_json_events(json);
    json.begin("cpus", '[');
    for (const auto& [cpu, count] : per_cpu_) print_json_count(json, "cpu", std::to_string(cpu), count);
    json.end();
    json.begin("tasks", '[');
    for (const auto& [task, count] : tasks_.top(top_)) print_json_count(json, "task", task, count);
    json.end();
    print_json_values(json);
  }

  void print_json_events(JsonObject& json) const {
    json.begin("totals", '{');
    for (const EventTotals& t : metadata_.totals) {
      json.begin(t.event, '{');
      print_json_totals(json, t);
      json.member("overwritten", t.overwritten);
      json.end();
    }
    json.end();
  }

  void print_json_values(JsonObject& json) const {
    json.begin("values", '{');
    for (const Event& one : by_id_)
      for (std::size_t i = 0; i < one.values.size(); ++i) {
        if (one.values[i].size() == 0 || one.values[i].size() > kMaxValues) continue;
        json.begin(one.event->name + "." + one.event->fields[i].name, '[');
        for (const auto& [value, count] : one.values[i].top(std::min<std::size_t>(top_, 5)))
          print_json_count(json, "value", value, count);
        json.end();
      }
    json.end();
  }

  static constexpr std::size_t kMaxValues = 1000, kMaxFields = 16;
  KeyRoom room_;
  std::size_t top_;
  std::uint64_t count_ = 0, first_ns_ = 0, last_ns_ = 0, lost_ = 0;
  bool lost_somewhere_ = false;
  std::vector<Event> by_id_;
  std::map<std::uint32_t, std::uint64_t> per_cpu_;
  Counts tasks_{room_};
  std::int32_t last_pid_ = 0;
  std::string task_, key_;
};

class ValueHistogram final : public Table {
 public:
  ValueHistogram(OutputFile out, const Metadata& metadata, HistogramRequest request)
      : Table(std::move(out), metadata), request_(std::move(request)) {}
  bool wants_order() const override { return false; }
  Result<void> add(const TypedRecord& record) override {
    const auto value = number_or_text(request_.value, record);
    if (!value) return {};
    std::string key;
    if (request_.by) key = key_text(*request_.by, record, key_styles_).value_or("");
    const bool is_negative = value->kind == Value::Kind::Signed && static_cast<std::int64_t>(value->number) < 0;
    const bool is_counted = value->is_number() && !is_negative;
    Group& group = group_of(key, is_counted ? value->number : 0);
    if (is_counted)
      group.numbers.add(value->number);
    else if (is_negative)
      ++group.negative;
    else
      group.texts.add(value->kind == Value::Kind::Text ? shown(value->text) : "(fault)");
    return {};
  }

 private:
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
    print_unseen(unseen_hits(metadata_, [&](const EventFormat& event) { return has_value(event); }), out);
  }
  bool has_value(const EventFormat& event) const {
    const bool named = request_.value.event.empty() || is_named(event, request_.value.event);
    return named && (is_of_all_records(request_.value.field) || event.find(request_.value.field));
  }
  void print_json(JsonObject& json) override {
    json.member("type", "hist");
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
  HistogramRequest request_;
  ValueStyles key_styles_;
  std::map<std::string, Group> groups_;
};

class Latencies final : public Table {
 public:
  Latencies(OutputFile out, const Metadata& metadata, LatencyRequest request)
      : Table(std::move(out), metadata), request_(std::move(request)) {
    for (const EventFormat& event : metadata.formats.all()) {
      if (roles_.size() <= event.id) roles_.resize(event.id + 1);
      roles_[event.id] = {is_named(event, request_.start), is_named(event, request_.end)};
    }
  }
  Result<void> add(const TypedRecord& record) override {
    const Role role = record.event->id < roles_.size() ? roles_[record.event->id] : Role{};
    if (role.is_end) end(record);
    if (role.is_start) start(record);
    return {};
  }

 private:
  struct Role {
    bool is_start = false, is_end = false;
  };
  struct Open {
    std::uint64_t time_ns;
    std::string key;
  };
  struct Group {
    Histogram times;
    std::uint64_t unmatched = 0;
  };

  Group& group_of(const std::string& key, std::uint64_t time_ns) {
    auto found = groups_.find(key);
    if (found == groups_.end() && groups_.size() < Counts::kMaxKeys &&
        room_.take(KeyRoom::kNodeBytes + sizeof(Group) + key.size()))
      found = groups_.try_emplace(key).first;
    if (found != groups_.end() && room_.take(found->second.times.growth(time_ns))) return found->second;
    return groups_[std::string(Counts::kOthers)];
  }
  void start(const TypedRecord& record) {
    std::string key = request_.by ? key_text(*request_.by, record, key_styles_).value_or("") : "";
    auto thread = open_.find(record.pid);
    if (thread == open_.end() && room_.take(KeyRoom::kNodeBytes)) thread = open_.try_emplace(record.pid).first;
    if (thread == open_.end() || !room_.take(sizeof(Open) + key.size())) {
      ++group_of(key, 0).unmatched;
      return;
    }
    std::vector<Open>& open = thread->second;
    if (open.size() >= kMaxOpen) {
      ++group_of(open.front().key, 0).unmatched;
      room_.give_back(sizeof(Open) + open.front().key.size());
      open.erase(open.begin());
    }
    open.push_back({record.time_ns, std::move(key)});
  }
  void end(const TypedRecord& record) {
    const auto it = open_.find(record.pid);
    if (it == open_.end() || it->second.empty()) {
      ++ends_alone_;
      return;
    }
    const Open open = std::move(it->second.back());
    it->second.pop_back();
    room_.give_back(sizeof(Open) + open.key.size());
    const std::uint64_t time_ns = record.time_ns - std::min(record.time_ns, open.time_ns);
    group_of(open.key, time_ns).times.add(time_ns);
  }
  bool is_asked(const EventFormat& event) const {
    return is_named(event, request_.start) || is_named(event, request_.end);
  }
  // Most first.
  std::vector<std::pair<std::string, const Group*>> rows() {
    for (const auto& [pid, open] : open_)
      for (const Open& one : open) ++group_of(one.key, 0).unmatched;
    open_.clear();
    std::vector<std::pair<std::string, const Group*>> rows;
    for (const auto& [key, group] : groups_) rows.emplace_back(key, &group);
    std::ranges::stable_sort(
        rows, [](const auto& a, const auto& b) { return a.second->times.count() > b.second->times.count(); });
    return rows;
  }
  void print_json(JsonObject& json) override {
    json.member("type", "lat");
    json.member("unit", "ns");
    json.member("start", request_.start);
    json.member("end", request_.end);
    if (request_.by) json.member("by", request_.by->field);
    json.begin("rows", '[');
    for (const auto& [key, group] : rows()) {
      json.begin('{');
      if (request_.by) json.member("key", key);
      print_json_percentiles(json, group->times);
      json.member("unmatched", group->unmatched);
      json.end();
    }
    json.end();
    json.member("ends_alone", ends_alone_);
    print_unseen(unseen_hits(metadata_, [&](const EventFormat& event) { return is_asked(event); }), json);
  }
  void print(std::string& out) override {
    const auto at = std::back_inserter(out);
    const std::string head = request_.by ? request_.by->field : request_.start;
    fmt::format_to(at, "{:<28} {:>10} {:>12} {:>12} {:>12} {:>12} {:>12}   (ns) {:>10}\n", head, "N", "mean", "p50",
                   "p90", "p99", "max", "unmatched");
    for (const auto& [key, group] : rows()) {
      const Histogram& h = group->times;
      fmt::format_to(at, "{:<28} {:>10} {:>12.0f} {:>12} {:>12} {:>12} {:>12}        {:>10}\n",
                     request_.by ? shown(key) : "-> " + request_.end, h.count(), h.mean(), h.percentile(50),
                     h.percentile(90), h.percentile(99), h.max(), group->unmatched);
    }
    if (ends_alone_) fmt::format_to(at, "{} of {} without a {} before\n", ends_alone_, request_.end, request_.start);
    print_unseen(unseen_hits(metadata_, [&](const EventFormat& event) { return is_asked(event); }), out);
  }

  KeyRoom room_;
  LatencyRequest request_;
  std::vector<Role> roles_;
  std::unordered_map<std::int32_t, std::vector<Open>> open_;
  ValueStyles key_styles_;
  std::map<std::string, Group> groups_;
  std::uint64_t ends_alone_ = 0;
};

class LiveTable final : public Table {
 public:
  LiveTable(OutputFile out, const Metadata& metadata, std::size_t rows)
      : Table(std::move(out), metadata), rows_(rows) {}
  Result<void> add(const TypedRecord& record) override {
    if (count_++ == 0) first_ns_ = record.time_ns;
    last_ns_ = std::max(last_ns_, record.time_ns);
    events_.add(shown_name(*record.event));
    tasks_.add(shown_task(record));
    all_events_.add(shown_name(*record.event));
    return {};
  }
  Result<void> flush() override {
    if (last_ns_ - shown_ns_ < kEvery) return {};
    append_answer();
    events_.clear();
    tasks_.clear();
    shown_ns_ = last_ns_;
    count_ = 0;
    return out_.flush();
  }

 private:
  static constexpr std::uint64_t kEvery = 1'000'000'000;
  void print(std::string& out) override {
    const double seconds = std::max(static_cast<double>(last_ns_ - first_ns_) / 1e9, 1e-9);
    const auto at = std::back_inserter(out);
    fmt::format_to(at, "{:<44} {:>12} {:>12} {:>12}\n", "EVENT", "NEW", "RATE/s", "ALL");
    for (const auto& [event, all] : all_events_.top(rows_)) {
      const std::uint64_t fresh = events_.of(event);
      fmt::format_to(at, "{:<44} {:>12} {:>12.1f} {:>12}\n", event, fresh, static_cast<double>(fresh) / seconds, all);
    }
    fmt::format_to(at, "{:<44} {:>12} {:>12}\n", "TASK", "NEW", "RATE/s");
    for (const auto& [task, n] : tasks_.top(rows_))
      fmt::format_to(at, "{:<44} {:>12} {:>12.1f}\n", task, n, static_cast<double>(n) / seconds);
    print_unseen(unseen_hits(metadata_, [](const EventFormat&) { return true; }), out);
    out += '\n';
  }
  void print_json(JsonObject& json) override {
    json.member("type", "top");
    json.member("seconds", std::max(static_cast<double>(last_ns_ - first_ns_) / 1e9, 0.0));
    json.begin("events", '[');
    for (const auto& [event, all] : all_events_.top(rows_)) {
      json.begin('{');
      json.member("event", event);
      json.member("new", events_.of(event));
      json.member("all", all);
      json.end();
    }
    json.end();
    json.begin("tasks", '[');
    for (const auto& [task, n] : tasks_.top(rows_)) {
      json.begin('{');
      json.member("task", task);
      json.member("new", n);
      json.end();
    }
    json.end();
    print_unseen(unseen_hits(metadata_, [](const EventFormat&) { return true; }), json);
  }
  std::size_t rows_;
  std::uint64_t count_ = 0, first_ns_ = 0, last_ns_ = 0, shown_ns_ = 0;
  KeyRoom room_;
  Counts events_{room_}, tasks_{room_}, all_events_{room_};
};

Error no_field(const ValueName& name) {
  return Error(name.event.empty() ? fmt::format("no event has a field `{}`", name.field)
                                  : fmt::format("no event `{}` with a field `{}`", name.event, name.field));
}

Analysis in_form(std::unique_ptr<Table> table, AnswerForm form) {
  table->set_form(form);
  return table;
}

}  // namespace

Analysis count_events(OutputFile out, const Metadata& metadata, const CountRequest& request, AnswerForm form) {
  return in_form(std::make_unique<EventCounter>(std::move(out), metadata, request), form);
}

Analysis recording_statistics(OutputFile out, const Metadata& metadata, std::size_t top, AnswerForm form) {
  return in_form(std::make_unique<Statistics>(std::move(out), metadata, top), form);
}

Analysis value_histogram(OutputFile out, const Metadata& metadata, const HistogramRequest& request, AnswerForm form) {
  if (!is_known(request.value, metadata)) return std::unexpected(no_field(request.value));
  if (request.by && !is_known(*request.by, metadata)) return std::unexpected(no_field(*request.by));
  return in_form(std::make_unique<ValueHistogram>(std::move(out), metadata, request), form);
}

Analysis latencies(OutputFile out, const Metadata& metadata, const LatencyRequest& request, AnswerForm form) {
  for (const std::string& name : {request.start, request.end})
    if (std::ranges::none_of(metadata.formats.all(), [&](const EventFormat& event) { return is_named(event, name); }))
      return std::unexpected(Error("no event `" + name + "`"));
  if (request.by && !is_known(*request.by, metadata)) return std::unexpected(no_field(*request.by));
  return in_form(std::make_unique<Latencies>(std::move(out), metadata, request), form);
}

Analysis live_table(OutputFile out, const Metadata& metadata, std::size_t rows, AnswerForm form) {
  return in_form(std::make_unique<LiveTable>(std::move(out), metadata, rows), form);
}

}  // namespace kevt::record
