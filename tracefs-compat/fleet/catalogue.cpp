#include "tracefs-compat/fleet/catalogue.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>

#include "tracefs-compat/fleet/rows.h"
#include "tracefs-compat/fleet/shape.h"

namespace kevt::fleet {
namespace {

// What each version of the schema adds to the one before. `{}`: the database.
constexpr const char* kSteps[kSchemaVersion][4] = {
    {"CREATE TABLE IF NOT EXISTS {}.kevt_schema (version UInt32) ENGINE = MergeTree() ORDER BY version",
     "CREATE TABLE IF NOT EXISTS {}.kevt_sessions (id String, host String, rest_of String, machine String, clock "
     "String, maker String, "
     "cpus UInt32, wall_offset Int64, first Int64, last Int64, whole UInt8, instances Array(String), notes String, "
     "comms String, checkpoint Int64) ENGINE = ReplacingMergeTree(checkpoint) ORDER BY (host, id)",
     "CREATE TABLE IF NOT EXISTS {}.kevt_events (session String, system String, name String, table String, format "
     "String, position UInt32, host String) ENGINE = ReplacingMergeTree() ORDER BY (host, session, position)",
     "CREATE TABLE IF NOT EXISTS {}.kevt_counts (session String, host String, event String, table String, has_totals "
     "UInt8, hits UInt64, recorded UInt64, aggregated UInt64, filtered UInt64, lost UInt64, missed UInt64, "
     "sees_misses UInt8, faults UInt64, overwritten UInt64, in_recording UInt64, shipped UInt64, checkpoint Int64) "
     "ENGINE = ReplacingMergeTree(checkpoint) ORDER BY (host, session, event)"},
    {"CREATE TABLE IF NOT EXISTS {}.kevt_purged (host String, session String, table String, day UInt32, rows UInt64, "
     "checkpoint Int64) ENGINE = ReplacingMergeTree(checkpoint) ORDER BY (session, table, day)"},
    {"CREATE TABLE IF NOT EXISTS {}.kevt_wanted (serial Int64, begin_before Int64, text String, signature String) "
     "ENGINE = MergeTree() ORDER BY serial",
     "CREATE TABLE IF NOT EXISTS {}.kevt_answers (serial Int64, host String, step UInt8, state String, words String, "
     "session String, hits UInt64, recorded UInt64, aggregated UInt64, filtered UInt64, lost UInt64, missed UInt64, at "
     "Int64) ENGINE = ReplacingMergeTree(step) ORDER BY (serial, host)",
     "CREATE TABLE IF NOT EXISTS {}.kevt_hosts (host String, labels String, maker String, seen Int64) ENGINE = "
     "ReplacingMergeTree(seen) ORDER BY host"},
    {"CREATE TABLE IF NOT EXISTS {}.kevt_clocks (host String, session String, utc Int64, monotonic Int64, max_error "
     "Int64) ENGINE = ReplacingMergeTree() ORDER BY (host, session, utc)"},
    {"CREATE TABLE IF NOT EXISTS {}.kevt_rollups (host String, session String, table String, step Int64, at Int64, "
     "hits UInt64) ENGINE = ReplacingMergeTree(hits) PARTITION BY toYYYYMMDD(toDateTime(intDiv(at, 1000000000), "
     "'UTC'), 'UTC') ORDER BY (step, host, session, table, at)"},
    {"CREATE TABLE IF NOT EXISTS {}.kevt_symbols (host String, session String, process Int32, address UInt64, size "
     "UInt64, name String, module String) ENGINE = ReplacingMergeTree() ORDER BY (host, session, process, address)",
     "CREATE TABLE IF NOT EXISTS {}.kevt_clock_bounds (sent String, received String, events String, most Int64, "
     "messages UInt64, at Int64) ENGINE = ReplacingMergeTree(at) ORDER BY (sent, received, events)"},
};

// Columns that tables got later. 18.16 knows no ADD COLUMN IF NOT EXISTS.
struct LaterColumn {
  std::uint32_t version;
  const char *table, *name, *type;
};
constexpr LaterColumn kLaterColumns[] = {{6, "kevt_sessions", "boot", "String"}};

Result<void> add_columns(Server& server, std::uint32_t version) {
  for (const LaterColumn& one : kLaterColumns) {
    if (one.version != version) continue;
    const std::string is_there = KEVT_TRY(server.ask(fmt::format(
        "SELECT count() FROM system.columns WHERE database = {} AND table = '{}' AND name = '{}' FORMAT TSV",
        sql_text(server.database()), one.table, one.name)));
    if (is_there == "0\n")
      KEVT_TRY(server.tell(
          fmt::format("ALTER TABLE {}.{} ADD COLUMN {} {}", server.database(), one.table, one.name, one.type)));
  }
  return {};
}

constexpr const char* kSessionColumns =
    "id, host, rest_of, machine, clock, maker, cpus, wall_offset, first, last, whole, instances, notes, comms, "
    "checkpoint, boot";
constexpr const char* kEventColumns = "session, system, name, table, format, position, host";
constexpr const char* kCountColumns =
    "session, host, event, table, has_totals, hits, recorded, aggregated, filtered, lost, missed, sees_misses, faults, "
    "overwritten, in_recording, shipped, checkpoint";

// 0: there is no schema yet.
Result<std::uint32_t> schema_version(Server& server) {
  const std::string answer = KEVT_TRY(server.ask(
      fmt::format("SELECT count() FROM system.tables WHERE database = {} AND name = 'kevt_schema' FORMAT TSV",
                  sql_text(server.database()))));
  if (answer != "1\n") return 0;
  const std::string text =
      KEVT_TRY(server.ask(fmt::format("SELECT max(version) FROM {}.kevt_schema FORMAT TSV", server.database())));
  std::uint32_t version = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), version).ec != std::errc())
    return std::unexpected(no_sense(server));
  return version;
}

