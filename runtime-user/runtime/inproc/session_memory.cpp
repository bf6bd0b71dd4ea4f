// Layout of the shared memory, in file order:
//
//   kevt_shared | owners | words | address map | counter shards | ring 0 | ring 1 …
//
// Everything up to the rings is mapped in one piece. A ring is its head page and its data; in
// memory the data follows once more, so ring i starts at rings_at + i * (head + 2 * data).
//
// The reader zeroes what it has consumed: a header word of 0 means "not committed yet", whatever
// stood there a lap ago. Positions never wrap (64 bits of bytes).
#include "runtime-user/runtime/inproc/session_memory.h"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cstring>
#include <fstream>

#include "common/assert.h"

namespace kevt::inproc {

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr unsigned long kHwcap2Fsgsbase = 1u << 1;  // HWCAP2_FSGSBASE, arch/x86/include/uapi/asm/hwcap2.h
std::uint64_t page_up(std::uint64_t bytes) { return (bytes + kPage - 1) & ~(kPage - 1); }

template <class T>
T load_acquire(const T& word) {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

}  // namespace

std::uint32_t possible_cpus() {
  std::ifstream file("/sys/devices/system/cpu/possible");
  std::string text;
  std::getline(file, text);  // "0-7" or "0" or "0-3,8-11"
  const auto last = text.find_last_of(",-");
  const std::string number = last == std::string::npos ? text : text.substr(last + 1);
  char* end = nullptr;
  const unsigned long highest = std::strtoul(number.c_str(), &end, 10);
  if (end != number.c_str() && highest < 4096) return static_cast<std::uint32_t>(highest + 1);
  return static_cast<std::uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_CONF)));
}

