// A static event is on while a perf event of it is open on each CPU. All of a CPU write to one ring:
//
//   dummy event, cpu 0 ── ring 0 ◄── sched_switch on cpu 0, irq_handler_entry on cpu 0, …    (FD_OUTPUT)
//
// Events that are switched on together are a group (event_group.h). Raw samples are the records that tracefs would
// hold, common bytes and all, and each event counts its hits and what of them was lost. The dummy event tells of forks
// and of names. Raw samples are padded to 8 bytes: a record may be longer than what was written, by zeros or old bytes
// that no field names. Some events say how much a hit weighs (a time): with the period in the sample it is one sample
// all the same. Hits are what was read and what was lost. Mirrors nothing of tracefs; the layout is
// perf_event_open(2)'s.
#include "runtime-user/runtime/bpf/tracepoint_reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include "common/page.h"
#include "runtime-user/runtime/bpf/array_map.h"

namespace kevt::bpf {

namespace {

constexpr std::size_t kMaxComms = 65536;
constexpr std::size_t kGroupEvents = 128;     // the kernel goes through a whole group for each event that joins it
constexpr std::uint64_t kReadLost = 1u << 4;  // PERF_FORMAT_LOST, since 6.0: our headers may be older

// The event to whose ring samples go, and whether it also leads the new one.
struct Output {
  int fd = -1;  // none: the event has a ring of its own
  bool leads = false;
};

UniqueFd open_perf(perf_event_attr& attributes, unsigned cpu, Output output = {}) {
  attributes.size = sizeof attributes;
  attributes.sample_type =
      PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW;
  attributes.exclude_callchain_user = 1;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  attributes.watermark = 1;  // nobody is woken: the reader comes by itself
  attributes.wakeup_watermark = 0x7fffffff;
  unsigned long flags = PERF_FLAG_FD_CLOEXEC;
  if (output.fd >= 0) flags |= PERF_FLAG_FD_OUTPUT | (output.leads ? 0 : PERF_FLAG_FD_NO_GROUP);
  return UniqueFd(
      static_cast<int>(::syscall(SYS_perf_event_open, &attributes, -1, static_cast<int>(cpu), output.fd, flags)));
}

std::uint64_t lost_of(std::span<const UniqueFd> fds) {
  std::uint64_t sum = 0;
  for (const UniqueFd& fd : fds) {
    std::uint64_t words[2] = {};  // count, lost
    if (::read(fd.get(), words, sizeof words) == sizeof words) sum += words[1];
  }
  return sum;
}

// Runs in the forked child of a process with threads, so it makes system calls alone. Ends when nobody holds the other
// end of `ended`; the kernel closes the rest then.
[[noreturn]] void close_in_child(const std::vector<int>& kept, int ended) {
  ::setpgid(0, 0);  // no session: see session/supervisor.cpp
  unsigned next = 0;
  for (const int fd : kept) {
    if (static_cast<unsigned>(fd) > next) ::syscall(SYS_close_range, next, static_cast<unsigned>(fd) - 1, 0);
    next = static_cast<unsigned>(fd) + 1;
  }
  ::syscall(SYS_close_range, next, ~0u, 0);
  char nothing;
  while (::read(ended, &nothing, 1) < 0 && errno == EINTR) {
  }
  ::_exit(0);
}

template <class T>
T word_at(std::span<const std::uint8_t> bytes, std::size_t offset) {
  T word = {};
  if (offset + sizeof word <= bytes.size()) std::memcpy(&word, bytes.data() + offset, sizeof word);
  return word;
}

}  // namespace

Result<TracepointReader> TracepointReader::create(unsigned cpus, std::uint32_t bytes) {
  TracepointReader reader;
  for (unsigned cpu = 0; cpu < cpus; ++cpu) KEVT_TRY(reader.open_ring(cpu, bytes));
  if (reader.rings_.empty()) return std::unexpected(Error("no CPU takes perf events", ENODEV));
  return reader;
}

TracepointReader::~TracepointReader() {
  events_.clear();
  for (Ring& ring : rings_)
    if (ring.page) ::munmap(ring.page, kPage + ring.bytes);
}

// A CPU that is not there, or offline, has no ring.
Result<void> TracepointReader::open_ring(unsigned cpu, std::uint32_t bytes) {
  perf_event_attr attributes = {};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.comm = 1;
  attributes.task = 1;
  Ring ring{.cpu = cpu, .fd = open_perf(attributes, cpu), .bytes = bytes};
  if (!ring.fd && (errno == ENODEV || errno == ENXIO)) return {};
  if (!ring.fd) return std::unexpected(bpf_error("opening a perf event", errno));
  KEVT_TRY(map(ring));
  rings_.push_back(std::move(ring));
  return {};
}

Result<void> TracepointReader::map(Ring& ring) {
  void* page = ::mmap(nullptr, kPage + ring.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd.get(), 0);
  ring.page = page == MAP_FAILED ? nullptr : static_cast<std::uint8_t*>(page);
  return ring.page ? Result<void>() : std::unexpected(Error::from_errno("mapping a perf ring"));
}

// A ring that cannot be mapped (RLIMIT_MEMLOCK) is not read: what is in it counts as lost.
void TracepointReader::let_go_in_copy() {
  parked_->let_go_in_copy();
  for (Ring& ring : rings_) (void)map(ring);
}

// A leader writes to its CPU's ring, and so do the events that are opened under it.
Result<std::shared_ptr<EventGroup>> TracepointReader::open_group() const {
  std::vector<UniqueFd> leaders;
  for (const Ring& ring : rings_) {
    perf_event_attr attributes = {};
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_DUMMY;
    attributes.disabled = 1;
    UniqueFd fd = open_perf(attributes, ring.cpu, {.fd = ring.fd.get(), .leads = false});
    if (!fd) return std::unexpected(bpf_error("opening a perf event", errno));
    leaders.push_back(std::move(fd));
  }
  return std::make_shared<EventGroup>(std::move(leaders));
}

Result<OpenEvent> TracepointReader::open_event(std::uint32_t id, std::shared_ptr<EventGroup> group,
                                               bool with_stacks) const {
  OpenEvent event{.group = std::move(group), .fds = {}, .with_stacks = with_stacks};
  for (std::size_t ring = 0; ring < rings_.size(); ++ring) {
    perf_event_attr attributes = {};
    attributes.type = PERF_TYPE_TRACEPOINT;
    attributes.config = id;
    attributes.sample_period = 1;
    attributes.read_format = kReadLost;
    attributes.exclude_callchain_kernel = with_stacks ? 0 : 1;
    UniqueFd fd = open_perf(attributes, rings_[ring].cpu, {.fd = event.group->leader(ring), .leads = true});
    if (!fd) return std::unexpected(bpf_error("opening event " + std::to_string(id), errno));
    event.fds.push_back(std::move(fd));
  }
  return event;
}

// Opens events in new groups, which are off.
Result<std::vector<TracepointReader::Woken>> TracepointReader::open_all(std::span<const std::uint32_t> ids) {
  std::vector<Woken> opened;
  std::shared_ptr<EventGroup> group;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    Result<void> done;
    if (i % kGroupEvents == 0) {
      auto made = open_group();
      if (made)
        group = *std::move(made);
      else
        done = std::unexpected(std::move(made.error()));
    }
    if (done) {
      auto event = open_event(ids[i], group, events_[ids[i]].with_stacks);
      if (event)
        opened.push_back({ids[i], *std::move(event)});
      else
        done = std::unexpected(std::move(event.error()));
    }
    if (done) continue;
    park_all(opened);  // closing them now would take its time
    return std::unexpected(std::move(done.error()));
  }
  return opened;
}