Error is_newer(const Server& server, std::uint32_t version) {
  return Error(fmt::format("the database {} has schema {}, and this kevtrace knows {}", server.database(), version,
                           kSchemaVersion));
}

// A glob of file names as a pattern of re2: only `*`, `?` and the letters themselves.
std::string pattern_of(std::string_view glob) {
  std::string out = "^";
  for (const char c : glob) {
    if (c == '*')
      out += ".*";
    else if (c == '?')
      out += '.';
    else if (std::isalnum(static_cast<unsigned char>(c)) || static_cast<unsigned char>(c) >= 0x80 || c == '_' ||
             c == '-')
      out += c;
    else
      (out += '\\') += c;
  }
  return out + "$";
}

std::string conditions(const Address& address, std::string_view session_column) {
  std::string out = "1";
  if (!address.hosts.empty() && address.hosts != "*")
    out += fmt::format(" AND match(host, {})", sql_text(pattern_of(address.hosts)));
  if (!address.session.empty())
    out += fmt::format(" AND startsWith({}, {})", session_column, sql_text(address.session));
  return out;
}

Session read_session(RowReader& rows) {
  Session one;
  one.id = rows.text();
  one.host = rows.text();
  one.rest_of = rows.text();
  one.machine = rows.text();
  one.clock = rows.text();
  one.maker = rows.text();
  one.cpus = rows.number<std::uint32_t>();
  one.wall_offset_ns = rows.number<std::int64_t>();
  one.first_ns = rows.number<std::int64_t>();
  one.last_ns = rows.number<std::int64_t>();
  one.is_whole = rows.number<std::uint8_t>() != 0;
  one.instances = rows.texts(record::kMostInstances);
  one.notes = rows.text();
  one.comms = rows.text();
  one.checkpoint = rows.number<std::int64_t>();
  one.boot = rows.text();
  return one;
}

