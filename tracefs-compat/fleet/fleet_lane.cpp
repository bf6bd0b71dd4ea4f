#include "tracefs-compat/fleet/fleet_lane.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace kevt::fleet {
namespace {

constexpr std::int64_t kFirstSpanNs = 1'000'000'000, kShortestSpanNs = 1'000, kLongestSpanNs = 1ll << 56;
constexpr std::uint32_t kFewestRows = 8;

}  // namespace

FleetLane::FleetLane(Server& server, const Session& session, const record::EventFormat& event, std::string table,
                     Part part, std::uint32_t rows_of_page)
    : server_(server),
      session_(session),
      event_(event),
      table_(std::move(table)),
      part_(std::move(part)),
      rows_of_page_(std::max(rows_of_page, kFewestRows)),
      next_from_(std::clamp<std::int64_t>(part_.from_ns, 0, kLatestNs)),
      span_ns_(kFirstSpanNs) {
  part_.to_ns = std::min(part_.to_ns, kLatestNs);
  key_.time_ns = next_from_;
}

Error FleetLane::makes_no_sense() const {
  return Error(fmt::format("the rows of {} from {} make no sense", table_, server_.url()));
}

std::string FleetLane::where() const {
  return fmt::format("{}.{} WHERE host = {} AND session = {}{}{}", server_.database(), table_, sql_text(session_.host),
                     sql_text(session_.id), part_.condition == "1" ? "" : " AND ",
                     part_.condition == "1" ? "" : part_.condition);
}

std::string FleetLane::page_question() const {
  std::string sql =
      fmt::format("SELECT {} FROM {} AND time >= {} AND time < {}", columns_of(event_), where(), next_from_, end_);
  if (has_more_)
    sql += fmt::format(" AND (time, cpu, instance, seq) > ({}, {}, {}, {})", key_.time_ns, key_.cpu,
                       sql_text(key_.instance), key_.seq);
  return sql + fmt::format(" ORDER BY time, cpu, instance, seq LIMIT {} FORMAT RowBinary", rows_of_page_);
}

Result<void> FleetLane::step() {
  is_begun_ = true;
  for (;;) {
    if (!rows_ || rows_->at_end()) {
      KEVT_TRY(fetch());
      if (at_end_) return {};
    }
    if (rows_in_page_ == rows_of_page_ || !read_row(event_, *rows_, head_, record_))
      return std::unexpected(makes_no_sense());
    ++rows_in_page_;
    Key key{head_.time_ns, head_.cpu, std::string(head_.instance), head_.seq};
    if (has_row_ && key == key_) continue;  // it was sent twice
    if ((has_row_ && key < key_) || key.time_ns < next_from_ || key.time_ns >= end_)
      return std::unexpected(makes_no_sense());
    key_ = std::move(key);
    has_row_ = true;
    return {};
  }
}

// The next page with rows. Rows may be so long that a page is more than an answer may be.
Result<void> FleetLane::fetch() {
  bool is_promised = false;  // the server has named a row
  for (;;) {
    if (rows_) advance();
    if (rows_ && rows_in_page_ == 0) {
      if (is_promised) return std::unexpected(makes_no_sense());
      KEVT_TRY(skip_gap());
      is_promised = true;
    }
    at_end_ = at_end_ || next_from_ > part_.to_ns;
    if (at_end_) break;
    end_ = std::min(next_from_ + span_ns_, part_.to_ns + 1);
    auto page = server_.ask(page_question());
    if (!page && page.error().errno_value() == EMSGSIZE && rows_of_page_ > kFewestRows) {
      rows_of_page_ = std::max(rows_of_page_ / 4, kFewestRows);
      rows_.reset();
      continue;
    }
    page_ = KEVT_TRY(std::move(page));
    rows_.emplace(page_);
    rows_in_page_ = 0;
    if (!rows_->at_end()) return {};
    has_more_ = false;
  }
  rows_.reset();
  page_ = {};
  return {};
}

// Behind the page that was read.
void FleetLane::advance() {
  has_more_ = rows_in_page_ >= rows_of_page_;
  if (has_more_) {
    next_from_ = key_.time_ns;
    span_ns_ = std::max(span_ns_ / 2, kShortestSpanNs);
    return;
  }
  next_from_ = end_;
  if (rows_in_page_ < rows_of_page_ / 4) span_ns_ = std::min(span_ns_ * 2, kLongestSpanNs);
}

// To the next row, however far it is.
Result<void> FleetLane::skip_gap() {
  const std::string answer = KEVT_TRY(
      server_.ask(fmt::format("SELECT count(), min(time) FROM {} AND time >= {} AND time <= {} FORMAT RowBinary",
                              where(), next_from_, part_.to_ns)));
  RowReader rows(answer);
  const auto count = rows.number<std::uint64_t>();
  const auto first = rows.number<std::int64_t>();
  if (!rows.good() || (count && (first < next_from_ || first > part_.to_ns))) return std::unexpected(makes_no_sense());
  at_end_ = count == 0;
  next_from_ = first;
  span_ns_ = kFirstSpanNs;
  return {};
}

}  // namespace kevt::fleet
