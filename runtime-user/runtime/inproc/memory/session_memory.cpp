// The address space of the plan, and which file each piece is of:
//
//   kevt_tables | patches | address map | rules of stacks      tables
//   kevt_session | notes | shared words | stacks | counters    session
//   mark | ring 0: head and data | the data once more          tables (one page) | session
//   mark | ring 1: …
//
// Counters are many, rows times shards, but most of their pages do not exist: a page is made when a hit first counts in
// it (KEVT_ROW_OFFSET in probe.h). A reader asks the file which pages exist (SEEK_DATA) instead of making them by
// looking.
#include "runtime-user/runtime/inproc/memory/session_memory.h"

#include <sys/mman.h>
#include <unistd.h>
#include <cerrno>

#include <algorithm>
#include <bit>
#include <fstream>

#include "common/assert.h"
#include "common/fs_base.h"
#include "common/page.h"
#include "common/proc.h"

namespace kevt::inproc {

namespace {

constexpr std::uint64_t kMostCounters = 64ull << 30;  // bytes of address space
static_assert(KEVT_TILE_BYTES == kPage && sizeof(kevt_counts) == 64);

void add(kevt_counts& sum, const kevt_counts& row) {
  sum.recorded += load_acquire(row.recorded);
  sum.aggregated += load_acquire(row.aggregated);
  sum.filtered += load_acquire(row.filtered);
  sum.lost += load_acquire(row.lost);
  sum.missed += load_acquire(row.missed);
  sum.faults += load_acquire(row.faults);
  sum.hits += load_acquire(row.hits) + load_acquire(row.missed);
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

std::uint64_t answerer_of(pid_t target) {
  return proc::shares_pid_namespace(target) ? static_cast<std::uint64_t>(getpid()) : KEVT_NOT_SEEN;
}

std::uint64_t SessionMemory::private_bytes(std::uint64_t max_threads) {
  return sizeof(kevt_private) + sizeof(kevt_thread) * max_threads;
}
// Behind the selves stands a word that says "enrolled before".
std::uint64_t SessionMemory::wiped_bytes(std::uint64_t max_threads) { return sizeof(kevt_self) * max_threads + 8; }

void SessionMemory::plan_files() {
  patches_at_ = page_up(sizeof(kevt_tables));
  map_at_ = patches_at_ + page_up(sizeof(kevt_patch) * KEVT_MAX_PATCHES);
  rules_at_ = map_at_ + page_up(sizeof(kevt_map_entry) * KEVT_MAP_SLOTS);
  session_at_ = rules_at_ + page_up(2 * sizeof(kevt_stack_rule) * KEVT_STACK_RULES);
  owners_at_ = session_at_ + page_up(sizeof(kevt_session));
  words_at_ = owners_at_ + page_up(sizeof(kevt_shard_owner) * KEVT_OWNER_NOTES);
  stacks_at_ = words_at_ + page_up(8 * KEVT_SHARED_WORDS);
  counts_at_ = stacks_at_ + page_up(sizeof(kevt_stacks));

  const std::uint64_t groups = (options_.rows + KEVT_TILE_ROWS - 1) / KEVT_TILE_ROWS;
  const std::uint64_t most = kMostCounters / (groups * KEVT_TILE_BYTES) * KEVT_TILE_SHARDS;
  max_shards_ = std::min<std::uint64_t>(KEVT_MAX_SHARDS, most);
  group_bytes_ = max_shards_ / KEVT_TILE_SHARDS * KEVT_TILE_BYTES;
  std::uint64_t at = counts_at_ + groups * group_bytes_;
  plan_ = {{MapPiece::From::Tables, 0, 0, session_at_}, {MapPiece::From::Session, session_at_, 0, at - session_at_}};
  tables_bytes_ = session_at_;
  session_bytes_ = at - session_at_;

  rings_at_ = at + kPage;
  ring_stride_ = kPage + KEVT_RING_HEADER + 2 * options_.ring_bytes;
  for (std::uint32_t cpu = 0; cpu < ring_count_; ++cpu, at += ring_stride_) {
    const std::uint64_t ring_at = at + kPage, once = KEVT_RING_HEADER + options_.ring_bytes;
    plan_.push_back({MapPiece::From::Tables, at, tables_bytes_, kPage});
    plan_.push_back({MapPiece::From::Session, ring_at, session_bytes_, once, true});
    plan_.push_back(
        {MapPiece::From::Session, ring_at + once, session_bytes_ + KEVT_RING_HEADER, options_.ring_bytes, true});
    tables_bytes_ += kPage;
    session_bytes_ += once;
  }
  span_ = at;
}

Result<void> SessionMemory::map() {
  void* local = mmap(nullptr, span_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (local == MAP_FAILED) return std::unexpected(Error::from_errno("address space for the rings"));
  local_ = static_cast<std::uint8_t*>(local);
  for (const MapPiece& piece : plan_) {
    void* mapped = mmap(local_ + piece.at, piece.length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                        file(piece.from).fd(), static_cast<off_t>(piece.file_offset));
    if (mapped == MAP_FAILED) return std::unexpected(Error::from_errno("mapping the rings"));
  }
  return {};
}

void SessionMemory::fill() {
  for (std::uint32_t cpu = 0; cpu < ring_count_; ++cpu) {
    ring(cpu).limit = options_.ring_bytes;
    *at<std::uint64_t>(rings_at_ + cpu * ring_stride_ + KEVT_RING_MARK) = std::uint64_t{cpu} << KEVT_RECORD_RING_SHIFT;
  }
  session().next_shard = 1;  // shard 0 is everybody's
  kevt_tables& head = tables();
  head.version = KEVT_ABI_VERSION;
  head.ring_count = ring_count_;
  head.ring_stride = ring_stride_;
  head.ring_bytes = options_.ring_bytes;
  head.group_bytes = group_bytes_;
  head.max_shards = max_shards_;
  head.has_fsgsbase = may_read_fs_base() ? 1 : 0;
  head.controller = static_cast<std::uint64_t>(getpid());
  head.controller_began = proc::start_time(getpid());
  head.controller_namespace = proc::pid_namespace(getpid());
}

Result<SessionMemory> SessionMemory::create(const SessionOptions& options) {
  KEVT_ASSERT(std::has_single_bit(options.ring_bytes) && options.ring_bytes >= 65536);
  if (options.rows > KEVT_MAX_ROWS) return std::unexpected(Error("more events than one session holds"));
  SessionMemory memory;
  memory.options_ = options;
  memory.ring_count_ = possible_cpus();
  memory.plan_files();
  auto tables = KEVT_TRY(SharedFile::create("kevtrace-tables", memory.tables_bytes_, Contents::Data));
  auto session = KEVT_TRY(SharedFile::create("kevtrace", memory.session_bytes_, Contents::Data));
  memory.tables_ = std::move(tables);
  memory.session_ = std::move(session);
  KEVT_TRY(memory.map());
  KEVT_TRY(memory.tables_.seal_against_writing());
  KEVT_TRY(memory.session_.seal());
  memory.fill();
  return memory;
}

SessionMemory::SessionMemory(SessionMemory&& other) noexcept
    : tables_(std::move(other.tables_)),
      session_(std::move(other.session_)),
      local_(std::exchange(other.local_, nullptr)),
      span_(other.span_),
      tables_bytes_(other.tables_bytes_),
      session_bytes_(other.session_bytes_),
      plan_(std::move(other.plan_)),
      target_(other.target_),
      options_(other.options_),
      ring_count_(other.ring_count_),
      ring_stride_(other.ring_stride_),
      max_shards_(other.max_shards_),
      group_bytes_(other.group_bytes_),
      patches_at_(other.patches_at_),
      map_at_(other.map_at_),
      rules_at_(other.rules_at_),
      session_at_(other.session_at_),
      owners_at_(other.owners_at_),
      words_at_(other.words_at_),
      stacks_at_(other.stacks_at_),
      counts_at_(other.counts_at_),
      rings_at_(other.rings_at_),
      rows_used_(other.rows_used_),
      free_rows_(std::move(other.free_rows_)),
      patch_at_(std::move(other.patch_at_)) {}

SessionMemory::~SessionMemory() {
  if (local_) munmap(local_, span_);
}

void SessionMemory::set_target(RemoteAddr base) {
  target_ = base;
  kevt_tables& head = tables();
  head.self = base.value;
  head.session = base.value + session_at_;
  head.owners = base.value + owners_at_;
  head.map = base.value + map_at_;
  head.rules = base.value + rules_at_;
  head.stacks = base.value + stacks_at_;
  head.patches = base.value + patches_at_;
  head.counts = base.value + counts_at_;
  head.rings = base.value + rings_at_;
}

void SessionMemory::set_private(RemoteAddr priv, RemoteAddr selves, std::uint64_t max_threads) {
  tables().priv = priv.value;
  tables().selves = selves.value;
  tables().max_threads = max_threads;
}

void SessionMemory::set_agent(RemoteAddr code, std::uint64_t bytes, const kevt_services& services) {
  tables().code_begin = code.value;
  tables().code_end = code.value + bytes;
  tables().services = services;
}

void SessionMemory::note_window(std::uint32_t index, RemoteAddr at, std::uint64_t bytes) {
  tables().windows[index][0] = at.value;
  tables().windows[index][1] = at.value + bytes;
}

void SessionMemory::note_mapped(std::span<const kevt_mapping> anonymous) {
  KEVT_ASSERT(anonymous.size() <= KEVT_MAX_MAPPINGS);
  std::ranges::copy(anonymous, tables().mapped);
  __atomic_store_n(&tables().mapped_count, anonymous.size(), __ATOMIC_RELEASE);
}

// A note of another file at the same place stays: forked children may have that file, with its patch.
Result<void> SessionMemory::note_patch(RemoteAddr site, std::span<const std::uint8_t> own, std::uint64_t inode,
                                       std::uint8_t order) {
  kevt_patch note{.site = site.value,
                  .own = {},
                  .inode = inode,
                  .length = static_cast<std::uint8_t>(own.size()),
                  .order = order,
                  .gone = 0,
                  .pad = {}};
  KEVT_ASSERT(own.size() <= sizeof note.own);
  std::ranges::copy(own, note.own);
  const auto [known, is_new] = patch_at_.try_emplace({site.value, inode}, static_cast<std::uint32_t>(patch_at_.size()));
  if (known->second >= KEVT_MAX_PATCHES) return std::unexpected(Error("more places are probed than one session holds"));
  kevt_patch& there = at<kevt_patch>(patches_at_)[known->second];
  // The code may be another by now, with other bytes: a JIT compiler's, or of a file that was written to.
  const bool is_other = there.length != note.length || !std::equal(own.begin(), own.end(), there.own);
  note.order = is_new ? order : std::max(there.order, order);
  if (is_new || is_other) there = note;
  there.order = note.order;
  there.gone = 0;
  __atomic_store_n(&tables().used_patches, patch_at_.size(), __ATOMIC_RELEASE);
  return {};
}

void SessionMemory::note_gone_patch(RemoteAddr site) {
  for (auto known = patch_at_.lower_bound({site.value, 0});
       known != patch_at_.end() && known->first.first == site.value; ++known)
    at<kevt_patch>(patches_at_)[known->second].gone = 1;
}

std::span<const kevt_patch> SessionMemory::patches() const {
  return {at<const kevt_patch>(patches_at_), patch_at_.size()};
}

// The rows of an event's sinks lie side by side, in one tile.
std::optional<std::uint32_t> SessionMemory::take_rows(std::uint32_t sinks) {
  const auto are_free = [&](std::uint32_t first) {
    for (std::uint32_t row = first; row < first + sinks; ++row)
      if (!free_rows_.contains(row)) return false;
    return first % KEVT_TILE_ROWS + sinks <= KEVT_TILE_ROWS;
  };
  const auto known = std::ranges::find_if(free_rows_, are_free);
  if (known != free_rows_.end()) {
    const std::uint32_t first = *known;
    for (std::uint32_t row = first; row < first + sinks; ++row) free_rows_.erase(row);
    return first;
  }
  std::uint32_t first = rows_used_;
  if (first % KEVT_TILE_ROWS + sinks > KEVT_TILE_ROWS) first += KEVT_TILE_ROWS - first % KEVT_TILE_ROWS;
  if (first + sinks > options_.rows) return std::nullopt;
  while (rows_used_ < first) free_rows_.insert(rows_used_++);
  rows_used_ = first + sinks;
  __atomic_store_n(&tables().used_rows, rows_used_, __ATOMIC_RELEASE);
  return first;
}

Result<SessionMemory::EventBlock> SessionMemory::add_event(kevt_event* event, RemoteAddr there, std::uint32_t sinks) {
  KEVT_ASSERT(sinks <= KEVT_TILE_ROWS);
  const auto row = take_rows(sinks);
  if (!row) return std::unexpected(Error("no room for another event in this session", ENOSPC));
  *event = {};
  event->tables = target_.value;
  event->rings = target_.value + rings_at_;
  event->ring_stride = ring_stride_;
  event->ring_mask = options_.ring_bytes - 1;
  event->row = *row;
  event->row_offset = KEVT_ROW_OFFSET(*row, group_bytes_);
  event->sink_count = sinks;
  event->services = tables().services;
  set_gates(*event, 0);
  return EventBlock{event, there, *row};
}

void SessionMemory::forget_event(std::uint32_t row, std::uint32_t sinks) {
  for (const std::uint64_t tile : tiles_of(group_of(row)))
    for (std::uint32_t shard = 0; shard < KEVT_TILE_SHARDS; ++shard)
      std::fill_n(&at<kevt_counts>(tile)[shard * KEVT_TILE_ROWS + row % KEVT_TILE_ROWS], sinks, kevt_counts{});
  for (std::uint32_t i = 0; i < sinks; ++i) free_rows_.insert(row + i);
}

void set_gates(kevt_event& event, std::uint32_t gates) {
  __atomic_store_n(&event.enters_slowly, event.maxactive || event.argument_count || !gates ? 1 : 0, __ATOMIC_RELAXED);
  __atomic_store_n(&event.gates, gates, __ATOMIC_RELEASE);
}

// An entry that was removed is passed over by look-ups for a key behind it, and is used again.
Result<void> SessionMemory::map_address(RemoteAddr key, RemoteAddr value) {
  auto* map = at<kevt_map_entry>(map_at_);
  kevt_map_entry* place = nullptr;
  for (std::uint32_t n = 0; n < KEVT_MAP_SLOTS / 2; ++n) {
    kevt_map_entry& entry = map[kevt_map_slot(key.value, n)];
    const bool is_taken = entry.key && entry.key != KEVT_MAP_REMOVED;
    if (!place && !is_taken) place = &entry;
    if (entry.key == key.value) place = &entry;
    if (entry.key == key.value || !entry.key) break;
  }
  if (!place) return std::unexpected(Error("the address map is full"));
  __atomic_store_n(&place->value, value.value, __ATOMIC_RELEASE);
  __atomic_store_n(&place->key, key.value, __ATOMIC_RELEASE);
  return {};
}

void SessionMemory::unmap_address(RemoteAddr key) {
  auto* map = at<kevt_map_entry>(map_at_);
  for (std::uint32_t n = 0; n < KEVT_MAP_SLOTS / 2; ++n) {
    kevt_map_entry& entry = map[kevt_map_slot(key.value, n)];
    if (!entry.key) return;
    if (entry.key == key.value) return __atomic_store_n(&entry.key, KEVT_MAP_REMOVED, __ATOMIC_RELEASE);
  }
}

// The pages of counters that exist for a group of rows. The session begins at offset 0 of its file.
std::vector<std::uint64_t> SessionMemory::tiles_of(std::uint64_t group) const {
  const std::uint64_t end = group + (used_shards() + KEVT_TILE_SHARDS - 1) / KEVT_TILE_SHARDS * KEVT_TILE_BYTES;
  std::vector<std::uint64_t> tiles = session_.pages_between(group - session_at_, end - session_at_);
  for (std::uint64_t& tile : tiles) tile += session_at_;
  return tiles;
}

kevt_counts SessionMemory::counts(std::uint32_t row) const {
  const std::uint64_t group = group_of(row);
  const auto sum_of = [&](const std::vector<std::uint64_t>& tiles) {
    kevt_counts sum{};
    for (const std::uint64_t tile : tiles)
      for (std::uint32_t shard = 0; shard < KEVT_TILE_SHARDS; ++shard)
        add(sum, at<const kevt_counts>(tile)[shard * KEVT_TILE_ROWS + row % KEVT_TILE_ROWS]);
    return sum;
  };
  if (!settled_) return sum_of(tiles_of(group));
  const auto [known, is_new] = settled_tiles_.try_emplace(group);
  if (is_new) known->second = tiles_of(group);
  return sum_of(known->second);
}

RemoteAddr SessionMemory::missed_counter(std::uint32_t row, RemoteAddr shard) const {
  const std::uint64_t offset = shard.value - (target_.value + counts_at_);
  if (offset >= group_bytes_ || offset % (KEVT_TILE_ROWS * sizeof(kevt_counts))) return {};
  return shard + KEVT_ROW_OFFSET(row, group_bytes_) + offsetof(kevt_counts, missed);
}

std::span<std::uint64_t> SessionMemory::words() const { return {at<std::uint64_t>(words_at_), KEVT_SHARED_WORDS}; }

std::span<const kevt_shard_owner> SessionMemory::notes() const {
  return {at<const kevt_shard_owner>(owners_at_), KEVT_OWNER_NOTES};
}

kevt_ring& SessionMemory::ring(std::uint32_t cpu) const { return *at<kevt_ring>(rings_at_ + cpu * ring_stride_); }

}  // namespace kevt::inproc
