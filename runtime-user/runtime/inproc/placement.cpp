// Everything here is system calls made by the target itself while it stands still. Our memfds are
// opened in the target through /proc/OUR-PID/fd/N and closed again at once; where the target may not do
// that (another user, another mount namespace), they are sent to it over a socket (fd_passing.h).
#include "runtime-user/runtime/inproc/placement.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
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

Result<RemoteAddr> Placement::scratch_text(const std::string& text) {
  if (auto page = scratch_page(); !page) return page;
  auto put = tracee_.write(scratch_, {reinterpret_cast<const std::uint8_t*>(text.c_str()), text.size() + 1});
  if (!put) return std::unexpected(std::move(put.error()));
  return scratch_;
}

Result<std::int64_t> Placement::open_ours(int our_fd, int flags) {
  auto path = scratch_text("/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(our_fd));
  if (!path) return std::unexpected(std::move(path.error()));
  auto opened = tracee_.syscall(SYS_openat, {static_cast<std::uint64_t>(AT_FDCWD), path->value,
                                             static_cast<std::uint64_t>(flags | O_CLOEXEC), 0, 0, 0});
  if (!opened || *opened >= 0) return opened;
  return send_fd(*this, tracee_.pid(), our_fd);
}

Result<RemoteAddr> Placement::map_file(int our_fd, RemoteAddr at, std::uint64_t bytes, std::uint64_t offset,
                                       int protection) {
  auto fd = open_ours(our_fd, O_RDWR);
  if (!fd) return std::unexpected(std::move(fd.error()));
  const int flags = MAP_SHARED | (at.value ? MAP_FIXED_NOREPLACE : 0);
  auto mapped = call("mmap", SYS_mmap,
                     {at.value, bytes, static_cast<std::uint64_t>(protection), static_cast<std::uint64_t>(flags),
                      static_cast<std::uint64_t>(*fd), offset});
  auto closed = call("close", SYS_close, {static_cast<std::uint64_t>(*fd), 0, 0, 0, 0, 0});
  if (!mapped) return std::unexpected(std::move(mapped.error()));
  mapped_.push_back({RemoteAddr{static_cast<std::uint64_t>(*mapped)}, bytes, true});
  if (!closed) return std::unexpected(std::move(closed.error()));
  return mapped_.back().at;
}

// The whole plan with one open: ring mappings come in pairs per CPU.
Result<void> Placement::map_session() {
  auto base = map_anonymous(memory_.span(), PROT_NONE);
  if (!base) return std::unexpected(std::move(base.error()));
  auto fd = open_ours(memory_.fd(), O_RDWR);
  if (!fd) return std::unexpected(std::move(fd.error()));
  for (const MapPiece& piece : memory_.plan()) {
    // Rings are there before the first hit; a hit never pays for a page.
    const std::uint64_t populate = piece.at && piece.length <= kPopulateLimit ? MAP_POPULATE : 0;
    auto mapped = call("mapping the rings", SYS_mmap,
                       {base->value + piece.at, piece.length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | populate,
                        static_cast<std::uint64_t>(*fd), piece.file_offset});
    if (!mapped) return std::unexpected(std::move(mapped.error()));
  }
  if (auto closed = call("close", SYS_close, {static_cast<std::uint64_t>(*fd), 0, 0, 0, 0, 0}); !closed)
    return std::unexpected(std::move(closed.error()));
  // A core file is the program's; our rings would make it hundreds of times larger.
  if (auto kept = call("madvise", SYS_madvise, {base->value, memory_.span(), MADV_DONTDUMP, 0, 0, 0}); !kept)
    return std::unexpected(std::move(kept.error()));

  auto priv = map_anonymous(sizeof(kevt_private), PROT_READ | PROT_WRITE);
  if (!priv) return std::unexpected(std::move(priv.error()));
  auto index = map_anonymous(SessionMemory::kWipedBytes, PROT_READ | PROT_WRITE);
  if (!index) return std::unexpected(std::move(index.error()));
  if (auto wiped = call("madvise", SYS_madvise, {index->value, SessionMemory::kWipedBytes, MADV_WIPEONFORK, 0, 0, 0});
      !wiped)
    return std::unexpected(std::move(wiped.error()));
  constexpr std::uint8_t kNotWiped = 1;
  if (auto marked = tracee_.write(*index + (8ull << KEVT_INDEX_BITS), {&kNotWiped, 1}); !marked)
    return std::unexpected(std::move(marked.error()));
  agent_.priv = *priv;
  agent_.index = *index;
  memory_.set_target(*base, *priv, *index);
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
  // 0 (the block's own address): a new thread at an old thread's address goes unnoticed until its index entry is
  // replaced.
  kevt_shared& shared = memory_.shared();
  shared.marks_threads = is_go_alone(tracee_.pid());
  if (shared.marks_threads) {
    if (auto marked = mark_threads(tracee_); !marked) return marked;
  } else {
    auto check = thread_id_offset(tracee_);
    if (!check) return std::unexpected(std::move(check.error()));
    shared.check_offset = *check;
  }

  auto near = agent_neighbour();
  if (!near) return std::unexpected(std::move(near.error()));
  auto base = allocate(*near, *near + 1, agent_table().size);
  if (!base) return std::unexpected(std::move(base.error()));
  agent_.base = *base;
  arena_.write(*base, agent_image_for(memory_.target()));
  shared.code_begin = base->value;
  shared.code_end = base->value + agent_table().size;
  shared.services = agent_services(*base);
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

Result<CodeArena::Window*> Placement::window_for(RemoteAddr begin, RemoteAddr end, std::uint64_t bytes) {
  if (CodeArena::Window* known = arena_.window_near(begin, end, bytes)) return known;
  auto index = arena_.next_window();
  if (!index) return std::unexpected(std::move(index.error()));
  auto maps = target::read_maps(tracee_.pid());
  if (!maps) return std::unexpected(std::move(maps.error()));
  auto gap = target::find_gap(*maps, begin, CodeArena::kWindowBytes, kReach - static_cast<std::uint64_t>(end - begin));
  if (!gap) return std::unexpected(Error("no free address space within 2 GiB of the probed code"));
  auto mapped =
      map_file(arena_.fd(), *gap, CodeArena::kWindowBytes, *index * CodeArena::kWindowBytes, PROT_READ | PROT_EXEC);
  if (!mapped) return std::unexpected(std::move(mapped.error()));
  CodeArena::Window* window = arena_.add_window(*index, *mapped);
  auto& entry = memory_.shared().windows[*index];
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
