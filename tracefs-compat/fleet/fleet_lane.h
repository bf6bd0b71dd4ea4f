// FleetLane: the rows of one event of one recording, in their order.
//
// A page is asked for by a span of time that is made longer or shorter until a page has some thousand rows: servers
// that sort all rows behind a moment for a LIMIT would otherwise read a table once for each page. Nothing is asked
// before the lane's turn has come.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/error.h"
#include "tracefs-compat/fleet/catalogue.h"
#include "tracefs-compat/fleet/server.h"
#include "tracefs-compat/fleet/shape.h"

namespace kevt::fleet {

class FleetLane {
 public:
  // Where a row stands: rows are unique by it.
  struct Key {
    std::int64_t time_ns = 0;
    std::uint32_t cpu = 0;
    std::string instance;
    std::uint64_t seq = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct Part {
    std::int64_t from_ns = 0, to_ns = kLatestNs;  // since 1970, both included
    std::string condition = "1";                  // of SQL, on the event's table
    std::int64_t shift_ns = 0;                    // of its rows' times, against those of other recordings
    bool is_exact = true;                         // what it holds for is wanted, and needs no second look
  };

  // `rows_of_page`: how many are in memory at most. The references outlive this object.
  FleetLane(Server& server, const Session& session, const record::EventFormat& event, std::string table, Part part,
            std::uint32_t rows_of_page);

  const record::EventFormat& event() const { return event_; }
  // Of the row that step() has gone to; before the first step no row is earlier.
  const Key& key() const { return key_; }
  // What is added to times of rows, so that those of several machines' clocks can be compared.
  std::int64_t shift_ns() const { return part_.shift_ns; }
  bool is_begun() const { return is_begun_; }
  bool at_end() const { return at_end_; }
  const RowHead& head() const { return head_; }
  std::span<const std::uint8_t> record() const { return record_; }

  // Goes to the next row. The server may lie: rows that were not asked for are an error.
  Result<void> step();

 private:
  std::string where() const;
  std::string page_question() const;
  Result<void> fetch();
  void advance();
  Result<void> skip_gap();
  Error makes_no_sense() const;

  Server& server_;
  const Session& session_;
  const record::EventFormat& event_;
  std::string table_;
  Part part_;
  std::uint32_t rows_of_page_;
  std::int64_t next_from_;  // the next page begins there
  std::int64_t span_ns_;    // and is so long
  std::int64_t end_ = 0;    // of this page
  bool has_more_ = false;   // the page was full: its span has more rows
  std::string page_;
  std::optional<RowReader> rows_;
  std::uint32_t rows_in_page_ = 0;  // that were read
  Key key_;
  RowHead head_;
  std::vector<std::uint8_t> record_;
  bool is_begun_ = false, has_row_ = false, at_end_ = false;
};

}  // namespace kevt::fleet