// Switches on events whose groups are off. Other events of these groups stay off.
Result<void> TracepointReader::wake_together(std::vector<Woken>& all) {
  std::set<EventGroup*> groups;
  for (const Woken& one : all) groups.insert(one.event.group.get());
  for (const EventGroup* group : groups) parked_->disarm(*group);
  for (Woken& one : all) KEVT_TRY(one.event.arm());
  for (EventGroup* group : groups)
    if (auto done = group->switch_on(); !done) {
      for (EventGroup* one : groups) one->switch_off();
      return done;
    }
  for (Woken& one : all) {
    Event& event = events_[one.id];
    event.lost -= std::min(event.lost, lost_of(one.event.fds));  // they go on counting
    event.open = std::move(one.event);
  }
  return {};
}

void TracepointReader::park_all(std::vector<Woken>& all) {
  for (Woken& one : all) parked_->park(one.id, std::move(one.event));
  all.clear();
}

// A group of which no event stays on is switched off in one step, and can be woken in one.
void TracepointReader::park_all(std::span<const std::uint32_t> ids) {
  std::map<EventGroup*, std::ptrdiff_t> stay_on;
  for (const auto& [id, event] : events_)
    if (event.open.is_open()) ++stay_on[event.open.group.get()];
  for (std::uint32_t id : ids)
    if (const OpenEvent& open = events_[id].open; open.is_open()) --stay_on[open.group.get()];
  for (const auto& [group, events] : stay_on)
    if (events == 0) group->switch_off();
  for (std::uint32_t id : ids) {
    Event& event = events_[id];
    if (!event.open.is_open()) continue;
    if (event.open.group->is_on()) event.open.disarm();
    event.lost += lost_of(event.open.fds);
    parked_->park(id, std::exchange(event.open, {}));
  }
}

