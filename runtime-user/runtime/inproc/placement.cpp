// Everything here is system calls made by the target itself while it stands still. Our files are sent to it over a
// socket and closed again at once (fd_passing.h). A descriptor is a number that another process may share: somebody
// could put another file behind it between two calls. So what has been mapped is looked at in /proc/PID/maps, device,
// inode, offset and rights, before anything uses it.
#include "runtime-user/runtime/inproc/placement.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime-user/runtime/inproc/agent_image.h"
#include "runtime-user/runtime/inproc/agent_threads.h"
#include "runtime-user/runtime/inproc/fd_passing.h"
#include "runtime-user/runtime/inproc/startup.h"

namespace kevt::inproc {

namespace {

constexpr std::uint64_t kPopulateLimit = 16u << 20;  // per ring
constexpr std::uint64_t kReach = (1ull << 31) - (64ull << 20);

}  // namespace

Result<std::int64_t> Placement::call(const char* what, std::int64_t number, std::array<std::uint64_t, 6> arguments) {
  auto result = tracee_.syscall(number, arguments);
  if (!result) return std::unexpected(std::move(result.error()).while_doing(what));
  if (*result < 0 && *result > -4096)
    return std::unexpected(Error(std::string(what) + " in the target: " + std::strerror(static_cast<int>(-*result)),
                                 static_cast<int>(-*result)));
  return *result;
}

Result<RemoteAddr> Placement::map_anonymous(std::uint64_t bytes, int protection) {
  auto at =
      call("mmap", SYS_mmap,
           {0, bytes, static_cast<std::uint64_t>(protection), MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, ~0ull, 0});
  if (!at) return std::unexpected(std::move(at.error()));
  mapped_.push_back({RemoteAddr{static_cast<std::uint64_t>(*at)}, bytes, false});
  return mapped_.back().at;
}

Result<RemoteAddr> Placement::scratch_page() {
  if (scratch_.value) return scratch_;
  auto page = map_anonymous(4096, PROT_READ | PROT_WRITE);
  if (page) scratch_ = *page;
  return page;
}

namespace {

// `fd` of the target, closed whatever has become of it.
Result<void> close_in(Placement& placement, std::int64_t fd) {
  auto closed = placement.call("close", SYS_close, {static_cast<std::uint64_t>(fd), 0, 0, 0, 0, 0});
  if (!closed) return std::unexpected(std::move(closed.error()));
  return {};
}

// Whether [at, at + bytes) shows the file from `offset` on, with these rights and shared, and nothing else.
bool shows(const std::vector<target::Mapping>& maps, const SharedFile& file, RemoteAddr at, std::uint64_t bytes,
           std::uint64_t offset, int protection) {
  const RemoteAddr end = at + bytes;
  for (const target::Mapping& m : maps) {
    if (m.end <= at || m.start >= end) continue;
    const bool is_file = m.shared && m.inode == file.inode() &&
                         makedev(m.device_major, m.device_minor) == static_cast<dev_t>(file.device()) &&
                         m.offset.value - m.start.value == offset - at.value;
    const bool has_rights =
        m.readable && m.writable == ((protection & PROT_WRITE) != 0) && m.executable == ((protection & PROT_EXEC) != 0);
    if (!is_file || !has_rights || m.start > at) return false;
    const std::uint64_t seen = std::min(m.end, end) - at;
    at = at + seen;
    offset += seen;
  }
  return at == end;
}

Error exchanged() {
  return Error(
      "what the target has mapped is not the tracer's memory: another process, which shares its descriptors, has put "
      "something else in its place");
}

}  // namespace

// Ring by ring in one piece each, so that a hit never pays for a page.
Result<void> Placement::map_session_files(RemoteAddr base) {
  for (const MapPiece::From from : {MapPiece::From::Tables, MapPiece::From::Session}) {
    auto fd = send_fd(*this, tracee_.pid(), memory_.file(from).fd());
    if (!fd) return std::unexpected(std::move(fd.error()));
    for (const MapPiece& piece : memory_.plan()) {
      if (piece.from != from) continue;
      const std::uint64_t populate = piece.is_ring && piece.length <= kPopulateLimit ? MAP_POPULATE : 0;
      const int protection = piece.is_writable() ? PROT_READ | PROT_WRITE : PROT_READ;
      auto mapped = call("mapping the rings", SYS_mmap,
                         {base.value + piece.at, piece.length, static_cast<std::uint64_t>(protection),
                          MAP_SHARED | MAP_FIXED | populate, static_cast<std::uint64_t>(*fd), piece.file_offset});
      if (!mapped) return std::unexpected(std::move(mapped.error()));
    }
    if (auto closed = close_in(*this, *fd); !closed) return closed;
  }
  return {};
}

Result<void> Placement::check_session(RemoteAddr base) const {
  auto maps = target::read_maps(tracee_.pid());
  if (!maps) return std::unexpected(std::move(maps.error()));
  for (const MapPiece& piece : memory_.plan())
    if (!shows(*maps, memory_.file(piece.from), base + piece.at, piece.length, piece.file_offset,
               piece.is_writable() ? PROT_READ | PROT_WRITE : PROT_READ))
      return std::unexpected(exchanged());
  return {};
}

// Address space for many threads; a target that is short of it (`ulimit -v`) gets room for fewer.
Result<void> Placement::map_private() {
  std::uint64_t threads = memory_.options().max_threads;
  auto priv = map_anonymous(SessionMemory::private_bytes(threads), PROT_READ | PROT_WRITE);
  for (; !priv && priv.error().errno_value() == ENOMEM && threads > 256; threads /= 2)
    priv = map_anonymous(SessionMemory::private_bytes(threads / 2), PROT_READ | PROT_WRITE);
  if (!priv) return std::unexpected(std::move(priv.error()));
  const std::uint64_t wiped_bytes = SessionMemory::wiped_bytes(threads);
  auto selves = map_anonymous(wiped_bytes, PROT_READ | PROT_WRITE);
  if (!selves) return std::unexpected(std::move(selves.error()));
  if (auto wiped = call("madvise", SYS_madvise, {selves->value, wiped_bytes, MADV_WIPEONFORK, 0, 0, 0}); !wiped)
    return std::unexpected(std::move(wiped.error()));
  constexpr std::uint8_t kNotWiped = 1;
  if (auto marked = tracee_.write(*selves + sizeof(kevt_self) * threads, {&kNotWiped, 1}); !marked)
    return std::unexpected(std::move(marked.error()));
  agent_.priv = *priv;
  agent_.selves = *selves;
  agent_.max_threads = threads;
  return {};
}

Result<void> Placement::map_session() {
  auto base = map_anonymous(memory_.span(), PROT_NONE);
  if (!base) return std::unexpected(std::move(base.error()));
  if (auto mapped = map_session_files(*base); !mapped) return mapped;
  if (auto checked = check_session(*base); !checked) return checked;
  // A core file is the program's; our rings would make it hundreds of times larger.
  if (auto kept = call("madvise", SYS_madvise, {base->value, memory_.span(), MADV_DONTDUMP, 0, 0, 0}); !kept)
    return std::unexpected(std::move(kept.error()));
  if (auto mapped = map_private(); !mapped) return mapped;
  memory_.set_target(*base, agent_.priv, agent_.selves, agent_.max_threads);
  return {};
}

// Where the first thread runs, if that is in a file; the vDSO lies next to the stack, which must be able to grow.
Result<RemoteAddr> Placement::agent_neighbour() {
  auto registers = tracee_.registers(tracee_.threads().front());
  if (!registers) return std::unexpected(std::move(registers.error()));
  auto maps = target::read_maps(tracee_.pid());
  if (!maps) return std::unexpected(std::move(maps.error()));
  const auto objects = target::loaded_objects(*maps);
  for (const target::LoadedObject& object : objects)
    if (object.contains(RemoteAddr{registers->rip})) return RemoteAddr{registers->rip};
  if (objects.empty()) return std::unexpected(Error("the target has no program file mapped"));
  return objects.back().start();
}

Result<void> Placement::place_agent() {
  if (auto mapped = map_session(); !mapped) return mapped;
  // 0 (the block's own address): a new thread at an old thread's address goes unnoticed until it is enrolled again.
  kevt_tables& tables = memory_.tables();
  tables.marks_threads = is_go_alone(tracee_.pid());
  if (tables.marks_threads) {
    if (auto marked = mark_threads(tracee_); !marked) return marked;
  } else {
    auto check = thread_id_offset(tracee_);
    if (!check) return std::unexpected(std::move(check.error()));
    tables.check_offset = *check;
  }

  auto near = agent_neighbour();
  if (!near) return std::unexpected(std::move(near.error()));
  auto base = allocate(*near, *near + 1, agent_table().size);
  if (!base) return std::unexpected(std::move(base.error()));
  agent_.base = *base;
  arena_.write(*base, agent_image_for(memory_.target()));
  tables.code_begin = base->value;
  tables.code_end = base->value + agent_table().size;
  tables.services = agent_services(*base);
  for (const AgentFault& fault : agent_faults())
    if (auto noted = memory_.map_address(*base + fault.fault, *base + fault.fixup); !noted) return noted;

  constexpr std::uint64_t kRegisterSyncCore = 64;  // MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE
  if (auto done = call("membarrier", SYS_membarrier, {kRegisterSyncCore, 0, 0, 0, 0, 0}); !done)
    return std::unexpected(std::move(done.error()));
  return {};
}

Result<RemoteAddr> Placement::allocate(RemoteAddr begin, RemoteAddr end, std::uint64_t bytes) {
  auto window = window_for(begin, end, bytes);
  if (!window) return std::unexpected(std::move(window.error()));
  return arena_.allocate(**window, bytes);
}

Result<RemoteAddr> Placement::map_window(RemoteAddr at, std::uint64_t offset) {
  auto fd = send_fd(*this, tracee_.pid(), arena_.file().fd());
  if (!fd) return std::unexpected(std::move(fd.error()));
  auto mapped = call("mmap", SYS_mmap,
                     {at.value, CodeArena::kWindowBytes, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED_NOREPLACE,
                      static_cast<std::uint64_t>(*fd), offset});
  if (auto closed = close_in(*this, *fd); !closed) return std::unexpected(std::move(closed.error()));
  if (!mapped) return std::unexpected(std::move(mapped.error()));
  mapped_.push_back({at, CodeArena::kWindowBytes, true});
  auto maps = target::read_maps(tracee_.pid());
  if (!maps) return std::unexpected(std::move(maps.error()));
  if (!shows(*maps, arena_.file(), at, CodeArena::kWindowBytes, offset, PROT_READ | PROT_EXEC))
    return std::unexpected(exchanged());
  return at;
}

Result<CodeArena::Window*> Placement::window_for(RemoteAddr begin, RemoteAddr end, std::uint64_t bytes) {
  if (CodeArena::Window* known = arena_.window_near(begin, end, bytes)) return known;
  auto index = arena_.next_window();
  if (!index) return std::unexpected(std::move(index.error()));
  auto maps = target::read_maps(tracee_.pid());
  if (!maps) return std::unexpected(std::move(maps.error()));
  auto gap = target::find_gap(*maps, begin, CodeArena::kWindowBytes, kReach - static_cast<std::uint64_t>(end - begin));
  if (!gap) return std::unexpected(Error("no free address space within 2 GiB of the probed code"));
  auto mapped = map_window(*gap, *index * CodeArena::kWindowBytes);
  if (!mapped) return std::unexpected(std::move(mapped.error()));
  CodeArena::Window* window = arena_.add_window(*index, *mapped);
  auto& entry = memory_.tables().windows[*index];
  entry[0] = mapped->value;
  entry[1] = mapped->value + CodeArena::kWindowBytes;
  return window;
}

void Placement::adopt(const Placement& parent) {
  agent_ = parent.agent_;
  scratch_ = parent.scratch_;
  const auto maps = target::read_maps(tracee_.pid());
  for (const Mapped& piece : parent.mapped_) {
    const bool is_there = maps && std::ranges::any_of(*maps, [&](const target::Mapping& m) {
                            return m.start == piece.at && m.path.starts_with("/memfd:kevtrace-code");
                          });
    if (!piece.is_window || is_there) mapped_.push_back(piece);
  }
}

// Newest first: what was mapped into a larger piece goes with it. Where things were stays known, for children.
Result<void> Placement::take_away() {
  if (is_taken_away_) return {};
  is_taken_away_ = true;
  for (std::size_t i = mapped_.size(); i-- > 0;)
    if (auto gone = call("munmap", SYS_munmap, {mapped_[i].at.value, mapped_[i].bytes, 0, 0, 0, 0}); !gone)
      return std::unexpected(std::move(gone.error()));
  return {};
}

}  // namespace kevt::inproc
