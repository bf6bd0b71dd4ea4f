#include "tracefs-compat/fleet/shipper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cerrno>

#include "common/clock.h"
#include "common/proc.h"
#include "common/random_id.h"
#include "common/regular_file.h"
#include "common/writer_lock.h"
#include "tracefs-compat/fleet/clocks.h"
#include "tracefs-compat/fleet/rollups.h"
#include "tracefs-compat/fleet/row_binary.h"
#include "tracefs-compat/fleet/shape.h"
#include "tracefs-compat/record/metadata_text.h"
#include "tracefs-compat/record/print/symbolic_format.h"
#include "tracefs-compat/record/print/trace_line.h"
#include "tracefs-compat/record/problems.h"

namespace kevt::fleet {
namespace {

// A server builds one block, and so one part of a table, of an INSERT of fewer than 1,048,576 rows
// (max_insert_block_size).
constexpr std::size_t kMostRowsAtOnce = 1 << 18;
constexpr std::size_t kMostBytesAtOnce = 16u << 20, kMostBytesWaiting = 64u << 20;
constexpr std::int64_t kDayNs = 86'400'000'000'000;
constexpr int kTries = 4;
constexpr std::uint64_t kBetweenClocksNs = 60'000'000'000, kBetweenRollupsNs = 30'000'000'000;
constexpr std::uint64_t kLookForStop = 4096;        // records
constexpr std::int64_t kSettledNs = 1'000'000'000;  // a page that is so old is not written to any more
constexpr std::int64_t kFirstPauseNs = 250'000'000;

// "Linux web1 6.1.0 x86_64": the second word.
std::string host_of(const record::Metadata& metadata) {
  const std::string_view all = metadata.host;
  const auto begin = all.find(' ');
  if (begin == all.npos) return std::string(all);
  const std::string_view rest = all.substr(begin + 1);
  return std::string(rest.substr(0, rest.find(' ')));
}

std::string name_of_instance(const record::TypedRecord& record, const record::Metadata& metadata) {
  return record.instance ? metadata.instances[record.instance - 1] : std::string();
}

// As the recording's records would have it, since 1970. Of this machine's records by their own clock, which nobody
// sets.
std::int64_t now_of(const record::Metadata& metadata) {
  const bool is_of_this_boot = !metadata.boot.empty() && metadata.boot == proc::boot_id();
  return is_of_this_boot && metadata.wall_offset_ns ? static_cast<std::int64_t>(now_ns()) + *metadata.wall_offset_ns
                                                    : utc_ns();
}

std::string query_ids(const Session& session) { return "kevtrace-" + session.id + "-"; }

std::string place_of(const record::TypedRecord& record, const record::Metadata& metadata) {
  std::string out;
  for (const record::Field& field : record.event->fields) {
    if (field.role == record::PlaceRole::None) break;  // they come first
    if (field.role == record::PlaceRole::ReturnedTo) continue;
    record::append_symbol(metadata.symbols_of(record.thread()), record::value_of(field, record.bytes).number,
                          record::SymbolOffset::Shown, out);
    break;
  }
  return out;
}

}  // namespace

Shipper::Shipper(std::span<const std::unique_ptr<Server>> shards, std::string path, std::string host)
    : shards_(shards), path_(std::move(path)), wanted_host_(std::move(host)) {}

Result<void> Shipper::open() {
  lock_ = KEVT_TRY(open_regular(path_));
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) < 0)
    return std::unexpected(errno == EWOULDBLOCK ? Error(path_ + ": another process ships it", EBUSY)
                                                : Error::from_errno("locking " + path_));
  struct stat file = {};
  if (fstat(lock_.get(), &file) < 0) return std::unexpected(Error::from_errno(path_));
  inode_ = {file.st_dev, file.st_ino};
  sent_ = 0;
  by_format_.clear();
  stream_by_place_.clear();
  held_back_.clear();
  marks_.clear();
  pages_.clear();
  KEVT_TRY(open_reader());
  const record::Metadata& metadata = reader_->metadata();
  newest_ns_ = now_of(metadata) - kSettledNs;
  if (go_on()) return {};
  forget();
  if (metadata.identity.id.empty())
    return std::unexpected(Error(path_ +
                                     ": it has no identity, and would be there twice: only what `kevtrace run` wrote "
                                     "is shipped, no copies, and a flight recording when it is finished",
                                 ENOTSUP));
  if (!metadata.wall_offset_ns)
    return std::unexpected(Error(path_ + ": it does not say what time of the day it was made"));
  session_ = {};
  session_.id = metadata.identity.id;
  session_.rest_of = metadata.identity.rest_of;
  session_.host = plain_host(wanted_host_.empty() ? host_of(metadata) : wanted_host_);
  server_ = shards_[shard_of(session_.host, shards_.size())].get();
  sender_ = KEVT_TRY(server_->another());
  session_.machine = metadata.host;
  session_.clock = metadata.clock;
  session_.maker = metadata.maker;
  session_.cpus = metadata.cpus;
  session_.wall_offset_ns = *metadata.wall_offset_ns;
  session_.instances = metadata.instances;
  session_.boot = metadata.boot;
  return {};
}

