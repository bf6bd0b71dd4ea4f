#include "tracefs-compat/fleet/orders/wanted.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tracefs-compat/fleet/rows.h"

namespace kevt::fleet {
namespace {

constexpr std::array<std::string_view, 4> kStates = {"refused", "running", "ended", "failed"};
constexpr const char* kAnswerColumns =
    "serial, host, step, state, words, session, hits, recorded, aggregated, filtered, lost, missed, at";
constexpr const char* kHostColumns = "host, labels, maker, seen";
constexpr unsigned kMostOpen = 1024;

// Of a host's answers that with the highest one counts, whatever its clock does.
std::uint8_t step_of(AnswerState state) { return state == AnswerState::Ended || state == AnswerState::Failed ? 2 : 1; }

template <class Totals>
auto counts_of(Totals& totals) {
  return std::array{&totals.attempts, &totals.recorded, &totals.aggregated,
                    &totals.filtered, &totals.lost,     &totals.missed};
}

std::uint64_t read_number(RowReader& rows) { return rows.number<std::uint64_t>(); }

Answer read_answer(RowReader& rows) {
  Answer one;
  one.serial = rows.number<std::int64_t>();
  one.host = rows.text();
  (void)rows.number<std::uint8_t>();  // step
  const std::string_view state = rows.text();
  const auto* const known = std::ranges::find(kStates, state);
  one.state = known == kStates.end() ? AnswerState::Failed : static_cast<AnswerState>(known - kStates.begin());
  one.words = rows.text();
  one.session = rows.text();
  for (std::uint64_t* number : counts_of(one.totals)) *number = rows.number<std::uint64_t>();
  one.at = rows.number<std::int64_t>();
  return one;
}

Presence read_presence(RowReader& rows) {
  Presence one;
  one.host = rows.text();
  one.labels = rows.text();
  one.maker = rows.text();
  one.seen = rows.number<std::int64_t>();
  return one;
}

SignedText read_signed(RowReader& rows) {
  SignedText one;
  one.text = rows.text();
  one.signature = rows.text();
  return one;
}

}  // namespace

std::string_view name_of(AnswerState state) { return kStates.at(static_cast<std::size_t>(state)); }

Result<void> put_order(Server& server, const Order& order, const SignedText& signed_text) {
  std::vector<std::uint8_t> rows;
  RowWriter row(rows);
  row.number(order.serial);
  row.number(order.begin_before);
  row.text(signed_text.text);
  row.text(signed_text.signature);
  return put_rows(server, "kevt_wanted", "serial, begin_before, text, signature", rows);
}

Result<std::vector<std::uint64_t>> open_orders(Server& server, std::int64_t now_ns) {
  return rows_of(
      server,
      fmt::format("SELECT cityHash64(text, signature) AS which FROM {}.kevt_wanted WHERE begin_before > {} AND "
                  "length(text) <= {} GROUP BY which ORDER BY max(serial) DESC LIMIT {} FORMAT RowBinary",
                  server.database(), now_ns, kMostOfOrder, kMostOpen),
      &read_number);
}

Result<std::optional<SignedText>> find_order(Server& server, std::uint64_t which) {
  auto rows = KEVT_TRY(rows_of(
      server,
      fmt::format(
          "SELECT text, signature FROM {}.kevt_wanted WHERE cityHash64(text, signature) = {} AND length(text) <= "
          "{} LIMIT 1 FORMAT RowBinary",
          server.database(), which, kMostOfOrder),
      &read_signed));
  if (rows.empty()) return std::nullopt;
  return std::move(rows.front());
}

Result<void> put_answer(Server& server, const Answer& answer) {
  std::vector<std::uint8_t> rows;
  RowWriter row(rows);
  row.number(answer.serial);
  row.text(answer.host);
  row.number(step_of(answer.state));
  row.text(name_of(answer.state));
  row.text(answer.words);
  row.text(answer.session);
  for (const std::uint64_t* number : counts_of(answer.totals)) row.number(*number);
  row.number(answer.at);
  return put_rows(server, "kevt_answers", kAnswerColumns, rows);
}

Result<std::vector<Answer>> find_answers(Server& server, std::int64_t serial) {
  return rows_of(server,
                 fmt::format("SELECT {} FROM {}.kevt_answers FINAL WHERE serial = {} ORDER BY host FORMAT RowBinary",
                             kAnswerColumns, server.database(), serial),
                 &read_answer);
}

Result<void> put_presence(Server& server, const Presence& presence) {
  std::vector<std::uint8_t> rows;
  RowWriter row(rows);
  for (const std::string* text : {&presence.host, &presence.labels, &presence.maker}) row.text(*text);
  row.number(presence.seen);
  return put_rows(server, "kevt_hosts", kHostColumns, rows);
}

Result<std::vector<Presence>> find_present(Server& server) {
  return rows_of(
      server,
      fmt::format("SELECT {} FROM {}.kevt_hosts FINAL ORDER BY host FORMAT RowBinary", kHostColumns, server.database()),
      &read_presence);
}

}  // namespace kevt::fleet
