// Each recording has a reader of its own, and the one with the earliest record is read. A record's bytes begin with the
// id of its event (common_type), which is replaced where two recordings use one id for two events.
#include "tracefs-compat/record/beside.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <ranges>
#include <span>
#include <utility>

#include "tracefs-compat/record/print/symbolic_format.h"
#include "tracefs-compat/record/problems.h"
#include "tracefs-compat/record/record_filter.h"

namespace kevt::record {

namespace {

constexpr std::size_t kMostFormats = 0xfff0;
constexpr std::string_view kByClock = "clock";

// The format with another id: each machine gives ids by itself.
std::string with_id(std::string_view format, std::uint32_t id) {
  constexpr std::string_view kLead = "\nID: ";
  const std::size_t begin = format.find(kLead);
  const std::size_t end = begin == std::string::npos ? begin : format.find('\n', begin + kLead.size());
  if (end == std::string::npos) return std::string(format);
  return fmt::format("{}{}{}{}", format.substr(0, begin), kLead, id, format.substr(end));
}

// Times of a recording may be anything. The sum of a time and two shifts, each of which is a difference of two times
// and as many seconds as a word may say, has 63 bits.
std::int64_t signed_time(std::uint64_t ns) {
  constexpr std::int64_t kLatest = std::int64_t{1} << 61;
  return static_cast<std::int64_t>(std::min<std::uint64_t>(ns, kLatest));
}

// Seconds with a sign, as nanoseconds.
std::optional<std::int64_t> shift_of(std::string_view word) {
  if (!word.starts_with('+') && !word.starts_with('-')) return std::nullopt;
  char* end = nullptr;
  const std::string text(word);
  const double seconds = std::strtod(text.c_str(), &end);
  constexpr double kMostSeconds = 1e9;
  if (end != text.c_str() + text.size() || !(std::abs(seconds) <= kMostSeconds)) return std::nullopt;
  return static_cast<std::int64_t>(std::llround(seconds * 1e9));
}

class BesideReader final : public RecordReader {
 public:
  Result<void> open(const BesideNames& names) {
    const std::vector<std::string> instances = instance_names(names.files);
    for (std::size_t i = 0; i < names.files.size(); ++i) {
      sides_.push_back({.name = instances[i], .reader = KEVT_TRY(open_recording(names.files[i]))});
      describe(sides_.back());
    }
    if (metadata_.instances.size() > kMostInstances)
      return std::unexpected(
          Error(fmt::format("they have {} instances, more than {}", metadata_.instances.size(), kMostInstances)));
    if (std::ranges::any_of(sides_, [](const Side& side) { return side.reader->metadata().totals.empty(); }))
      metadata_.totals.clear();  // one of them says nothing of its hits
    KEVT_TRY(align(names.alignment));
    rewind();
    return {};
  }

  const Metadata& metadata() const override { return metadata_; }
  bool adds_metadata() const override { return true; }

  std::vector<std::int64_t> shifts() const {
    std::vector<std::int64_t> all;
    for (const Side& side : sides_) all.push_back(side.shift_ns);
    return all;
  }

  bool next(TypedRecord& out) override {
    if (given_ != nullptr) step(*std::exchange(given_, nullptr));
    Side* first = nullptr;
    for (Side& side : sides_)
      if (side.has_record && (first == nullptr || time_of(side) < time_of(*first))) first = &side;
    if (first == nullptr) return false;
    given_ = first;
    out = first->record;
    out.time_ns = static_cast<std::uint64_t>(time_of(*first));
    out.instance += first->first_instance;
    out.event = first->events.at(first->record.event);
    if (out.event->id != first->record.event->id) out.bytes = bytes_with_id(out);
    return true;
  }

  const std::vector<std::string>& problems() const override {
    problems_ = problems_of_opening_.texts();
    for (const Side& side : sides_)
      for (const std::string& one : side.reader->problems()) problems_.push_back(side.name + ": " + one);
    return problems_;
  }

  void rewind() override {
    given_ = nullptr;
    for (Side& side : sides_) {
      side.reader->rewind();
      step(side);
    }
  }