// A recording is finished when it has totals, or when its writer is gone. What the writer did last came before it let
// the lock go, and so is in the file when it is opened again.
Result<void> Shipper::open_reader() {
  reader_ = KEVT_TRY(record::open_recording(path_));
  is_finished_ = !reader_->metadata().totals.empty();
  if (is_finished_ || !reader_->metadata().has_writer_lock || has_writer_lock(lock_.get())) return {};
  reader_ = KEVT_TRY(record::open_recording(path_));
  is_finished_ = true;
  return {};
}

void Shipper::forget() {
  known_.reset();
  tables_.clear();
  streams_.clear();
  numbers_.clear();
  is_known_ = false;
  waiting_ = 0;
}

// Whether the recording is the one that the look before went through, and goes on behind its pages. Events that have
// come since are no matter: they have no table yet.
bool Shipper::go_on() {
  if (!known_ || known_->inode != inode_ || reader_->metadata().identity.id != session_.id) return false;
  std::vector<record::PagePlace> places;
  for (const auto& [stream, mark] : known_->marks) places.push_back(mark.place);
  if (!reader_->begin_at(places)) return false;
  for (auto& [key, table] : tables_) {
    table.in_recording = table.shipped = 0;
    table.seen.assign(streams_.size(), 0);
  }
  numbers_.assign(streams_.size(), 0);  // those without a mark are read from their begin
  for (const auto& [stream, mark] : known_->marks) {
    numbers_[stream] = mark.number;
    for (const auto& [key, seen] : mark.seen) {
      Table& table = tables_[key];
      table.seen[stream] = seen;
      table.in_recording += seen;
      table.shipped += seen;
    }
  }
  marks_ = known_->marks;
  session_.instances = reader_->metadata().instances;
  return true;
}

// Before a record is counted.
void Shipper::mark_page(std::uint32_t stream) {
  const auto place = reader_->page();
  if (!place) return;
  if (stream >= pages_.size()) pages_.resize(stream + 1);
  if (pages_[stream] == place->page) return;
  pages_[stream] = place->page;
  Mark& mark = marks_[stream];
  mark.place = *place;
  mark.number = numbers_[stream];
  for (const auto& [key, table] : tables_)
    if (stream < table.seen.size() && table.seen[stream] != 0) mark.seen[key] = table.seen[stream];
}

Shipper::Table& Shipper::table_of_event(const record::EventFormat& event) {
  Table*& known = by_format_[&event];
  if (known != nullptr) return *known;
  std::string name = table_of(event);
  known = &tables_[{event.system + "/" + event.name, name}];
  known->name = std::move(name);
  return *known;
}

// Under another name or on another server its records would be there twice.
Result<void> Shipper::look_for_others() {
  for (const auto& shard : shards_)
    for (const Session& one : KEVT_TRY(sessions_with(*shard, session_.id))) {
      if (one.host != session_.host || shard.get() != server_)
        return std::unexpected(Error(fmt::format("{}: it was shipped before, as `{}` to {}", path_,
                                                 record::words_of_file(one.host), shard->url()),
                                     EEXIST));
      session_.checkpoint = std::max(session_.checkpoint, one.checkpoint);
      is_known_ = true;
    }
  return {};
}

