// A static event is on while a perf event of it is open on each CPU. All of a CPU write to one ring:
//
//   dummy event, cpu 0 ── ring 0 ◄── sched_switch on cpu 0, irq_handler_entry on cpu 0, …    (FD_OUTPUT)
//
// Its raw samples are the records that tracefs would hold, common bytes and all, and each event counts its hits and
// what of them was lost. The dummy event tells of forks and of names. Raw samples are padded to 8 bytes: a record may
// be longer than what was written, by zeros or old bytes that no field names. Some events say how much a hit weighs (a
// time): with the period in the sample it is one sample all the same. Hits are what was read and what was lost. Mirrors
// nothing of tracefs; the layout is
// perf_event_open(2)'s.
#include "runtime-user/runtime/bpf/tracepoint_reader.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <utility>

#include "runtime-user/runtime/bpf/array_map.h"

namespace kevt::bpf {

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kMaxComms = 65536;
constexpr std::uint64_t kReadLost = 1u << 4;  // PERF_FORMAT_LOST, since 6.0: our headers may be older

// On `cpu`; its samples go to the ring of `output`, where that is one.
UniqueFd open_perf(perf_event_attr& attributes, unsigned cpu, int output = -1) {
  attributes.size = sizeof attributes;
  attributes.sample_type =
      PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW;
  attributes.exclude_callchain_user = 1;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  attributes.watermark = 1;  // nobody is woken: the reader comes by itself
  attributes.wakeup_watermark = 0x7fffffff;
  const unsigned long flags = PERF_FLAG_FD_CLOEXEC | (output < 0 ? 0 : PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP);
  return UniqueFd(
      static_cast<int>(::syscall(SYS_perf_event_open, &attributes, -1, static_cast<int>(cpu), output, flags)));
}

std::uint64_t lost_of(std::span<const UniqueFd> fds) {
  std::uint64_t sum = 0;
  for (const UniqueFd& fd : fds) {
    std::uint64_t words[2] = {};  // count, lost
    if (::read(fd.get(), words, sizeof words) == sizeof words) sum += words[1];
  }
  return sum;
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
  for (unsigned cpu = 0; cpu < cpus; ++cpu)
    if (auto opened = reader.open_ring(cpu, bytes); !opened) return std::unexpected(std::move(opened.error()));
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
  void* page = ::mmap(nullptr, kPage + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd.get(), 0);
  if (page == MAP_FAILED) return std::unexpected(Error::from_errno("mapping a perf ring"));
  ring.page = static_cast<std::uint8_t*>(page);
  rings_.push_back(std::move(ring));
  return {};
}

Result<std::vector<UniqueFd>> TracepointReader::open_event(std::uint32_t id, bool with_stacks) const {
  std::vector<UniqueFd> fds;
  for (const Ring& ring : rings_) {
    perf_event_attr attributes = {};
    attributes.type = PERF_TYPE_TRACEPOINT;
    attributes.config = id;
    attributes.sample_period = 1;
    attributes.read_format = kReadLost;
    attributes.exclude_callchain_kernel = with_stacks ? 0 : 1;
    UniqueFd fd = open_perf(attributes, ring.cpu, ring.fd.get());
    if (!fd) return std::unexpected(bpf_error("opening event " + std::to_string(id), errno));
    fds.push_back(std::move(fd));
  }
  return fds;
}

// Of an event that is off: parked ones where they are what is wanted, else new ones.
Result<std::vector<UniqueFd>> TracepointReader::wake(std::uint32_t id, std::optional<ParkedEvents::Parked> parked) {
  Event& event = events_[id];
  if (!parked || parked->with_stacks != event.with_stacks) return open_event(id, event.with_stacks);
  for (const UniqueFd& fd : parked->fds)
    if (::ioctl(fd.get(), PERF_EVENT_IOC_ENABLE, 0) != 0)
      return std::unexpected(bpf_error("switching event " + std::to_string(id) + " on", errno));
  event.lost -= std::min(event.lost, lost_of(parked->fds));  // they go on counting
  return std::move(parked->fds);
}

void TracepointReader::park(std::uint32_t id) {
  Event& event = events_[id];
  if (event.fds.empty()) return;
  for (const UniqueFd& fd : event.fds) ::ioctl(fd.get(), PERF_EVENT_IOC_DISABLE, 0);
  event.lost += lost_of(event.fds);
  parked_->park(id, {std::exchange(event.fds, {}), event.with_stacks});
}

// What is parked is taken back before anything is opened: opening waits for closes that are under way, and would wait
// for those that fall due meanwhile.
Result<void> TracepointReader::change(std::span<const std::uint32_t> on, std::span<const std::uint32_t> off) {
  std::vector<std::pair<std::uint32_t, std::optional<ParkedEvents::Parked>>> sleeping;
  for (std::uint32_t id : on)
    if (events_[id].fds.empty()) sleeping.emplace_back(id, parked_->take(id));
  for (std::size_t i = 0; i < sleeping.size(); ++i) {
    auto& [id, parked] = sleeping[i];
    auto fds = wake(id, std::move(parked));
    if (fds) {
      events_[id].fds = *std::move(fds);
      continue;
    }
    for (std::size_t k = 0; k < sleeping.size(); ++k) {
      if (k < i) park(sleeping[k].first);
      if (k > i && sleeping[k].second) parked_->park(sleeping[k].first, *std::move(sleeping[k].second));
    }
    return std::unexpected(std::move(fds.error()));
  }
  for (std::uint32_t id : off) park(id);
  return {};
}

std::size_t TracepointReader::switch_off() {
  for (const auto& [id, event] : events_) park(id);
  return parked_->size();
}

Result<void> TracepointReader::set_stacks(std::uint32_t id, bool wanted) {
  Event& event = events_[id];
  if (event.with_stacks == wanted) return {};
  if (!event.fds.empty()) {
    auto fds = open_event(id, wanted);
    if (!fds) return std::unexpected(std::move(fds.error()));
    for (const UniqueFd& fd : event.fds) ::ioctl(fd.get(), PERF_EVENT_IOC_DISABLE, 0);
    event.lost += lost_of(event.fds);
    event.fds = *std::move(fds);
  }
  event.with_stacks = wanted;
  return {};
}

runtime::EventCounts TracepointReader::counts(std::uint32_t id) const {
  const auto it = events_.find(id);
  if (it == events_.end()) return {};
  const std::uint64_t lost = it->second.lost + lost_of(it->second.fds);
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

// header, time, cpu, period, number of addresses and they, size of the raw bytes and they.
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