  // Filters know the events of all, and a reader those of its own file.
  void narrow(const Wanted& wanted) override {
    for (Side& side : sides_) {
      const auto own = [&](std::optional<std::uint64_t> ns) -> std::optional<std::uint64_t> {
        if (!ns) return ns;
        return static_cast<std::uint64_t>(std::max<std::int64_t>(signed_time(*ns) - side.shift_ns, 0));
      };
      side.reader->narrow({.from_ns = own(wanted.from_ns), .to_ns = own(wanted.to_ns)});
    }
    rewind();
  }

 private:
  struct Side {
    std::string name;
    std::shared_ptr<RecordReader> reader;
    std::uint32_t first_instance = 0;  // of those that it has here
    std::int64_t shift_ns = 0;         // from its times to those here
    std::map<const EventFormat*, const EventFormat*> events = {};
    TypedRecord record = {};
    bool has_record = false;
  };

  static std::int64_t time_of(const Side& side) {
    return std::max<std::int64_t>(signed_time(side.record.time_ns) + side.shift_ns, 0);
  }

  void step(Side& side) {
    do {
      side.has_record = side.reader->next(side.record);
    } while (side.has_record && !is_known(side));
  }

  // A reader may tell of further events while it reads.
  bool is_known(Side& side) { return side.events.contains(side.record.event) || take_event(side, *side.record.event); }

  void describe(Side& side) {
    const Metadata& own = side.reader->metadata();
    side.first_instance = static_cast<std::uint32_t>(metadata_.instances.size()) + 1;
    metadata_.instances.push_back(side.name);
    for (const std::string& instance : own.instances) metadata_.instances.push_back(side.name + "/" + instance);
    // Where it is itself of several machines, each instance has an origin of its own.
    const std::shared_ptr<const Metadata> whole(side.reader, &own);
    metadata_.origins.push_back(whole);
    for (std::size_t i = 0; i < own.instances.size(); ++i)
      metadata_.origins.push_back(i < own.origins.size() ? own.origins[i] : whole);
    for (const EventFormat& event : own.formats.all()) take_event(side, event);
    if (sides_.size() == 1) {
      metadata_.clock = own.clock;
      metadata_.wall_offset_ns = own.wall_offset_ns;
      metadata_.host = own.host;
      metadata_.maker = own.maker;
    }
    metadata_.cpus = std::max(metadata_.cpus, own.cpus);
    describe_tasks(own);
    for (const std::string& one : own.definitions)
      if (std::ranges::find(metadata_.definitions, one) == metadata_.definitions.end())
        metadata_.definitions.push_back(one);
    for (const EventTotals& one : own.totals) add_totals(one);
  }

  // For formats that know one machine alone. Of a thread, a process or an address that two recordings have, the first
  // one's is kept.
  void describe_tasks(const Metadata& own) {
    metadata_.comms.insert(own.comms.begin(), own.comms.end());
    metadata_.process_of.insert(own.process_of.begin(), own.process_of.end());
    metadata_.processes.insert(own.processes.begin(), own.processes.end());
    for (const Symbol* symbol : own.symbols.all()) metadata_.symbols.add(*symbol);
  }

  void add_totals(const EventTotals& more) {
    const auto known = std::ranges::find(metadata_.totals, more.event, &EventTotals::event);
    if (known == metadata_.totals.end()) return metadata_.totals.push_back(more);
    known->attempts += more.attempts;
    known->recorded += more.recorded;
    known->filtered += more.filtered;
    known->lost += more.lost;
    known->missed += more.missed;
    known->faults += more.faults;
    known->overwritten += more.overwritten;
    known->aggregated += more.aggregated;
    known->sees_misses = known->sees_misses && more.sees_misses;
  }

  // Events with equal formats are one event. False: there are too many.
  bool take_event(Side& side, const EventFormat& event) {
    const std::string text = without_names(event);  // the names of addresses are those of one recording
    const EventFormat*& known = formats_[event.system + "\n" + with_id(text, 0)];
    if (known == nullptr) {
      if (metadata_.formats.all().size() >= kMostFormats) {
        problems_of_opening_.add("events beyond the first 65520 are left out");
        return false;
      }
      const bool is_free = event.id != 0 && metadata_.formats.by_id(event.id) == nullptr;
      auto read = parse_format(event.system, with_id(text, is_free ? event.id : free_id()));
      EventFormat own = read ? *std::move(read) : event;
      known = &metadata_.formats.add(std::move(own));
    }
    side.events[&event] = known;
    return true;
  }