// What an earlier shipper of this recording has asked for ends first: its rows could come behind our question. From now
// on the recording is there for readers and for the balance, whenever this process ends.
Result<void> Shipper::begin_session() {
  KEVT_TRY(look_for_others());
  KEVT_TRY(server_->stop_queries(query_ids(session_)));
  const auto knows_tokens = server_->knows_tokens();  // who may not ask goes without
  const std::string own = random_id();
  tokens_ = knows_tokens && *knows_tokens && !own.empty() ? Tokens::Known : Tokens::Unknown;
  own_token_ = fmt::format("{}-{}", session_.id, own);
  next_rollups_ = 0;
  if (is_known_) {
    const Address this_one{.servers = {}, .database = {}, .hosts = session_.host, .session = session_.id};
    for (const EventCounts& one : KEVT_TRY(find_counts(*server_, this_one)))
      session_.checkpoint = std::max(session_.checkpoint, one.checkpoint);
    return {};
  }
  const record::Metadata& metadata = reader_->metadata();
  std::vector<SessionEvent> events;
  std::vector<EventCounts> counts;
  session_.checkpoint = utc_ns();
  for (const record::EventFormat& one : metadata.formats.all()) {
    events.push_back({session_.id, one.system, one.name, table_of(one), record::without_names(one),
                      static_cast<std::uint32_t>(events.size())});
    counts.push_back({.session = session_.id,
                      .host = session_.host,
                      .totals = {.event = one.system + "/" + one.name},
                      .table = table_of(one),
                      .checkpoint = session_.checkpoint});
  }
  KEVT_TRY(put_events(*server_, events, session_.host));
  KEVT_TRY(put_counts(*server_, counts));
  return put_session(*server_, session_);
}

// The newest records of a recording that is still written may be in a page that is being written: they come later.
bool Shipper::is_held_back(std::uint32_t stream, std::int64_t time_ns) {
  if (is_finished_) return false;
  if (stream >= held_back_.size()) held_back_.resize(stream + 1);
  held_back_[stream] = held_back_[stream] || time_ns > newest_ns_;
  return held_back_[stream];
}

Result<void> Shipper::make(Table& table, const record::EventFormat& event) {
  table.insert =
      fmt::format("INSERT INTO {}.{} (host, session, {})", server_->database(), table.name, columns_of(event));
  KEVT_TRY(server_->tell(create_table(event, server_->database(), tokens_)));
  KEVT_TRY(learn_highest(table));
  // What an earlier shipper has sent and not counted, wherever it is.
  if (is_known_ && KEVT_TRY(lacks_rollups(*server_, {session_.host, session_.id, table.name})))
    table.not_rolled_up_ns = 0;
  table.is_made = true;
  return {};
}

std::uint32_t Shipper::stream_named(Stream stream) {
  const auto [known, is_new] = streams_.try_emplace(std::move(stream), static_cast<std::uint32_t>(streams_.size()));
  if (is_new) numbers_.push_back(0);
  return known->second;
}

std::uint32_t Shipper::stream_of(const record::TypedRecord& record) {
  const record::Metadata& metadata = reader_->metadata();
  const std::size_t place = std::size_t{record.instance} * metadata.cpus + record.cpu;
  if (place >= stream_by_place_.size()) stream_by_place_.resize(place + 1);
  if (!stream_by_place_[place])
    stream_by_place_[place] = 1 + stream_named({.instance = name_of_instance(record, metadata), .cpu = record.cpu});
  return stream_by_place_[place] - 1;
}

