// A lane for each event of each recording (fleet_lane.h); the one with the earliest row is read. A lane stands in the
// heap with the time from which on it may have rows until it is asked for the first one.
#include "tracefs-compat/fleet/fleet_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tracefs-compat/fleet/address.h"
#include "tracefs-compat/fleet/catalogue.h"
#include "tracefs-compat/fleet/filter_sql.h"
#include "tracefs-compat/fleet/fleet_counts.h"
#include "tracefs-compat/fleet/fleet_lane.h"
#include "tracefs-compat/fleet/meant.h"
#include "tracefs-compat/fleet/shape.h"
#include "tracefs-compat/record/analysis/hist_merge.h"
#include "tracefs-compat/record/metadata_text.h"
#include "tracefs-compat/record/print/trace_line.h"
#include "tracefs-compat/record/problems.h"
#include "tracefs-compat/record/record_filter.h"

namespace kevt::fleet {
namespace {

using record::TypedRecord;

constexpr std::uint32_t kRowsOfPage = 32'768, kRowsInMemory = 1 << 20;
constexpr std::size_t kMostFormats = 0xfff0;

class FleetReader final : public record::RecordReader {
 public:
  explicit FleetReader(Address address) : address_(std::move(address)) {}

  Result<void> open(const std::function<bool()>& is_stopped) {
    Meant meant = KEVT_TRY(find_meant(address_, is_stopped));
    servers_ = std::move(meant.servers);
    note_ = std::move(meant.clock_note);
    if (meant.sessions.size() > record::kMostInstances)
      return std::unexpected(
          Error(fmt::format("{} recordings are meant, more than {}: name hosts or a recording behind the database",
                            meant.sessions.size(), record::kMostInstances)));
    for (MeantSession& one : meant.sessions) sessions_.push_back({std::move(one), 0});
    for (Chosen& one : sessions_) KEVT_TRY(find_notes(*one.server, one.session));
    if (sessions_.size() == 1) {
      describe_one();
    } else {
      describe_several();
    }
    for (const Chosen& one : sessions_) KEVT_TRY(describe_events(one));
    problems_of_opening_ = problems_;
    rewind();
    return {};
  }

  const record::Metadata& metadata() const override { return metadata_; }
  bool adds_metadata() const override { return true; }
  // What a reader of times should know; empty: nothing.
  const std::string& note() const { return note_; }
  const std::vector<std::string>& problems() const override { return problems_.texts(); }

  // Where stacks are, each belongs to the record before it, which must come, too.
  void narrow(const record::Wanted& wanted) override {
    const auto is_of_stacks = [](const Event& one) { return record::is_stack(*one.format); };
    wanted_ = wanted;
    narrows_stacks_ =
        wanted.filters != nullptr && !wanted.filters->keeps_all() && std::ranges::any_of(events_, is_of_stacks);
    if (narrows_stacks_) wanted_.filters = nullptr;
    rewind();
  }

  // Nothing is given before all answers are there.
  Result<bool> give_counts(record::RecordWriter& to) override {
    const std::vector<record::CountWish> wishes = to.count_wishes(record::CountedBy::Database);
    if (wishes.empty() || narrows_stacks_ || !std::ranges::all_of(wishes, &can_count)) return false;
    std::vector<Count> counts;
    for (const record::CountWish& wish : wishes)
      if (!KEVT_TRY(plan_counts(wish, counts))) return false;
    for (Count& one : counts) {
      one.answer = KEVT_TRY(ask_counts(one.question));
      auto buckets = read_buckets(one.answer);
      if (!buckets && buckets.error().errno_value() == EMSGSIZE) return false;
      one.buckets = KEVT_TRY(std::move(buckets));
    }
    for (const Count& one : counts) to.take_counts(*one.question.wish->event, one.buckets, 0);
    return true;
  }

  // Nothing is asked of a server yet.
  void rewind() override {
    lanes_.clear();
    lanes_of_.clear();
    heap_.clear();
    given_ = nullptr;
    has_failed_ = false;
    problems_ = problems_of_opening_;
    const auto rows = static_cast<std::uint32_t>(kRowsInMemory / std::max<std::size_t>(events_.size(), 1));
    for (const Event& one : events_) {
      auto part = part_of(one);
      if (!part) continue;
      lanes_.push_back(std::make_unique<FleetLane>(*one.of->server, one.of->session, *one.format, one.table,
                                                   *std::move(part), std::min(rows, kRowsOfPage)));
      lanes_of_[lanes_.back().get()] = one.of;
      heap_.push_back(lanes_.back().get());
    }
    std::ranges::make_heap(heap_, is_later);
  }

