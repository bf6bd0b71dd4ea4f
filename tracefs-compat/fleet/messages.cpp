#include "tracefs-compat/fleet/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "tracefs-compat/fleet/catalogue.h"
#include "tracefs-compat/fleet/fleet_lane.h"
#include "tracefs-compat/record/event_format.h"

namespace kevt::fleet {
namespace {

constexpr std::size_t kMostSent = 1 << 22, kLongestKey = 128;
constexpr std::uint32_t kMessagesOfPage = 65'536;

// Numbers of one value are equal whatever their size; no text is equal to a number.
std::optional<std::string> key_of(const record::Value& value) {
  if (value.kind == record::Value::Kind::Text)
    return value.text.size() <= kLongestKey ? std::optional("t" + std::string(value.text)) : std::nullopt;
  if (!value.is_integer()) return std::nullopt;
  return fmt::format("n{}", value.number);
}

bool is_meant(const SessionEvent& event, std::string_view name) {
  return event.name == name || event.system + "/" + event.name == name;
}

class Matcher {
 public:
  Matcher(const Meant& meant, const MessageEnd& sent, const MessageEnd& received)
      : meant_(meant), sent_(sent), received_(received) {}

  Result<Messages> run() {
    KEVT_TRY(read_end(sent_, [this](std::size_t recording, std::int64_t time, std::string key) -> Result<void> {
      return take_sent(recording, time, std::move(key));
    }));
    KEVT_TRY(read_end(received_, [this](std::size_t recording, std::int64_t time, const std::string& key) {
      take_received(recording, time, key);
      return Result<void>();
    }));
    for (const auto& [of, bound] : bounds_)
      out_.bounds.push_back({.sent = meant_.sessions[of.first].session.id,
                             .received = meant_.sessions[of.second].session.id,
                             .most_ns = bound.first,
                             .messages = bound.second});
    return std::move(out_);
  }

 private:
  struct Sent {
    std::size_t recording = 0;
    std::int64_t time_ns = 0;
    bool is_repeated = false;
  };

  Result<void> take_sent(std::size_t recording, std::int64_t time, std::string key) {
    ++out_.sent;
    const auto [known, is_new] = by_key_.try_emplace(std::move(key), Sent{.recording = recording, .time_ns = time});
    if (!is_new && !std::exchange(known->second.is_repeated, true)) ++out_.repeated;
    if (by_key_.size() <= kMostSent) return {};
    return std::unexpected(
        Error(fmt::format("more than {} values of {}.{} were sent: name hosts or recordings behind the database",
                          kMostSent, sent_.event, sent_.field)));
  }

  void take_received(std::size_t recording, std::int64_t time, const std::string& key) {
    ++out_.received;
    const auto sent = by_key_.find(key);
    if (sent == by_key_.end() || sent->second.is_repeated || sent->second.recording == recording) return;
    ++out_.matched;
    const std::int64_t most = time - sent->second.time_ns;  // both are between 1970 and 2200
    auto [bound, is_new] = bounds_.try_emplace({sent->second.recording, recording}, most, 0);
    bound->second.first = std::min(bound->second.first, most);
    ++bound->second.second;
  }

  template <class Take>
  Result<void> read_end(const MessageEnd& end, const Take& take) {
    bool has_event = false, has_field = false;
    for (std::size_t i = 0; i < meant_.sessions.size(); ++i) {
      const MeantSession& of = meant_.sessions[i];
      for (const SessionEvent& event : KEVT_TRY(find_events(*of.server, of.session.id))) {
        if (!is_meant(event, end.event)) continue;
        has_event = true;
        const auto format = record::parse_format(event.system, event.format);
        if (!format) continue;
        const auto field = std::ranges::find(format->fields, end.field, &record::Field::name);
        if (field == format->fields.end()) continue;
        has_field = true;
        if (!KEVT_TRY(find_tables(*of.server)).contains(event.table)) continue;  // it has no record yet
        FleetLane lane(*of.server, of.session, *format, event.table, {.from_ns = of.session.first_ns}, kMessagesOfPage);
        for (KEVT_TRY(lane.step()); !lane.at_end(); KEVT_TRY(lane.step()))
          if (auto key = key_of(record::value_of(*field, lane.record())))
            KEVT_TRY(take(i, lane.head().time_ns, *std::move(key)));
      }
    }
    if (has_field) return {};
    return std::unexpected(Error(has_event ? fmt::format("{} has no field `{}`", end.event, end.field)
                                           : fmt::format("no recording has an event `{}`", end.event)));
  }

  const Meant& meant_;
  const MessageEnd& sent_;
  const MessageEnd& received_;
  Messages out_;
  std::unordered_map<std::string, Sent> by_key_;
  std::map<std::pair<std::size_t, std::size_t>, std::pair<std::int64_t, std::uint64_t>> bounds_;  // most, messages
};

}  // namespace

Result<MessageEnd> parse_message_end(std::string_view text) {
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == text.size())
    return std::unexpected(Error(fmt::format("`{}` is no EVENT.FIELD, as `net_send.id`", text)));
  return MessageEnd{std::string(text.substr(0, dot)), std::string(text.substr(dot + 1))};
}

Result<Messages> match_messages(const Meant& meant, const MessageEnd& sent, const MessageEnd& received) {
  return Matcher(meant, sent, received).run();
}

}  // namespace kevt::fleet