Result<void> Shipper::learn_highest(Table& table) {
  const std::string answer = KEVT_TRY(server_->ask(
      fmt::format("SELECT instance, cpu, max(seq) FROM {}.{} WHERE host = {} AND session = {} GROUP BY instance, cpu "
                  "FORMAT RowBinary",
                  server_->database(), table.name, sql_text(session_.host), sql_text(session_.id))));
  RowReader rows(answer);
  table.highest.assign(streams_.size(), 0);
  while (!rows.at_end()) {
    std::string instance(rows.text());
    const std::uint32_t stream = stream_named({.instance = std::move(instance), .cpu = rows.number<std::uint32_t>()});
    table.highest.resize(std::max<std::size_t>(table.highest.size(), stream + 1));
    table.highest[stream] = rows.number<std::uint64_t>();
  }
  if (!rows.good()) return std::unexpected(Error("the answer of " + server_->url() + " makes no sense"));
  return {};
}

Result<void> Shipper::add(const record::TypedRecord& record) {
  const record::Metadata& metadata = reader_->metadata();
  const std::uint32_t stream = stream_of(record);
  std::int64_t time = 0;
  if (record.time_ns > std::uint64_t{kLatestNs} ||
      __builtin_add_overflow(static_cast<std::int64_t>(record.time_ns), session_.wall_offset_ns, &time) || time < 0 ||
      time > kLatestNs)
    return std::unexpected(Error(path_ + ": a record is of no time between 1970 and 2200", ERANGE));
  if (is_held_back(stream, time)) return {};
  mark_page(stream);
  Table& to = table_of_event(*record.event);
  ++to.in_recording;
  if (stream >= to.seen.size()) to.seen.resize(stream + 1);
  ++to.seen[stream];
  if (!to.is_made) KEVT_TRY(make(to, *record.event));
  const std::uint64_t number = ++numbers_[stream];
  session_.first_ns = session_.first_ns ? std::min(session_.first_ns, time) : time;
  session_.last_ns = std::max(session_.last_ns, time);
  if (stream < to.highest.size() && number <= to.highest[stream]) {
    ++to.shipped;
    return {};
  }
  Batch& batch = to.batch;
  const bool is_full = batch.index.size() >= kMostRowsAtOnce || batch.rows.size() >= kMostBytesAtOnce;
  if (!batch.index.empty() && (is_full || batch.day != time / kDayNs)) KEVT_TRY(send(to));
  batch.day = time / kDayNs;
  to.not_rolled_up_ns = std::min(to.not_rolled_up_ns, time);
  const std::size_t before = batch.rows.size();
  const auto process = metadata.process_of.find(record.pid);
  const std::string place = place_of(record, metadata), instance = name_of_instance(record, metadata);
  const RowHead head{.time_ns = time,
                     .cpu = record.cpu,
                     .seq = number,
                     .instance = instance,
                     .tid = record.pid,
                     .pid = process == metadata.process_of.end() ? 0 : process->second,
                     .comm = record.comm,
                     .container = metadata.container_of(record.thread()),
                     .flags = record.flags(),
                     .preempt_count = record.preempt_count(),
                     .lost_before = record.lost_before,
                     .place = place};
  append_row(*record.event, head, session_.host, session_.id, record.bytes, batch.rows);
  batch.index.push_back({stream, number, batch.rows.size()});
  waiting_ += batch.rows.size() - before;
  if (waiting_ < kMostBytesWaiting) return {};
  const auto largest =
      std::ranges::max_element(tables_, {}, [](const auto& one) { return one.second.batch.rows.size(); });
  return send(largest->second);
}

// The rows that the server has come first: a server takes a batch from its beginning on.
void Shipper::drop_known(Table& table, Batch& batch) {
  Batch left{.rows = {}, .index = {}, .day = batch.day, .token = {}};
  std::size_t begin = 0;
  for (const Batch::Row& row : batch.index) {
    const auto bytes = std::span(batch.rows).subspan(begin, row.end - begin);
    begin = row.end;
    if (row.stream < table.highest.size() && row.number <= table.highest[row.stream]) {
      ++table.shipped;
      continue;
    }
    left.rows.insert(left.rows.end(), bytes.begin(), bytes.end());
    left.index.push_back({row.stream, row.number, left.rows.size()});
  }
  if (left.index.size() == batch.index.size()) left.token = std::move(batch.token);
  batch = std::move(left);
}