  bool next(TypedRecord& out) override {
    if (FleetLane* const lane = std::exchange(given_, nullptr)) step(*lane);
    while (!heap_.empty() && !has_failed_) {
      std::ranges::pop_heap(heap_, is_later);
      FleetLane& lane = *heap_.back();
      heap_.pop_back();
      if (!lane.is_begun()) {
        step(lane);
        continue;
      }
      given_ = &lane;
      fill(lane, out);
      return true;
    }
    return false;
  }

 private:
  struct Chosen : MeantSession {
    std::uint32_t instance = 0;  // as TypedRecord::instance; 0: the recording's own ones
  };
  struct Event {
    const Chosen* of = nullptr;
    const record::EventFormat* format = nullptr;
    std::string table;
  };

  struct Count {
    CountQuestion question;
    std::string answer;
    std::vector<record::CountedBucket> buckets;  // whose texts are the answer's
  };

  // A question to each server about all recordings there of which the same is wanted, and one about those that are not
  // finished. False: the records themselves are needed.
  Result<bool> plan_counts(const record::CountWish& wish, std::vector<Count>& counts) {
    struct Meant {
      std::string hosts, sessions;
      std::uint64_t rows = 0, recordings = 0;
    };
    const bool is_of_all = (address_.hosts.empty() || address_.hosts == "*") && address_.session.empty();
    std::map<std::pair<Server*, std::string>, std::uint64_t> recordings;  // by server and table
    std::map<std::tuple<Server*, std::string, std::string, bool>, Meant>
        meant;  // by server, table, condition, is_whole
    for (const Event& one : events_) {
      if (one.format != wish.event) continue;
      ++recordings[{one.of->server, one.table}];
      const auto part = part_of(one);
      if (!part) continue;
      if (!part->is_exact) return false;
      const bool is_whole = one.of->session.is_whole;
      Meant& of = meant[{one.of->server, one.table, condition_of(one, *part), is_whole}];
      of.hosts += (of.hosts.empty() ? "" : ", ") + sql_text(one.of->session.host);
      of.sessions += (of.sessions.empty() ? "" : ", ") + sql_text(one.of->session.id);
      ++of.recordings;
      if (is_whole) of.rows += KEVT_TRY(noted_rows(one));
    }
    for (const auto& [where, of] : meant) {
      const auto& [server, table, condition, is_whole] = where;
      counts.push_back(
          {.question = {.wish = &wish,
                        .server = server,
                        .table = address_.database + "." + table,
                        .recordings = fmt::format("host IN ({}) AND session IN ({})", of.hosts, of.sessions),
                        .condition = condition,
                        .rows = is_whole ? std::optional(of.rows) : std::nullopt,
                        .is_of_whole_table = is_of_all && of.recordings == recordings[{server, table}]},
           .answer = {},
           .buckets = {}});
    }
    return true;
  }

  // The part as SQL alone; a lane has its times besides.
  std::string condition_of(const Event& one, const FleetLane::Part& part) const {
    std::string out = part.condition;
    if (wanted_.instance && !one.of->instance) {
      const std::uint32_t instance = *wanted_.instance;
      out += " AND instance = " + sql_text(instance == 0 ? "" : metadata_.instances[instance - 1]);
    }
    if (wanted_.from_ns) out += fmt::format(" AND time >= {}", since_1970(*wanted_.from_ns, *one.of));
    if (wanted_.to_ns) out += fmt::format(" AND time <= {}", since_1970(*wanted_.to_ns, *one.of));
    return out;
  }

  // Records of the event that its recording has, as its shipper noted them.
  Result<std::uint64_t> noted_rows(const Event& one) {
    const auto [known, is_new] = noted_.try_emplace(one.of->server);
    if (is_new)
      for (const EventCounts& counts : KEVT_TRY(find_counts(*one.of->server, address_)))
        known->second[{counts.session, counts.table}] += counts.in_recording;
    return known->second[{one.of->session.id, one.table}];
  }

  // The time of a row of that recording.
  std::int64_t since_1970(std::uint64_t ns, const Chosen& of) const {
    const auto latest = static_cast<std::uint64_t>(kLatestNs);
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::min(ns, latest)) + offset_ns_ - of.shift_ns, 0,
                                    kLatestNs);
  }

  // nullopt: no record of it is wanted.
  std::optional<FleetLane::Part> part_of(const Event& one) const {
    if (wanted_.instance && one.of->instance && one.of->instance != *wanted_.instance) return std::nullopt;
    FleetLane::Part part{.from_ns = one.of->session.first_ns, .shift_ns = one.of->shift_ns};
    if (wanted_.from_ns) part.from_ns = std::max(part.from_ns, since_1970(*wanted_.from_ns, *one.of));
    if (wanted_.to_ns) part.to_ns = since_1970(*wanted_.to_ns, *one.of);
    if (!wanted_.filters) return part;
    const record::RecordFilters::Kept kept = wanted_.filters->kept_of(*one.format);
    if (kept.all) return part;
    if (kept.filters.empty()) return std::nullopt;
    part.condition.clear();
    for (const model::FilterExpr* filter : kept.filters) {
      const SqlCondition condition = sql_of(*filter, *one.format);
      part.condition += (part.condition.empty() ? "(" : " OR ") + condition.text;
      part.is_exact = part.is_exact && condition.is_exact;
    }
    part.condition += ")";
    return part;
  }