// What is parked is taken back before anything is opened: opening waits for closes that are under way, and would wait
// for those that fall due meanwhile. An event whose group is on is not taken back: opening another is cheaper
// (OpenEvent::arm).
Result<void> TracepointReader::change(std::span<const std::uint32_t> on, std::span<const std::uint32_t> off) {
  std::vector<Woken> woken;
  std::vector<std::uint32_t> to_open;
  for (std::uint32_t id : on) {
    if (events_[id].open.is_open()) continue;
    auto parked = parked_->take(id);
    if (parked && parked->with_stacks == events_[id].with_stacks && !parked->group->is_on()) {
      woken.push_back({id, *std::move(parked)});
      continue;
    }
    if (parked) parked_->park(id, *std::move(parked));
    to_open.push_back(id);
  }
  auto opened = open_all(to_open);
  if (!opened) {
    park_all(woken);
    return std::unexpected(std::move(opened.error()));
  }
  std::ranges::move(*opened, std::back_inserter(woken));
  if (auto done = wake_together(woken); !done) {
    park_all(woken);
    return done;
  }
  park_all(off);
  return {};
}

std::size_t TracepointReader::switch_off() {
  std::vector<std::uint32_t> all;
  for (const auto& [id, event] : events_) all.push_back(id);
  park_all(all);
  return parked_->size();
}

// The other process has copies of the descriptors, so that ours are not the last ones to be closed. It closes
// everything else at once, and the copies when this process, the only one that can write to the pipe, has ended.
pid_t TracepointReader::close_behind() {
  parked_->disarm();  // leaders go first
  std::vector<int> kept;
  parked_->add_descriptors(kept);
  int ends[2] = {-1, -1};
  if (kept.empty() || ::pipe2(ends, O_CLOEXEC) != 0) return 0;
  const UniqueFd ended(ends[0]);
  lives_ = UniqueFd(ends[1]);
  kept.push_back(ended.get());
  std::ranges::sort(kept);
  const pid_t closer = ::fork();
  if (closer == 0) close_in_child(kept, ended.get());
  return std::max(closer, 0);
}

// perf cannot change what a sample holds: new events are opened, which take over from the old ones. No hit is seen
// twice, and what is hit in between is not seen.
Result<void> TracepointReader::set_stacks(std::span<const std::uint32_t> ids, bool wanted) {
  std::vector<std::uint32_t> changed, open;
  for (const std::uint32_t id : ids) {
    Event& event = events_[id];
    if (std::exchange(event.with_stacks, wanted) == wanted) continue;
    changed.push_back(id);
    if (event.open.is_open()) open.push_back(id);
  }
  const auto refused = [&](Error error) {
    for (const std::uint32_t id : changed) events_[id].with_stacks = !wanted;
    return std::unexpected(std::move(error));
  };
  if (open.empty()) return {};
  auto opened = open_all(open);
  if (!opened) return refused(std::move(opened.error()));
  std::vector<Woken> before;
  for (const std::uint32_t id : open) {
    Event& event = events_[id];
    event.open.disarm();
    event.lost += lost_of(event.open.fds);
    before.push_back({id, std::exchange(event.open, {})});
  }
  auto done = wake_together(*opened);
  if (done) {
    park_all(before);
    return {};
  }
  for (Woken& one : before) {
    Event& event = events_[one.id];
    event.lost -= std::min(event.lost, lost_of(one.event.fds));
    event.open = std::move(one.event);
    (void)event.open.arm();
  }
  park_all(*opened);
  return refused(std::move(done.error()));
}

runtime::EventCounts TracepointReader::counts(std::uint32_t id) const {
  const auto it = events_.find(id);
  if (it == events_.end()) return {};
  const std::uint64_t lost = it->second.lost + lost_of(it->second.open.fds);
  return {.attempts = it->second.read + lost, .recorded = it->second.read, .lost = lost};
}