// An INSERT that was given up and comes after all, behind the one that took its place, is known by its token.
std::string Shipper::insert_of(const Table& table, Batch& batch) {
  if (tokens_ == Tokens::Unknown) return table.insert + " FORMAT RowBinary";
  if (batch.token.empty()) batch.token = fmt::format("{}-{}", own_token_, ++tokens_given_);
  return fmt::format("{} SETTINGS insert_deduplication_token = '{}' FORMAT RowBinary", table.insert, batch.token);
}

std::string Shipper::next_query_id() { return fmt::format("{}{}", query_ids(session_), ++batches_); }

// Of a batch that the server has, or its first rows, or none of it: the rest stays in it.
Result<void> Shipper::learn_fate(Table& table, Batch& batch) {
  KEVT_TRY(server_->stop_queries(query_ids(session_)));
  KEVT_TRY(learn_highest(table));
  const std::uint64_t before = table.shipped;
  drop_known(table, batch);
  sent_ += table.shipped - before;
  return {};
}

// Nothing is sent again before the server has told what it has.
Result<void> Shipper::insert_again(Table& table, Batch& batch) {
  std::int64_t pause = kFirstPauseNs;
  for (int tries = 1;; ++tries, pause *= 2) {
    const timespec moment = {pause / 1'000'000'000, pause % 1'000'000'000};
    nanosleep(&moment, nullptr);
    auto done = learn_fate(table, batch);
    if (done && !batch.index.empty()) done = server_->insert(insert_of(table, batch), next_query_id(), batch.rows);
    if (done) return {};
    const bool is_stopped = done.error().errno_value() == ECANCELED;
    if (tries < kTries && !is_stopped) continue;
    (void)learn_fate(table, batch);  // for the counts, where it still answers
    return std::unexpected(std::move(done.error()).while_doing("shipping " + path_));
  }
}

// Something else is in the way: what is on its way is counted, and the rest stays in the recording.
void Shipper::give_up() {
  const auto sent = std::exchange(on_its_way_, nullptr);
  if (!sent) return;
  if (!sent->done.get()) return (void)learn_fate(*sent->table, sent->batch);
  sent->table->shipped += sent->batch.index.size();
  sent_ += sent->batch.index.size();
}

Result<void> Shipper::arrive() {
  const auto sent = std::exchange(on_its_way_, nullptr);
  if (!sent) return {};
  Table& table = *sent->table;
  waiting_ -= sent->batch.rows.size();
  if (!sent->done.get()) KEVT_TRY(insert_again(table, sent->batch));
  for (const Batch::Row& row : sent->batch.index) {
    table.highest.resize(std::max<std::size_t>(table.highest.size(), row.stream + 1));
    table.highest[row.stream] = row.number;
  }
  table.shipped += sent->batch.index.size();
  sent_ += sent->batch.index.size();
  return {};
}

Result<void> Shipper::send(Table& table) {
  KEVT_TRY(arrive());
  if (table.batch.index.empty()) return {};
  on_its_way_ = std::make_unique<OnItsWay>(OnItsWay{&table, std::exchange(table.batch, {}), {}});
  on_its_way_->done = std::async(
      std::launch::async, [this, sql = insert_of(table, on_its_way_->batch), query_id = next_query_id(),
                           sent = on_its_way_.get()] { return sender_->insert(sql, query_id, sent->batch.rows); });
  return {};
}

// Another machine's clocks, or those before a restart, would be no help.
Result<void> Shipper::note_clocks() {
  const std::string& boot = reader_->metadata().boot;
  if (boot.empty() || boot != proc::boot_id() || now_ns() < next_clocks_) return {};
  KEVT_TRY(put_clocks(*server_, session_.host, session_.id, read_clocks()));
  next_clocks_ = now_ns() + kBetweenClocksNs;
  return {};
}

bool Shipper::are_rollups_due() const {
  const auto waits = [](const auto& one) { return one.second.not_rolled_up_ns != kLatestNs; };
  return now_ns() >= next_rollups_ && std::ranges::any_of(tables_, waits);
}