EventCounts read_counts(RowReader& rows) {
  EventCounts one;
  one.session = rows.text();
  one.host = rows.text();
  one.totals.event = rows.text();
  one.table = rows.text();
  one.has_totals = rows.number<std::uint8_t>() != 0;
  record::EventTotals& totals = one.totals;
  for (std::uint64_t* number :
       {&totals.attempts, &totals.recorded, &totals.aggregated, &totals.filtered, &totals.lost, &totals.missed})
    *number = rows.number<std::uint64_t>();
  totals.sees_misses = rows.number<std::uint8_t>() != 0;
  for (std::uint64_t* number : {&totals.faults, &totals.overwritten, &one.in_recording, &one.shipped})
    *number = rows.number<std::uint64_t>();
  one.checkpoint = rows.number<std::int64_t>();
  return one;
}

SessionEvent read_event(RowReader& rows) {
  SessionEvent one;
  one.session = rows.text();
  one.system = rows.text();
  one.name = rows.text();
  one.table = rows.text();
  one.format = rows.text();
  one.position = rows.number<std::uint32_t>();
  (void)rows.text();  // host
  return one;
}

std::string question_of_sessions(const Server& server, std::string_view condition) {
  std::string columns = kSessionColumns;
  columns.replace(columns.find("notes, comms"), 12, "'' AS n, '' AS c");
  return fmt::format("SELECT {} FROM {}.kevt_sessions FINAL WHERE {} ORDER BY host, first, id FORMAT RowBinary",
                     columns, server.database(), condition);
}

}  // namespace

Result<void> create_schema(Server& server) {
  KEVT_TRY(server.tell("CREATE DATABASE IF NOT EXISTS " + server.database()));
  std::uint32_t version = KEVT_TRY(schema_version(server));
  if (version > kSchemaVersion) return std::unexpected(is_newer(server, version));
  for (; version < kSchemaVersion; ++version) {
    for (const char* step : kSteps[version])
      if (step != nullptr) KEVT_TRY(server.tell(fmt::format(fmt::runtime(step), server.database())));
    KEVT_TRY(add_columns(server, version + 1));
    KEVT_TRY(server.tell(fmt::format("INSERT INTO {}.kevt_schema VALUES ({})", server.database(), version + 1)));
  }
  return {};
}

Result<void> check_schema(Server& server) {
  const std::uint32_t version = KEVT_TRY(schema_version(server));
  if (version > kSchemaVersion) return std::unexpected(is_newer(server, version));
  if (version == kSchemaVersion) return {};
  if (version != 0)
    return std::unexpected(Error(fmt::format("the database {} has schema {}; `kevtrace fleet init` brings it to {}",
                                             server.database(), version, kSchemaVersion)));
  return std::unexpected(Error(fmt::format("{} has no database {} of kevtrace; `kevtrace fleet init` makes it",
                                           server.url(), server.database())));
}

Result<void> put_session(Server& server, const Session& session) {
  std::vector<std::uint8_t> rows;
  RowWriter row(rows);
  for (const std::string* text :
       {&session.id, &session.host, &session.rest_of, &session.machine, &session.clock, &session.maker})
    row.text(*text);
  row.number(session.cpus);
  for (const std::int64_t number : {session.wall_offset_ns, session.first_ns, session.last_ns}) row.number(number);
  row.number<std::uint8_t>(session.is_whole);
  row.texts(session.instances);
  row.text(session.notes);
  row.text(session.comms);
  row.number(session.checkpoint);
  row.text(session.boot);
  return put_rows(server, "kevt_sessions", kSessionColumns, rows);
}

Result<void> put_symbols(Server& server, const Session& session, const record::Metadata& metadata) {
  std::vector<std::uint8_t> rows;
  RowWriter row(rows);
  // Of several processes one address means something else in each: of all together only the kernel's are told.
  const bool has_several = metadata.processes.size() > 1;
  const auto put = [&](std::int32_t process, const record::Symbols& symbols) {
    for (const record::Symbol* one : symbols.all()) {
      const bool is_of_kernel = one->address >> 63 != 0;
      if (one->is_listed || (has_several && process == 0 && !is_of_kernel)) continue;
      row.text(session.host);
      row.text(session.id);
      row.number(process);
      row.number(one->address);
      row.number(one->size);
      row.text(one->name);
      row.text(one->module);
    }
  };
  put(0, metadata.symbols);
  if (has_several)
    for (const auto& [pid, process] : metadata.processes) put(pid, process.symbols);
  return put_rows(server, "kevt_symbols", "host, session, process, address, size, name, module", rows);
}