  std::uint32_t free_id() {
    while (metadata_.formats.by_id(next_id_) != nullptr) ++next_id_;
    return next_id_;
  }

  std::span<const std::uint8_t> bytes_with_id(const TypedRecord& record) {
    bytes_.assign(record.bytes.begin(), record.bytes.end());
    const auto id = static_cast<std::uint16_t>(record.event->id);
    if (bytes_.size() >= sizeof id) std::memcpy(bytes_.data(), &id, sizeof id);
    return bytes_;
  }

  struct Times {
    std::uint64_t first = 0;   // of the recording
    std::uint64_t marker = 0;  // of the event; or `first`
  };
  Result<Times> times_of(Side& side, const std::string& event) {
    std::optional<Times> times;
    TypedRecord record;
    side.reader->rewind();
    while (side.reader->next(record)) {
      if (!times) times = {record.time_ns, record.time_ns};
      times->marker = record.time_ns;
      if (event.empty() || is_named(*record.event, event)) return *times;
    }
    if (!times) return Times{};  // nothing stands there
    return std::unexpected(Error(fmt::format("{} has no record of `{}` to align on", side.name, event)));
  }

  Result<void> align(const std::string& alignment) {
    if (alignment == kByClock) return {};
    const std::optional<std::int64_t> later = shift_of(alignment);
    std::vector<Times> times;
    for (Side& side : sides_) times.push_back(KEVT_TRY(times_of(side, later ? std::string() : alignment)));
    std::int64_t earliest = 0;
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      const auto marker = [&](std::size_t of) { return signed_time(times[of].marker); };
      sides_[i].shift_ns = i == 0 ? 0 : marker(0) - marker(i) + later.value_or(0);
      earliest = std::min(earliest, signed_time(times[i].first) + sides_[i].shift_ns);
    }
    // No record is before time 0: all come later instead.
    for (Side& side : sides_) side.shift_ns -= earliest;
    if (metadata_.wall_offset_ns &&
        __builtin_add_overflow(*metadata_.wall_offset_ns, earliest, &*metadata_.wall_offset_ns))
      metadata_.wall_offset_ns.reset();
    return {};
  }

  std::vector<Side> sides_;
  Side* given_ = nullptr;  // its record was handed out
  Metadata metadata_;
  std::map<std::string, const EventFormat*> formats_;  // by system and text without the id
  std::uint32_t next_id_ = 1;
  std::vector<std::uint8_t> bytes_;
  Problems problems_of_opening_;
  mutable std::vector<std::string> problems_;
};

}  // namespace

std::optional<BesideNames> beside_names(const std::string& path) {
  const auto is_there = [](const std::string& file) {
    std::error_code ignored;
    return std::filesystem::exists(file, ignored);
  };
  if (!path.contains(',') || is_there(path)) return std::nullopt;
  BesideNames names;
  for (const auto part : std::views::split(path, ',')) names.files.emplace_back(std::string_view(part));
  std::string& last = names.files.back();
  const std::size_t at = last.rfind('@');
  if (at != std::string::npos && !last.substr(at).contains('/') && !is_there(last)) {
    names.alignment = last.substr(at + 1);
    last.resize(at);
  }
  return names;
}

std::vector<std::string> instance_names(const std::vector<std::string>& files) {
  std::vector<std::string> names;
  for (const std::string& file : files) {
    const std::string name = words_of_file(std::filesystem::path(file).filename().string());
    std::string own = name;
    for (int number = 2; std::ranges::find(names, own) != names.end(); ++number)
      own = fmt::format("{}-{}", name, number);
    names.push_back(std::move(own));
  }
  return names;
}

namespace {

Result<std::unique_ptr<BesideReader>> open_all(const BesideNames& names) {
  if (names.files.size() > kMostBeside)
    return std::unexpected(Error(fmt::format("{} recordings are more than {}", names.files.size(), kMostBeside)));
  auto reader = std::make_unique<BesideReader>();
  KEVT_TRY(reader->open(names));
  return reader;
}

}  // namespace

Result<std::unique_ptr<RecordReader>> open_beside(const BesideNames& names) { return KEVT_TRY(open_all(names)); }

Result<std::vector<std::int64_t>> beside_shifts(const BesideNames& names) {
  return KEVT_TRY(open_all(names))->shifts();
}

}  // namespace kevt::record
