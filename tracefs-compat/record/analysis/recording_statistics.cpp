#include <algorithm>
#include <map>

#include "tracefs-compat/record/analysis/answer_table.h"
#include "tracefs-compat/record/analysis/counts.h"
#include "tracefs-compat/record/analysis/key_room.h"

namespace kevt::record {
namespace {

class Statistics final : public AnswerTable {
 public:
  Statistics(OutputFile out, const Metadata& metadata, std::size_t top)
      : AnswerTable(std::move(out), metadata), top_(top) {}
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
    // Two formats of a hostile file may have one id.
    for (std::size_t i = 0; i < std::min(event.values.size(), record.event->fields.size()); ++i) {
      const Field& field = record.event->fields[i];
      if (field.role != PlaceRole::None || event.values[i].size() > kMaxValues) continue;
      key_.clear();
      append_shown(field, event.styles[i], metadata_.symbols_of(record.thread()), record.bytes, key_);
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
      fmt::format_to(at, "{}: hits {} = recorded {}{} + filtered {} + lost {} + missed {}{}\n", shown(t.event),
                     t.attempts, t.recorded, t.aggregated ? fmt::format(" + aggregated {}", t.aggregated) : "",
                     t.filtered, t.lost, t.sees_misses ? std::to_string(t.missed) : "?",
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

}  // namespace

Analysis recording_statistics(OutputFile out, const Metadata& metadata, std::size_t top, AnswerForm form) {
  return in_form(std::make_unique<Statistics>(std::move(out), metadata, top), form);
}

}  // namespace kevt::record