  static bool is_later(const FleetLane* a, const FleetLane* b) {
    const std::int64_t at_a = a->key().time_ns + a->shift_ns(), at_b = b->key().time_ns + b->shift_ns();
    return at_a != at_b ? at_a > at_b : a->key() > b->key();
  }

  // To its next row, and back into the heap.
  void step(FleetLane& lane) {
    const auto done = lane.step();
    if (!done) {
      problems_.add(done.error().message());
      has_failed_ = true;  // what follows would have gaps that nobody sees
      return;
    }
    if (lane.at_end()) return;
    heap_.push_back(&lane);
    std::ranges::push_heap(heap_, is_later);
  }

  void describe_one() {
    const Session& one = sessions_.front().session;
    record::read_metadata_text(one.notes, metadata_);
    record::read_comms_text(one.comms, metadata_);
    metadata_.instances = one.instances;
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
      const std::string host = record::words_of_file(session.host);
      metadata_.instances.push_back(of_host[session.host] == 1 ? host : host + "/" + session.id.substr(0, 8));
      one.instance = static_cast<std::uint32_t>(metadata_.instances.size());
      auto own = std::make_shared<record::Metadata>();
      record::read_metadata_text(session.notes, *own);
      record::read_comms_text(session.comms, *own);
      metadata_.origins.push_back(std::move(own));
      describe_machine(session);
    }
    metadata_.wall_offset_ns = 0;
    metadata_.clock = "utc";
    merge_histograms();
  }

  // What hosts have counted at the hit is one table for each event and trigger.
  void merge_histograms() {
    std::vector<record::HistFileTable> tables;
    std::set<std::string_view> goes_on;  // in a recording that has its tables, too
    for (const Chosen& one : sessions_) goes_on.insert(one.session.rest_of);
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
      if (goes_on.contains(sessions_[i].session.id)) continue;
      for (const record::HistogramReading& reading : metadata_.origins[i]->histograms)
        for (record::HistFileTable& table : record::read_hist_file(reading.text)) tables.push_back(std::move(table));
    }
    record::HistogramReading merged;
    for (const record::HistFileTable& table : record::merge_hist_tables(tables)) {
      merged.objects.push_back(record::hist_table_object(table));
      merged.text += (merged.text.empty() ? "" : "\n\n") + record::hist_table_text(table);
    }
    if (!tables.empty()) metadata_.histograms.push_back(std::move(merged));
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
    const auto known = tables_.find(&server);
    if (known != tables_.end()) return known->second.contains(table);
    return tables_.emplace(&server, KEVT_TRY(find_tables(server))).first->second.contains(table);
  }

  void fill(const FleetLane& lane, TypedRecord& out) {
    const RowHead& head = lane.head();
    const Chosen& of = *lanes_of_[&lane];
    out.event = &lane.event();
    out.time_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(head.time_ns + lane.shift_ns() - offset_ns_, 0));
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
  std::string note_;
  record::Wanted wanted_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<Chosen> sessions_;
  std::vector<Event> events_;
  std::map<std::string, const record::EventFormat*> formats_;  // by table
  std::map<const Server*, std::set<std::string>> tables_;
  std::map<const Server*, std::map<std::pair<std::string, std::string>, std::uint64_t>> noted_;  // by session and table
  record::Metadata metadata_;
  std::int64_t offset_ns_ = 0;  // of a row's time to the record's
  record::Problems problems_, problems_of_opening_;
  std::vector<std::unique_ptr<FleetLane>> lanes_;
  std::map<const FleetLane*, const Chosen*> lanes_of_;
  std::vector<FleetLane*> heap_;  // the earliest is the first
  FleetLane* given_ = nullptr;    // its row was handed out
  bool has_failed_ = false;
  bool narrows_stacks_ = false;  // filters are wanted that records of stacks must not be measured by
};

}  // namespace

Result<std::unique_ptr<record::RecordReader>> open_recording(const std::string& path_or_address, std::string* note,
                                                             const std::function<bool()>& is_stopped) {
  if (!is_address(path_or_address)) return record::open_recording(path_or_address);
  auto address = KEVT_TRY(parse_address(path_or_address));
  auto reader = std::make_unique<FleetReader>(std::move(address));
  if (auto opened = reader->open(is_stopped); !opened)
    return std::unexpected(std::move(opened.error()).while_doing("reading " + path_or_address));
  if (note != nullptr) *note = reader->note();
  return reader;
}

}  // namespace kevt::fleet
