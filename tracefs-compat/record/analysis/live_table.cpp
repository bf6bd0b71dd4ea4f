#include <algorithm>

#include "tracefs-compat/record/analysis/answer_table.h"
#include "tracefs-compat/record/analysis/counts.h"
#include "tracefs-compat/record/analysis/key_room.h"

namespace kevt::record {
namespace {

class LiveTable final : public AnswerTable {
 public:
  LiveTable(OutputFile out, const Metadata& metadata, std::size_t rows)
      : AnswerTable(std::move(out), metadata), rows_(rows) {}
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

}  // namespace

Analysis live_table(OutputFile out, const Metadata& metadata, std::size_t rows, AnswerForm form) {
  return in_form(std::make_unique<LiveTable>(std::move(out), metadata, rows), form);
}

}  // namespace kevt::record