Result<void> Shipper::roll_up_news(bool is_whole) {
  if (!is_whole && now_ns() < next_rollups_) return {};
  for (auto& [key, table] : tables_) {
    if (table.not_rolled_up_ns == kLatestNs || session_.first_ns == 0) continue;
    const std::int64_t from = std::max(table.not_rolled_up_ns, session_.first_ns);
    KEVT_TRY(roll_up(*server_, {session_.host, session_.id, table.name}, from, session_.last_ns, next_query_id()));
    table.not_rolled_up_ns = kLatestNs;
  }
  next_rollups_ = now_ns() + kBetweenRollupsNs;
  return {};
}

// What the recording says, and how far we are.
Result<void> Shipper::note_progress(bool is_whole) {
  const record::Metadata& metadata = reader_->metadata();
  // The latest note counts, also where the clock was set back meanwhile.
  const std::int64_t now = std::max(utc_ns(), session_.checkpoint + 1);
  std::map<std::string, EventCounts> all;
  for (const record::EventTotals& one : metadata.totals)
    all[one.event] = {.session = {}, .host = {}, .totals = one, .has_totals = true, .table = {}};
  for (const auto& [key, table] : tables_) {
    EventCounts& counts = all[key.first];
    counts.totals.event = key.first;
    counts.in_recording += table.in_recording;
    counts.shipped += table.shipped;
    counts.table = table.name;
  }
  std::vector<EventCounts> rows;
  for (auto& [event, counts] : all) {
    counts.session = session_.id;
    counts.host = session_.host;
    counts.checkpoint = now;
    rows.push_back(std::move(counts));
  }
  KEVT_TRY(put_counts(*server_, rows));
  KEVT_TRY(note_clocks());
  const auto rolled_up = roll_up_news(is_whole);
  session_.checkpoint = now;
  session_.is_whole = is_whole && rolled_up;
  session_.notes = record::metadata_text(metadata);
  session_.comms = record::comms_text(metadata);
  if (is_whole) KEVT_TRY(put_symbols(*server_, session_, metadata));  // they are in the file since it is finished
  KEVT_TRY(put_session(*server_, session_));
  return rolled_up;
}

// Nothing is noted, as if it had been killed.
std::unexpected<Error> Shipper::stop() {
  give_up();
  known_.reset();
  return std::unexpected(Error(path_ + ": shipping was stopped", ECANCELED));
}

Result<Shipped> Shipper::ship(const std::function<bool()>& is_stopped) {
  KEVT_TRY(open());
  if (!known_) {
    KEVT_TRY(check_schema(*server_));
    KEVT_TRY(begin_session());
  }
  Result<void> done;
  record::TypedRecord record;
  for (std::uint64_t i = 1; done && reader_->next(record); ++i) {
    done = add(record);
    if (i % kLookForStop == 0 && is_stopped()) return stop();
  }
  if (!done && done.error().errno_value() == ECANCELED) return stop();
  while (reader_->next(record)) ++table_of_event(*record.event).in_recording;  // they wait, and are counted
  is_finished_ = is_finished_ || !reader_->metadata().totals.empty();          // NDJSON has them behind its records
  for (auto& [event, table] : tables_)
    if (done) done = send(table);
  if (done) done = arrive();
  give_up();
  Shipped out{.sent_now = sent_,
              .is_held_back = std::ranges::find(held_back_, true) != held_back_.end(),
              .has_writer = !is_finished_ && reader_->metadata().has_writer_lock,
              .problems = reader_->problems()};
  for (const auto& [event, table] : tables_) {
    out.in_recording += table.in_recording;
    out.rows += table.shipped;
  }
  // Totals are written when a recording is finished.
  out.is_whole = done && is_finished_ && !out.is_held_back && out.rows == out.in_recording;
  const bool is_news = !known_ || !done || sent_ != 0 || out.is_whole || are_rollups_due();
  known_.reset();
  const auto noted = is_news ? note_progress(out.is_whole) : Result<void>();
  if (!done) return std::unexpected(done.error());
  if (!noted) return std::unexpected(noted.error());
  if (out.rows == out.in_recording) known_ = Known{.inode = inode_, .marks = std::move(marks_)};
  reader_.reset();
  return out;
}

}  // namespace kevt::fleet
