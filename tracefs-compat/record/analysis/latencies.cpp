#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>

#include "tracefs-compat/record/analysis/answer_table.h"
#include "tracefs-compat/record/analysis/counts.h"
#include "tracefs-compat/record/analysis/histogram.h"
#include "tracefs-compat/record/analysis/key_room.h"
#include "tracefs-compat/record/record_filter.h"

namespace kevt::record {
namespace {

constexpr std::size_t kMaxOpen = 4096;  // starts without an end, per thread or key

class Latencies final : public AnswerTable {
 public:
  Latencies(OutputFile out, const Metadata& metadata, LatencyRequest request)
      : AnswerTable(std::move(out), metadata), request_(std::move(request)) {
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
    std::uint64_t unmatched = 0, faster = 0;
  };

  // The thread, or the value of the key, whatever its size; nullopt: the record has none.
  static std::optional<std::string> partner_of(const TypedRecord& record, const ValueName* name) {
    std::uint64_t number = record.thread();
    if (name) {
      const auto value = number_or_text(*name, record);
      if (!value) return std::nullopt;
      if (!value->is_number()) return "text " + std::string(value->text);
      number = value->number;
    }
    return std::string(reinterpret_cast<const char*>(&number), sizeof number);
  }

  Group& group_of(const std::string& key) {
    auto found = groups_.find(key);
    if (found == groups_.end() && groups_.size() < Counts::kMaxKeys &&
        room_.take(KeyRoom::kNodeBytes + sizeof(Group) + key.size()))
      found = groups_.try_emplace(key).first;
    return found != groups_.end() ? found->second : groups_[std::string(Counts::kOthers)];
  }
  void add_time(Group& group, std::uint64_t time_ns) {
    const bool has_room = room_.take(group.times.growth(time_ns));
    (has_room ? group : groups_[std::string(Counts::kOthers)]).times.add(time_ns);
  }
  void start(const TypedRecord& record) {
    std::string key = request_.by ? key_text(*request_.by, record, key_styles_).value_or("") : "";
    auto partner = partner_of(record, request_.key ? &request_.key->start : nullptr);
    if (!partner) {
      ++group_of(key).unmatched;
      return;
    }
    auto waiting = open_.find(*partner);
    if (waiting == open_.end() && room_.take(KeyRoom::kNodeBytes + partner->size()))
      waiting = open_.try_emplace(*std::move(partner)).first;
    if (waiting == open_.end() || !room_.take(sizeof(Open) + key.size())) {
      ++group_of(key).unmatched;
      return;
    }
    std::vector<Open>& open = waiting->second;
    if (open.size() >= kMaxOpen) {
      ++group_of(open.front().key).unmatched;
      room_.give_back(sizeof(Open) + open.front().key.size());
      open.erase(open.begin());
    }
    open.push_back({record.time_ns, std::move(key)});
  }
  void end(const TypedRecord& record) {
    const auto partner = partner_of(record, request_.key ? &request_.key->end : nullptr);
    const auto it = partner ? open_.find(*partner) : open_.end();
    if (it == open_.end() || it->second.empty()) {
      ++ends_alone_;
      return;
    }
    const Open open = std::move(it->second.back());
    it->second.pop_back();
    room_.give_back(sizeof(Open) + open.key.size());
    // Requests come with keys of their own; threads stay.
    if (it->second.empty() && request_.key) {
      room_.give_back(KeyRoom::kNodeBytes + it->first.size());
      open_.erase(it);
    }
    const std::uint64_t time_ns = record.time_ns - std::min(record.time_ns, open.time_ns);
    Group& group = group_of(open.key);
    if (time_ns >= request_.slower_ns)
      add_time(group, time_ns);
    else
      ++group.faster;
  }
  bool is_asked(const EventFormat& event) const {
    return is_named(event, request_.start) || is_named(event, request_.end);
  }
  double rank_of(const Group& group) const {
    const Histogram& times = group.times;
    switch (request_.order) {
      case LatencyOrder::Count:
        break;
      case LatencyOrder::P50:
        return static_cast<double>(times.percentile(50));
      case LatencyOrder::P99:
        return static_cast<double>(times.percentile(99));
      case LatencyOrder::Max:
        return static_cast<double>(times.max());
      case LatencyOrder::Total:
        return times.mean() * static_cast<double>(times.count());
    }
    return static_cast<double>(times.count());
  }
  // In the order that is asked for, the greatest first.
  std::vector<std::pair<std::string, const Group*>> rows() {
    for (const auto& [partner, open] : open_)
      for (const Open& one : open) ++group_of(one.key).unmatched;
    open_.clear();
    std::vector<std::pair<std::string, const Group*>> rows;
    for (const auto& [key, group] : groups_) rows.emplace_back(key, &group);
    std::ranges::stable_sort(rows, std::greater<>(), [&](const auto& row) { return rank_of(*row.second); });
    return rows;
  }
  void print_json(JsonObject& json) override {
    json.member("type", "lat");
    json.member("unit", "ns");
    json.member("start", request_.start);
    json.member("end", request_.end);
    if (request_.by) json.member("by", request_.by->field);
    if (request_.slower_ns) json.member("slower", request_.slower_ns);
    json.begin("rows", '[');
    for (const auto& [key, group] : rows()) {
      json.begin('{');
      if (request_.by) json.member("key", key);
      print_json_percentiles(json, group->times);
      json.member("unmatched", group->unmatched);
      if (request_.slower_ns) json.member("faster", group->faster);
      json.end();
    }
    json.end();
    json.member("ends_alone", ends_alone_);
    print_unseen(unseen_hits(metadata_, [&](const EventFormat& event) { return is_asked(event); }), json);
  }
  void print(std::string& out) override {
    const auto at = std::back_inserter(out);
    const std::string head = request_.by ? request_.by->field : request_.start;
    fmt::format_to(at, "{:<28} {:>10} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12}   (ns) {:>10}{}\n", head, "N", "mean",
                   "min", "p50", "p90", "p99", "max", "unmatched",
                   request_.slower_ns ? fmt::format(" {:>10}", "faster") : "");
    for (const auto& [key, group] : rows()) {
      const Histogram& h = group->times;
      fmt::format_to(at, "{:<28} {:>10} {:>12.0f} {:>12} {:>12} {:>12} {:>12} {:>12}        {:>10}{}\n",
                     request_.by ? shown(key) : "-> " + request_.end, h.count(), h.mean(), h.min(), h.percentile(50),
                     h.percentile(90), h.percentile(99), h.max(), group->unmatched,
                     request_.slower_ns ? fmt::format(" {:>10}", group->faster) : "");
      if (request_.has_bars) h.append_bars(out);
    }
    if (ends_alone_) fmt::format_to(at, "{} of {} without a {} before\n", ends_alone_, request_.end, request_.start);
    print_unseen(unseen_hits(metadata_, [&](const EventFormat& event) { return is_asked(event); }), out);
  }

  KeyRoom room_;
  LatencyRequest request_;
  std::vector<Role> roles_;
  std::unordered_map<std::string, std::vector<Open>> open_;  // by thread, or by the key's value
  ValueStyles key_styles_;
  std::map<std::string, Group> groups_;
  std::uint64_t ends_alone_ = 0;
};

}  // namespace

Analysis latencies(OutputFile out, const Metadata& metadata, const LatencyRequest& wanted, AnswerForm form) {
  LatencyRequest request = wanted;
  if (request.key) {
    if (request.key->start.event.empty()) request.key->start.event = request.start;
    if (request.key->end.event.empty()) request.key->end.event = request.end;
  }
  for (const std::string& name : {request.start, request.end})
    if (std::ranges::none_of(metadata.formats.all(), [&](const EventFormat& event) { return is_named(event, name); }))
      return std::unexpected(Error("no event `" + name + "`"));
  for (const ValueName* name : {request.by ? &*request.by : nullptr, request.key ? &request.key->start : nullptr,
                                request.key ? &request.key->end : nullptr})
    if (name && !is_known(*name, metadata)) return std::unexpected(no_field(*name));
  return in_form(std::make_unique<Latencies>(std::move(out), metadata, request), form);
}

}  // namespace kevt::record
