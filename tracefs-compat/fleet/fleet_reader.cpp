// A lane for each event of each recording: a page of rows, sorted by the server. The lane with the earliest row is
// read.
//
// A page is asked for by a span of time that is made longer or shorter until a page has some thousand rows: servers
// that sort all rows behind a moment for a LIMIT would otherwise read a table once for each page.
#include "tracefs-compat/fleet/fleet_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "tracefs-compat/fleet/address.h"
#include "tracefs-compat/fleet/catalogue.h"
#include "tracefs-compat/fleet/filter_sql.h"
#include "tracefs-compat/fleet/shape.h"
#include "tracefs-compat/record/metadata_text.h"
#include "tracefs-compat/record/print/trace_line.h"
#include "tracefs-compat/record/problems.h"
#include "tracefs-compat/record/record_filter.h"

namespace kevt::fleet {
namespace {

using record::TypedRecord;

constexpr std::uint32_t kRowsOfPage = 32'768;
constexpr std::int64_t kFirstSpanNs = 1'000'000'000, kShortestSpanNs = 1'000, kLongestSpanNs = 1ll << 56;
constexpr std::size_t kMostFormats = 0xfff0;

// Where a lane's row stands: rows are unique by it.
struct RowKey {
  std::int64_t time_ns = 0;
  std::uint32_t cpu = 0;
  std::string instance;
  std::uint64_t seq = 0;
  auto operator<=>(const RowKey&) const = default;
};

class Lane {
 public:
  // `from`, `to`: what is wanted, since 1970, both included; `condition`: of SQL, on its rows.
  Lane(Server& server, const Session& session, const record::EventFormat& event, std::string table, std::int64_t from,
       std::int64_t to, std::string condition)
      : server_(server),
        session_(session),
        event_(event),
        table_(std::move(table)),
        condition_(std::move(condition)),
        next_from_(from),
        to_(to) {}

  const Session& session() const { return session_; }
  const record::EventFormat& event() const { return event_; }
  const RowHead& head() const { return head_; }
  std::span<const std::uint8_t> record() const { return record_; }
  bool at_end() const { return at_end_; }

  // Goes to the next row.
  Result<void> step() {
    for (;;) {
      if (!rows_ || rows_->at_end()) {
        KEVT_TRY(fetch());
        if (at_end_) return {};
        continue;
      }
      if (!read_row(event_, *rows_, head_, record_))
        return std::unexpected(Error(fmt::format("the rows of {} from {} make no sense", table_, server_.url())));
      ++rows_in_page_;
      RowKey key{head_.time_ns, head_.cpu, std::string(head_.instance), head_.seq};
      if (last_ && key == *last_) continue;  // it was sent twice
      last_ = std::move(key);
      return {};
    }
  }

 private:
  std::string where() const {
    return fmt::format("{}.{} WHERE host = {} AND session = {}", server_.database(), table_, sql_text(session_.host),
                       sql_text(session_.id));
  }