Result<void> put_events(Server& server, const std::vector<SessionEvent>& events, std::string_view host) {
  std::vector<std::uint8_t> rows;
  RowWriter row(rows);
  for (const SessionEvent& one : events) {
    for (const std::string* text : {&one.session, &one.system, &one.name, &one.table, &one.format}) row.text(*text);
    row.number(one.position);
    row.text(host);
  }
  return put_rows(server, "kevt_events", kEventColumns, rows);
}

Result<void> put_counts(Server& server, const std::vector<EventCounts>& counts) {
  std::vector<std::uint8_t> rows;
  RowWriter row(rows);
  for (const EventCounts& one : counts) {
    const record::EventTotals& totals = one.totals;
    for (const std::string* text : {&one.session, &one.host, &totals.event, &one.table}) row.text(*text);
    row.number<std::uint8_t>(one.has_totals);
    for (const std::uint64_t number :
         {totals.attempts, totals.recorded, totals.aggregated, totals.filtered, totals.lost, totals.missed})
      row.number(number);
    row.number<std::uint8_t>(totals.sees_misses);
    for (const std::uint64_t number : {totals.faults, totals.overwritten, one.in_recording, one.shipped})
      row.number(number);
    row.number(one.checkpoint);
  }
  return put_rows(server, "kevt_counts", kCountColumns, rows);
}

std::string chosen(const Address& address) { return conditions(address, "session"); }

Result<std::vector<Session>> find_sessions(Server& server, const Address& address) {
  return rows_of(server, question_of_sessions(server, conditions(address, "id")), &read_session);
}

Result<std::vector<Session>> sessions_with(Server& server, std::string_view id) {
  return rows_of(server, question_of_sessions(server, "id = " + sql_text(id)), &read_session);
}

Result<void> find_notes(Server& server, Session& session) {
  const std::string answer = KEVT_TRY(server.ask(fmt::format(
      "SELECT notes, comms FROM {}.kevt_sessions FINAL WHERE host = {} AND id = {} LIMIT 1 FORMAT RowBinary",
      server.database(), sql_text(session.host), sql_text(session.id))));
  RowReader rows(answer);
  session.notes = rows.text();
  session.comms = rows.text();
  if (!rows.good()) return std::unexpected(no_sense(server));
  return {};
}

Result<std::set<std::string>> find_tables(Server& server) {
  const std::string answer = KEVT_TRY(server.ask(
      fmt::format("SELECT name FROM system.tables WHERE database = {} AND startsWith(name, {}) FORMAT RowBinary",
                  sql_text(server.database()), sql_text(kTablesOfEvents))));
  std::set<std::string> out;
  RowReader rows(answer);
  while (!rows.at_end())
    if (const std::string_view name = rows.text(); is_table_of_events(name)) out.emplace(name);
  if (!rows.good()) return std::unexpected(no_sense(server));
  return out;
}

Result<std::vector<SessionEvent>> find_events(Server& server, std::string_view session) {
  return rows_of(
      server,
      fmt::format("SELECT {} FROM {}.kevt_events FINAL WHERE session = {} ORDER BY position FORMAT RowBinary",
                  kEventColumns, server.database(), sql_text(session)),
      &read_event);
}

Result<std::vector<EventCounts>> find_counts(Server& server, const Address& address) {
  return rows_of(
      server,
      fmt::format("SELECT {} FROM {}.kevt_counts FINAL WHERE {} ORDER BY host, event, session FORMAT RowBinary",
                  kCountColumns, server.database(), chosen(address)),
      &read_counts);
}

}  // namespace kevt::fleet
