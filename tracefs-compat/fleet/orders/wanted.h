// The tables of orders: what is wanted (`kevt_wanted`), what hosts answer (`kevt_answers`), and which hosts look at it
// (`kevt_hosts`). An order stands on every server of a fleet; a host's answers are on the host's own. Nothing that
// comes from these tables is believed but a text with a good signature (order.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/error.h"
#include "tracefs-compat/fleet/orders/order.h"
#include "tracefs-compat/fleet/server.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::fleet {

struct SignedText {
  std::string text, signature;
};
Result<void> put_order(Server& server, const Order& order, const SignedText& signed_text);
// One for each different order that, as the table says, may still begin; the newest 1,024.
Result<std::vector<std::uint64_t>> open_orders(Server& server, std::int64_t now_ns);
// nullopt: it is gone.
Result<std::optional<SignedText>> find_order(Server& server, std::uint64_t which);

enum class AnswerState : std::uint8_t { Refused, Running, Ended, Failed };
std::string_view name_of(AnswerState state);  // "refused"
inline bool is_final(AnswerState state) { return state != AnswerState::Running; }

struct Answer {
  std::int64_t serial = 0;
  std::string host;
  AnswerState state = AnswerState::Refused;
  std::string words;           // why
  std::string session;         // the recording's id
  record::EventTotals totals;  // of all events; `event` is empty
  std::int64_t at = 0;         // ns since 1970, by the host's clock
};
Result<void> put_answer(Server& server, const Answer& answer);
// The latest of each host.
Result<std::vector<Answer>> find_answers(Server& server, std::int64_t serial);

struct Presence {
  std::string host;
  std::string labels;     // "role=web,zone=eu1"
  std::string maker;      // "kevtrace 0.2.0"
  std::int64_t seen = 0;  // ns since 1970, by the host's clock
};
Result<void> put_presence(Server& server, const Presence& presence);
Result<std::vector<Presence>> find_present(Server& server);

}  // namespace kevt::fleet
