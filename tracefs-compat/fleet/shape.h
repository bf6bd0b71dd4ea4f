// Shape: an event's records as rows of a table. One table holds the records of all events that have a name and the same
// fields in common, whoever recorded them:
//
//   event_kprobes_open_3f2a5b6c7d8e9f01      name, and a hash of the fields' names, types and places
//   host session time cpu seq …              of every record
//   f_path f_ret …                           its fields
//
// A record is made again from its row, byte by byte but for what no field names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tracefs-compat/fleet/row_binary.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::fleet {

inline constexpr std::string_view kTablesOfEvents = "event_";  // how their names begin
// The latest time of a row, nanoseconds since 1970: the year 2200. The earliest is 0.
inline constexpr std::int64_t kLatestNs = 7'258'118'400'000'000'000;
// The day of a row in UTC, 20261128, as SQL; a table's partitions are these.
inline constexpr std::string_view kDayOfRow = "toYYYYMMDD(toDateTime(intDiv(time, 1000000000), 'UTC'), 'UTC')";
// Whether a name may be that of such a table: names come out of databases, too.
bool is_table_of_events(std::string_view name);

// What a row says beside the record's fields.
struct RowHead {
  std::int64_t time_ns = 0;  // since 1970
  std::uint32_t cpu = 0;
  std::uint64_t seq = 0;      // its number among the records of its CPU and instance in the recording, from 1
  std::string_view instance;  // empty: the top one
  std::int32_t tid = 0;
  std::int32_t pid = 0;  // of the process; 0: not known
  std::string_view comm, container;
  std::uint8_t flags = 0, preempt_count = 0;
  std::uint64_t lost_before = 0;  // as TypedRecord has it
  std::string_view place;         // the probe's, as text: "vfs_read+0x0/0x140"; empty: it has none
};

std::string table_of(const record::EventFormat& event);
// Of a field, as SQL writes it.
std::string column_of(const record::Field& field);
// Whether the server knows tokens of INSERTs (insert_deduplication_token): of two with one token it takes the first.
enum class Tokens : std::uint8_t { Unknown, Known };
// CREATE TABLE IF NOT EXISTS. Where tokens are known the table remembers the last 1,000.
std::string create_table(const record::EventFormat& event, std::string_view database, Tokens tokens);
// The columns' names, as INSERT and SELECT take them, without host and session.
std::string columns_of(const record::EventFormat& event);

// Appends one row, as columns_of() says, behind host and session.
void append_row(const record::EventFormat& event, const RowHead& head, std::string_view host, std::string_view session,
                std::span<const std::uint8_t> record, std::vector<std::uint8_t>& out);
// Reads one row; false: the rest of the answer makes no sense. The head's texts live as long as the answer.
bool read_row(const record::EventFormat& event, RowReader& rows, RowHead& head, std::vector<std::uint8_t>& record);

}  // namespace kevt::fleet