Result<SessionMemory> SessionMemory::create(const SessionOptions& options) {
  KEVT_ASSERT(std::has_single_bit(options.ring_bytes) && options.ring_bytes >= 65536);
  if (options.rows > KEVT_MAX_ROWS) return std::unexpected(Error("more events than one session holds"));
  SessionMemory memory;
  memory.options_ = options;
  memory.ring_count_ = possible_cpus();
  memory.owners_at_ = page_up(sizeof(kevt_shared));
  memory.words_at_ = memory.owners_at_ + page_up(sizeof(kevt_shard_owner) * KEVT_MAX_SHARDS);
  memory.map_at_ = memory.words_at_ + page_up(8 * KEVT_SHARED_WORDS);
  memory.counts_at_ = memory.map_at_ + page_up(sizeof(kevt_map_entry) * KEVT_MAP_SLOTS);
  memory.shard_bytes_ = page_up(sizeof(kevt_counts) * options.rows);
  memory.ring_stride_ = KEVT_RING_HEADER + 2 * options.ring_bytes;
  memory.rings_at_ = memory.counts_at_ + memory.shard_bytes_ * KEVT_MAX_SHARDS;

  memory.plan_.push_back({0, 0, memory.rings_at_});
  std::uint64_t at = memory.rings_at_, file_at = memory.rings_at_;
  for (std::uint32_t cpu = 0; cpu < memory.ring_count_; ++cpu) {
    memory.plan_.push_back({at, file_at, KEVT_RING_HEADER + options.ring_bytes});
    memory.plan_.push_back(
        {at + KEVT_RING_HEADER + options.ring_bytes, file_at + KEVT_RING_HEADER, options.ring_bytes});
    at += KEVT_RING_HEADER + 2 * options.ring_bytes;
    file_at += KEVT_RING_HEADER + options.ring_bytes;
  }
  memory.span_ = at;

  memory.fd_ = UniqueFd(memfd_create("kevtrace", MFD_CLOEXEC));
  if (!memory.fd_ || ftruncate(memory.fd_.get(), static_cast<off_t>(file_at)) < 0)
    return std::unexpected(Error::from_errno("shared memory"));
  void* local = mmap(nullptr, memory.span_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (local == MAP_FAILED) return std::unexpected(Error::from_errno("address space for the rings"));
  memory.local_ = static_cast<std::uint8_t*>(local);
  for (const MapPiece& piece : memory.plan_) {
    void* mapped = mmap(memory.local_ + piece.at, piece.length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                        memory.fd_.get(), static_cast<off_t>(piece.file_offset));
    if (mapped == MAP_FAILED) return std::unexpected(Error::from_errno("mapping the rings"));
  }
  for (std::uint32_t cpu = 0; cpu < memory.ring_count_; ++cpu) {
    memory.ring(cpu).limit = options.ring_bytes;
    memory.ring(cpu).mark = std::uint64_t{cpu} << KEVT_RECORD_RING_SHIFT;
  }
  kevt_shared& shared = memory.shared();
  shared.version = KEVT_ABI_VERSION;
  shared.ring_count = memory.ring_count_;
  shared.ring_stride = memory.ring_stride_;
  shared.ring_bytes = options.ring_bytes;
  shared.shard_bytes = memory.shard_bytes_;
  shared.next_shard = 1;  // shard 0 is everybody's
  shared.has_fsgsbase = getauxval(AT_HWCAP2) & kHwcap2Fsgsbase ? 1 : 0;
  return memory;
}

SessionMemory::SessionMemory(SessionMemory&& other) noexcept
    : fd_(std::move(other.fd_)),
      local_(std::exchange(other.local_, nullptr)),
      span_(other.span_),
      plan_(std::move(other.plan_)),
      target_(other.target_),
      options_(other.options_),
      ring_count_(other.ring_count_),
      ring_stride_(other.ring_stride_),
      shard_bytes_(other.shard_bytes_),
      owners_at_(other.owners_at_),
      words_at_(other.words_at_),
      map_at_(other.map_at_),
      counts_at_(other.counts_at_),
      rings_at_(other.rings_at_),
      rows_used_(other.rows_used_) {}

SessionMemory::~SessionMemory() {
  if (local_) munmap(local_, span_);
}

void SessionMemory::set_target(RemoteAddr base, RemoteAddr priv, RemoteAddr index) {
  target_ = base;
  kevt_shared& head = shared();
  head.self = base.value;
  head.priv = priv.value;
  head.index = index.value;
  head.selves = index.value + kIndexBytes;
  head.owners = base.value + owners_at_;
  head.map = base.value + map_at_;
  head.counts = base.value + counts_at_;
  head.rings = base.value + rings_at_;
}

Result<SessionMemory::EventBlock> SessionMemory::add_event(kevt_event* event, RemoteAddr there, std::uint32_t sinks) {
  if (rows_used_ + sinks > options_.rows) return std::unexpected(Error("no room for another event in this session"));
  const auto row = static_cast<std::uint32_t>(rows_used_ * sizeof(kevt_counts));
  *event = {};
  event->shared = target_.value;
  event->rings = shared().rings;
  event->ring_stride = ring_stride_;
  event->ring_mask = options_.ring_bytes - 1;
  event->row_offset = row;
  event->sink_count = sinks;
  event->services = shared().services;
  set_gates(*event, 0);
  rows_used_ += sinks;
  __atomic_store_n(&shared().used_rows, rows_used_, __ATOMIC_RELEASE);
  return EventBlock{event, there, row};
}

void set_gates(kevt_event& event, std::uint32_t gates) {
  __atomic_store_n(&event.enters_slowly, event.maxactive || event.argument_count || !gates ? 1 : 0, __ATOMIC_RELAXED);
  __atomic_store_n(&event.gates, gates, __ATOMIC_RELEASE);
}

Result<void> SessionMemory::map_address(RemoteAddr key, RemoteAddr value) {
  auto* map = reinterpret_cast<kevt_map_entry*>(local_ + map_at_);
  std::uint32_t i = static_cast<std::uint32_t>((key.value * KEVT_HASH_MULTIPLIER) >> 32) & (KEVT_MAP_SLOTS - 1);
  for (std::uint32_t n = 0; n < KEVT_MAP_SLOTS / 2; ++n, i = (i + 1) & (KEVT_MAP_SLOTS - 1)) {
    if (map[i].key && map[i].key != key.value) continue;
    __atomic_store_n(&map[i].value, value.value, __ATOMIC_RELEASE);
    __atomic_store_n(&map[i].key, key.value, __ATOMIC_RELEASE);
    return {};
  }
  return std::unexpected(Error("the address map is full"));
}

kevt_counts SessionMemory::counts(std::uint32_t row_offset) const {
  kevt_counts sum{};
  const std::uint64_t shards = std::min<std::uint64_t>(load_acquire(shared().next_shard), KEVT_MAX_SHARDS);
  for (std::uint64_t shard = 0; shard < shards; ++shard) {
    const auto& row = *reinterpret_cast<const kevt_counts*>(local_ + counts_at_ + shard * shard_bytes_ + row_offset);
    sum.recorded += load_acquire(row.recorded);
    sum.filtered += load_acquire(row.filtered);
    sum.lost += load_acquire(row.lost);
    sum.missed += load_acquire(row.missed);
    sum.faults += load_acquire(row.faults);
    sum.hits += load_acquire(row.hits) + load_acquire(row.missed);
  }
  return sum;
}

std::span<std::uint64_t> SessionMemory::words() const {
  return {reinterpret_cast<std::uint64_t*>(local_ + words_at_), KEVT_SHARED_WORDS};
}

std::span<const kevt_shard_owner> SessionMemory::owners() const {
  const std::uint32_t notes = __atomic_load_n(&shared().next_owner, __ATOMIC_ACQUIRE);
  return {reinterpret_cast<const kevt_shard_owner*>(local_ + owners_at_),
          std::min<std::size_t>(notes, KEVT_MAX_SHARDS)};
}

// ---- rings ----------------------------------------------------------------------------------

kevt_ring& SessionMemory::ring(std::uint32_t cpu) const {
  return *reinterpret_cast<kevt_ring*>(local_ + rings_at_ + cpu * ring_stride_);
}
std::uint8_t* SessionMemory::ring_data(std::uint32_t cpu) const {
  return reinterpret_cast<std::uint8_t*>(&ring(cpu)) + KEVT_RING_HEADER;
}

bool SessionMemory::has_records() const {
  for (std::uint32_t cpu = 0; cpu < ring_count_; ++cpu)
    if (load_acquire(ring(cpu).head) != ring(cpu).tail) return true;
  return false;
}

// Up to `position`.
void SessionMemory::give_back(kevt_ring& ring, std::uint64_t position) const {
  __atomic_store_n(&ring.tail, position, __ATOMIC_RELEASE);
  __atomic_store_n(&ring.limit, position + options_.ring_bytes, __ATOMIC_RELEASE);
}

// The ring is memory of a hostile process: every length is checked against what was reserved.
std::size_t SessionMemory::drain_ring(std::uint32_t cpu, const std::function<void(const RawRecord&)>& use) {
  kevt_ring& r = ring(cpu);
  const std::uint64_t mask = options_.ring_bytes - 1;
  const std::uint64_t head = load_acquire(r.head);
  std::uint64_t at = r.tail;
  std::size_t count = 0;
  if (head - at > options_.ring_bytes) return 0;  // nonsense: nothing of it can be trusted
  while (at != head) {
    auto* record = reinterpret_cast<kevt_record*>(ring_data(cpu) + (at & mask));
    const std::uint64_t word = load_acquire(record->word);
    if (word == 0 || !KEVT_RECORD_IS_AT(word, at)) break;
    const std::uint64_t length = KEVT_RECORD_PAYLOAD(word), size = KEVT_RECORD_ROOM(length);
    if (size < sizeof(kevt_record) + length || size > head - at) break;
    if (!(word & KEVT_RECORD_DISCARDED)) {
      use({record->tsc, cpu, {reinterpret_cast<const std::uint8_t*>(record + 1), length}});
      ++count;
    }
    std::memset(static_cast<void*>(record), 0, size);
    at += size;
    give_back(r, at);
  }
  return count;
}

std::size_t SessionMemory::drain(const std::function<void(const RawRecord&)>& use) {
  std::size_t count = 0;
  for (std::uint32_t cpu = 0; cpu < ring_count_; ++cpu) count += drain_ring(cpu, use);
  return count;
}

// First position behind `from` where a committed record starts and the chain from it reaches `head`.
std::uint64_t SessionMemory::find_resume(std::uint32_t cpu, std::uint64_t from, std::uint64_t head) const {
  const std::uint64_t mask = options_.ring_bytes - 1;
  for (std::uint64_t at = from + 8; at < head; at += 8) {
    const auto* record = reinterpret_cast<const kevt_record*>(ring_data(cpu) + (at & mask));
    const std::uint64_t length = KEVT_RECORD_PAYLOAD(record->word), room = KEVT_RECORD_ROOM(length);
    if (record->word && KEVT_RECORD_IS_AT(record->word, at) && room >= sizeof(kevt_record) + 8 && at + room <= head)
      return at;
  }
  return head;
}

std::size_t SessionMemory::drain_abandoned(const std::function<void(const RawRecord&)>& use) {
  std::size_t skipped = 0;
  for (std::uint32_t cpu = 0; cpu < ring_count_; ++cpu) {
    kevt_ring& r = ring(cpu);
    for (;;) {
      drain_ring(cpu, use);
      const std::uint64_t head = load_acquire(r.head);
      if (r.tail == head || head - r.tail > options_.ring_bytes) break;
      give_back(r, find_resume(cpu, r.tail, head));
      ++skipped;
    }
  }
  return skipped;
}

}  // namespace kevt::inproc
