// Catalogue: what a fleet's database says about its records. A recording that was shipped is a session there.
//
//   kevt_sessions   a row for each recording: its host, clock, processes, symbols, histograms
//   kevt_events     a row for each event of a recording: its format, and the table with its records
//   kevt_counts     a row for each event of a recording: its hits, and where they went
//   kevt_purged     a row for each day of a recording that was given back
//   kevt_clocks     rows for each recording: its machine's clocks at some moments (clocks.h)
//   kevt_clock_bounds   a row for each two recordings: how far their clocks can be apart (clock_bounds.h)
//   kevt_symbols    a row for each address of a recording that has a name, for questions in SQL
//   kevt_rollups    a row for each step of time of an event of a recording: how many records it has (rollups.h)
//
// What changes has a `checkpoint`, nanoseconds since 1970: of rows with one key the latest counts.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "tracefs-compat/fleet/address.h"
#include "tracefs-compat/fleet/server.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::fleet {

inline constexpr std::uint32_t kSchemaVersion = 6;

struct Session {
  std::string id;  // of the recording: 32 hexadecimal digits
  std::string host;
  std::string rest_of;  // the id of the recording that this one goes on with; empty: none
  std::string machine;  // uname
  std::string clock, maker;
  std::uint32_t cpus = 1;
  std::int64_t wall_offset_ns = 0;         // a record's time in the recording + this = ns since 1970
  std::int64_t first_ns = 0, last_ns = 0;  // of the records that were shipped, since 1970; 0: none
  bool is_whole = false;                   // the recording was finished, and all of it was shipped
  std::vector<std::string> instances;
  std::string notes, comms;  // metadata_text() and comms_text() of the recording
  std::int64_t checkpoint = 0;
  std::string boot;  // of the machine, as Metadata::boot
};

struct SessionEvent {
  std::string session;
  std::string system, name, table;
  std::string format;          // the format file
  std::uint32_t position = 0;  // among the recording's events
};

struct EventCounts {
  std::string session, host;
  record::EventTotals totals;      // as the engine counted them; `event` is SYSTEM/NAME
  bool has_totals = false;         // false: the recording does not say them (yet)
  std::uint64_t in_recording = 0;  // records that could be read of it so far
  std::uint64_t shipped = 0;       // of these, rows that the server has said it has
  std::string table;
  std::int64_t checkpoint = 0;
};

// Creates the database and its tables where they are not there; from an older schema it goes on step by step. The error
// says when the schema is newer than this program.
Result<void> create_schema(Server& server);
// Whether the database has this program's schema.
Result<void> check_schema(Server& server);

Result<void> put_session(Server& server, const Session& session);
// The names of addresses that the recording says: process 0, or of several processes each one's. All of it is one
// INSERT.
Result<void> put_symbols(Server& server, const Session& session, const record::Metadata& metadata);
Result<void> put_events(Server& server, const std::vector<SessionEvent>& events, std::string_view host);
Result<void> put_counts(Server& server, const std::vector<EventCounts>& counts);

// Those whose host matches the glob and, where one is named, with this id; by host and first record. Without `notes`
// and `comms`, which may be long: find_notes() adds them.
Result<std::vector<Session>> find_sessions(Server& server, const Address& address);
Result<void> find_notes(Server& server, Session& session);
// Those with this id, of whatever host.
Result<std::vector<Session>> sessions_with(Server& server, std::string_view id);
// Of these tables, those that are there.
Result<std::set<std::string>> find_tables(Server& server);
// The SQL condition on host and session that an address means.
std::string chosen(const Address& address);

Result<std::vector<SessionEvent>> find_events(Server& server, std::string_view session);
Result<std::vector<EventCounts>> find_counts(Server& server, const Address& address);

}  // namespace kevt::fleet