  // The next page with rows.
  Result<void> fetch() {
    while (!at_end_) {
      if (rows_) advance();
      if (rows_ && rows_in_page_ == 0) KEVT_TRY(skip_gap());
      if (at_end_) break;
      end_ = span_ns_ > std::numeric_limits<std::int64_t>::max() - next_from_ ? std::numeric_limits<std::int64_t>::max()
                                                                              : next_from_ + span_ns_;
      std::string sql =
          fmt::format("SELECT {} FROM {} AND time >= {} AND time < {}", columns_of(event_), where(), next_from_, end_);
      if (has_more_)
        sql += fmt::format(" AND (time, cpu, instance, seq) > ({}, {}, {}, {})", last_->time_ns, last_->cpu,
                           sql_text(last_->instance), last_->seq);
      sql += fmt::format(" ORDER BY time, cpu, instance, seq LIMIT {} FORMAT RowBinary", kRowsOfPage);
      page_ = KEVT_TRY(server_.ask(sql));
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
  void advance() {
    has_more_ = rows_in_page_ >= kRowsOfPage;
    if (has_more_) {
      next_from_ = last_->time_ns;
      span_ns_ = std::max(span_ns_ / 2, kShortestSpanNs);
      return;
    }
    next_from_ = end_;
    if (rows_in_page_ < kRowsOfPage / 4) span_ns_ = std::min(span_ns_ * 2, kLongestSpanNs);
  }

  // To the next row, however far it is.
  Result<void> skip_gap() {
    const std::string answer = KEVT_TRY(server_.ask(
        fmt::format("SELECT count(), min(time) FROM {} AND time >= {} FORMAT RowBinary", where(), next_from_)));
    RowReader rows(answer);
    const auto count = rows.number<std::uint64_t>();
    const auto first = rows.number<std::int64_t>();
    if (!rows.good()) return std::unexpected(Error("the answer of " + server_.url() + " makes no sense"));
    at_end_ = count == 0 || first < next_from_;
    next_from_ = first;
    return {};
  }

  Server& server_;
  const Session& session_;
  const record::EventFormat& event_;
  std::string table_, condition_;
  std::int64_t next_from_;  // the next page begins there
  std::int64_t to_;
  std::int64_t span_ns_ = kFirstSpanNs;  // and is so long
  std::int64_t end_ = 0;                 // of this page
  bool has_more_ = false;                // the page was full: its span has more rows
  std::string page_;
  std::optional<RowReader> rows_;
  std::uint32_t rows_in_page_ = 0;  // that were read
  std::optional<RowKey> last_;
  RowHead head_;
  std::vector<std::uint8_t> record_;
  bool at_end_ = false;
};

class FleetReader final : public record::RecordReader {
 public:
  explicit FleetReader(Address address) : address_(std::move(address)) {}

  Result<void> open() {
    const HttpKeys keys = KEVT_TRY(read_keys());
    for (const std::string& url : address_.servers) {
      auto server = KEVT_TRY(Server::make(url, address_.database, keys));
      servers_.push_back(std::make_unique<Server>(std::move(server)));
      KEVT_TRY(check_schema(*servers_.back()));
      for (Session& one : KEVT_TRY(find_sessions(*servers_.back(), address_, true)))
        sessions_.push_back({std::move(one), servers_.back().get(), 0});
    }
    if (sessions_.empty()) return std::unexpected(Error("no recording was shipped there that is meant"));
    if (sessions_.size() > record::kMostInstances)
      return std::unexpected(
          Error(fmt::format("{} recordings are meant, more than {}: name hosts or a recording behind the database",
                            sessions_.size(), record::kMostInstances)));
    if (sessions_.size() == 1)
      describe_one();
    else
      describe_several();
    for (const Chosen& one : sessions_) KEVT_TRY(describe_events(one));
    rewind();
    return {};
  }

  const record::Metadata& metadata() const override { return metadata_; }
  const std::vector<std::string>& problems() const override { return problems_.texts(); }

  // Where stacks are, each belongs to the record before it, which must come, too.
  void narrow(const record::Wanted& wanted) override {
    const auto is_of_stacks = [](const Event& one) { return record::is_stack(*one.format); };
    wanted_ = wanted;
    if (std::ranges::any_of(events_, is_of_stacks)) wanted_.filters = nullptr;
    rewind();
  }

  void rewind() override {
    lanes_.clear();
    lanes_of_.clear();
    heap_.clear();
    given_ = nullptr;
    problems_ = {};
    for (const Event& one : events_) {
      const auto condition = condition_of(one);
      if (!condition) continue;
      const std::int64_t to = wanted_.to_ns ? since_1970(*wanted_.to_ns) : std::numeric_limits<std::int64_t>::max();
      const std::int64_t from = wanted_.from_ns ? since_1970(*wanted_.from_ns) : one.of->session.first_ns;
      lanes_.push_back(std::make_unique<Lane>(*one.of->server, one.of->session, *one.format, one.table,
                                              std::max(from, one.of->session.first_ns), to, *condition));
      lanes_of_[lanes_.back().get()] = one.of;
      step(*lanes_.back());
      if (!lanes_.back()->at_end() && !has_failed_) heap_.push_back(lanes_.back().get());
    }
    std::ranges::make_heap(heap_, is_later);
  }

  bool next(TypedRecord& out) override {
    if (given_) {
      step(*given_);
      if (!given_->at_end() && !has_failed_) {
        heap_.push_back(given_);
        std::ranges::push_heap(heap_, is_later);
      }
      given_ = nullptr;
    }
    if (heap_.empty() || has_failed_) return false;
    std::ranges::pop_heap(heap_, is_later);
    given_ = heap_.back();
    heap_.pop_back();
    fill(*given_, out);
    return true;
  }

 private:
  struct Chosen {
    Session session;
    Server* server = nullptr;
    std::uint32_t instance = 0;  // as TypedRecord::instance; 0: the recording's own ones
  };
  struct Event {
    const Chosen* of = nullptr;
    const record::EventFormat* format = nullptr;
    std::string table;
  };

  std::int64_t since_1970(std::uint64_t ns) const {
    constexpr auto kLatest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() / 2);
    return static_cast<std::int64_t>(std::min(ns, kLatest)) + offset_ns_;
  }

  // nullopt: no record of it is wanted.
  std::optional<std::string> condition_of(const Event& one) const {
    if (wanted_.instance && one.of->instance && one.of->instance != *wanted_.instance) return std::nullopt;
    if (!wanted_.filters) return "1";
    const record::RecordFilters::Kept kept = wanted_.filters->kept_of(*one.format);
    if (kept.all) return "1";
    if (kept.filters.empty()) return std::nullopt;
    std::string any;
    for (const model::FilterExpr* filter : kept.filters)
      any += (any.empty() ? "(" : " OR ") + sql_of(*filter, *one.format);
    return any + ")";
  }

  static bool is_later(const Lane* a, const Lane* b) {
    const auto key = [](const Lane& one) {
      return std::tuple(one.head().time_ns, one.head().cpu, one.head().instance, one.head().seq);
    };
    return key(*a) > key(*b);
  }

  void step(Lane& lane) {
    auto done = lane.step();
    if (done) return;
    problems_.add(done.error().message());
    has_failed_ = true;  // what follows would have gaps that nobody sees
  }

  void describe_one() {
    const Session& one = sessions_.front().session;
    record::read_metadata_text(one.notes, metadata_);
    record::read_comms_text(one.comms, metadata_);
    metadata_.instances = one.instances;
    if (metadata_.instances.size() > record::kMostInstances) metadata_.instances.resize(record::kMostInstances);
    metadata_.wall_offset_ns = one.wall_offset_ns;
    metadata_.clock = one.clock;
    describe_machine(one);
    offset_ns_ = one.wall_offset_ns;
  }

  void describe_several() {
    std::map<std::string, std::size_t> of_host;
    for (const Chosen& one : sessions_) ++of_host[one.session.host];
    for (Chosen& one : sessions_) {
      const Session& session = one.session;
      metadata_.instances.push_back(of_host[session.host] == 1 ? session.host
                                                               : session.host + "/" + session.id.substr(0, 8));
      one.instance = static_cast<std::uint32_t>(metadata_.instances.size());
      auto own = std::make_shared<record::Metadata>();
      record::read_metadata_text(session.notes, *own);
      record::read_comms_text(session.comms, *own);
      metadata_.origins.push_back(std::move(own));
      describe_machine(session);
    }
    metadata_.wall_offset_ns = 0;
    metadata_.clock = "utc";
  }

  void describe_machine(const Session& one) {
    constexpr std::uint32_t kMostCpus = 8192;
    metadata_.host = one.machine;
    metadata_.maker = one.maker;
    metadata_.cpus = std::clamp(one.cpus, metadata_.cpus, kMostCpus);
  }

  // The ids are the reader's own: hosts number their events each for itself. Events of one table are one event.
  Result<void> describe_events(const Chosen& of) {
    for (const SessionEvent& event : KEVT_TRY(find_events(*of.server, of.session.id))) {
      if (metadata_.formats.all().size() >= kMostFormats) {
        problems_.add("events beyond the first 65520 are left out");
        return {};
      }
      auto format = record::parse_format(event.system, event.format);
      if (!format || table_of(*format) != event.table) {
        problems_.add(fmt::format("{}: the format of {}/{} makes no sense", of.session.host, event.system, event.name));
        continue;
      }
      const record::EventFormat*& known = formats_[event.table];
      if (!known) {
        format->id = static_cast<std::uint32_t>(metadata_.formats.all().size()) + 1;
        known = &metadata_.formats.add(std::move(*format));
      }
      const bool has_table = KEVT_TRY(is_there(*of.server, event.table));
      if (has_table) events_.push_back({&of, known, event.table});
    }
    return {};
  }

  // A table is made when the first record comes.
  Result<bool> is_there(Server& server, const std::string& table) {
    auto& known = tables_[&server];
    if (known.empty()) {
      const std::string answer = KEVT_TRY(server.ask(
          fmt::format("SELECT name FROM system.tables WHERE database = {} AND startsWith(name, {}) FORMAT RowBinary",
                      sql_text(server.database()), sql_text(kTablesOfEvents))));
      RowReader rows(answer);
      while (!rows.at_end()) known.emplace(rows.text());
    }
    return known.contains(table);
  }

  void fill(const Lane& lane, TypedRecord& out) {
    const RowHead& head = lane.head();
    const Chosen& of = *lanes_of_[&lane];
    out.event = &lane.event();
    out.time_ns = static_cast<std::uint64_t>(head.time_ns - offset_ns_);
    out.cpu = std::min(head.cpu, metadata_.cpus - 1);
    out.pid = head.tid;
    out.comm = head.comm;
    out.bytes = lane.record();
    out.lost_before = head.lost_before;
    out.instance = of.instance;
    if (of.instance) return;
    const auto own = std::ranges::find(metadata_.instances, head.instance);
    out.instance = head.instance.empty() || own == metadata_.instances.end()
                       ? 0
                       : static_cast<std::uint32_t>(own - metadata_.instances.begin()) + 1;
  }

  Address address_;
  record::Wanted wanted_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<Chosen> sessions_;
  std::vector<Event> events_;
  std::map<std::string, const record::EventFormat*> formats_;  // by table
  std::map<const Server*, std::set<std::string>> tables_;
  record::Metadata metadata_;
  std::int64_t offset_ns_ = 0;  // of a row's time to the record's
  record::Problems problems_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::map<const Lane*, const Chosen*> lanes_of_;
  std::vector<Lane*> heap_;  // the earliest is the first
  Lane* given_ = nullptr;    // its row was handed out
  bool has_failed_ = false;
};

}  // namespace

Result<std::unique_ptr<record::RecordReader>> open_recording(const std::string& path_or_address) {
  if (!is_address(path_or_address)) return record::open_recording(path_or_address);
  auto address = KEVT_TRY(parse_address(path_or_address));
  auto reader = std::make_unique<FleetReader>(std::move(address));
  if (auto opened = reader->open(); !opened)
    return std::unexpected(std::move(opened.error()).while_doing("reading " + path_or_address));
  return reader;
}

}  // namespace kevt::fleet