// ---- names of threads -----------------------------------------------------------------------

void TracepointReader::note_task(std::span<const std::uint8_t> record, std::uint32_t type) {
  if (comms_.size() >= kMaxComms) comms_.clear();
  if (type == PERF_RECORD_COMM) {  // pid, tid, comm
    const auto tid = word_at<std::int32_t>(record, 12);
    const auto* text = reinterpret_cast<const char*>(record.data()) + 16;
    if (record.size() > 16)
      comms_[tid] = std::string(text, strnlen(text, std::min<std::size_t>(record.size() - 16, 16)));
    return;
  }
  // fork: pid, ppid, tid, ptid
  const auto child = word_at<std::int32_t>(record, 16), parent = word_at<std::int32_t>(record, 20);
  if (on_fork_) on_fork_(parent, child);
  std::string name = comm_of(parent);
  comms_[child] = std::move(name);
}

const std::string& TracepointReader::comm_of(std::int32_t tid) {
  const auto [it, is_new] = comms_.try_emplace(tid);
  if (!is_new) return it->second;
  if (tid == 0) return it->second = "swapper";
  std::ifstream file("/proc/" + std::to_string(tid) + "/comm");
  std::getline(file, it->second);
  return it->second;
}

// ---- records --------------------------------------------------------------------------------

// A sample: header, time, cpu, period, number of addresses, the addresses, size of the raw bytes, the raw bytes.
void TracepointReader::take_sample(std::span<const std::uint8_t> record, const std::function<void(const Hit&)>& take) {
  constexpr std::size_t kChain = 32;
  const std::size_t addresses = std::min<std::uint64_t>(word_at<std::uint64_t>(record, kChain), record.size() / 8);
  const std::size_t raw = kChain + 8 + 8 * addresses + 4;
  if (raw + 8 > record.size()) return;
  const std::size_t size = std::min<std::size_t>(word_at<std::uint32_t>(record, raw - 4), record.size() - raw);
  const auto bytes = record.subspan(raw, size);
  ++events_[word_at<std::uint16_t>(bytes, 0)].read;
  Hit hit{.time_ns = word_at<std::uint64_t>(record, 8),
          .cpu = word_at<std::uint32_t>(record, 16),
          .comm = comm_of(word_at<std::int32_t>(bytes, 4)),
          .bytes = bytes,
          .stack = {}};
  constexpr std::uint64_t kMarks = ~std::uint64_t{4095};  // PERF_CONTEXT_…: whose addresses follow
  for (std::size_t i = 0; i < addresses; ++i)
    if (const auto address = word_at<std::uint64_t>(record, kChain + 8 + 8 * i); address < kMarks)
      hit.stack.push_back(address);
  take(hit);
}

std::size_t TracepointReader::drain_ring(Ring& ring, const std::function<void(const Hit&)>& take) {
  if (!ring.page) return 0;
  auto* head = reinterpret_cast<perf_event_mmap_page*>(ring.page);
  const std::uint64_t end = std::atomic_ref(*reinterpret_cast<std::uint64_t*>(&head->data_head)).load();
  std::uint64_t at = head->data_tail;
  const std::uint8_t* data = ring.page + kPage;
  std::size_t count = 0;
  while (at < end) {
    perf_event_header header;
    const std::uint64_t begin = at & (ring.bytes - 1);
    std::memcpy(&header, data + begin, sizeof header);  // 8 bytes never wrap
    if (header.size < sizeof header) break;
    std::span<const std::uint8_t> record(data + begin, header.size);
    if (begin + header.size > ring.bytes) {
      piece_.resize(header.size);
      const std::size_t first = ring.bytes - begin;
      std::memcpy(piece_.data(), data + begin, first);
      std::memcpy(piece_.data() + first, data, header.size - first);
      record = piece_;
    }
    if (header.type == PERF_RECORD_COMM || header.type == PERF_RECORD_FORK) note_task(record, header.type);
    if (header.type == PERF_RECORD_SAMPLE) {
      take_sample(record, take);
      ++count;
    }
    at += header.size;
  }
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(&head->data_tail)).store(at);
  return count;
}

std::size_t TracepointReader::drain(const std::function<void(const Hit&)>& take) {
  std::size_t count = 0;
  for (Ring& ring : rings_) count += drain_ring(ring, take);
  return count;
}

}  // namespace kevt::bpf
