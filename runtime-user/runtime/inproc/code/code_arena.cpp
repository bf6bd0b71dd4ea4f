// Room is taken from the first piece that fits among those given back to a window, else from behind all that was ever
// given out. InprocRuntime::reclaim() decides when a piece may be given back: a thread may still be inside a detour, or
// a return address on some stack may point into it, long after its probe was removed.
#include "runtime-user/runtime/inproc/code/code_arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <ranges>
#include <utility>

#include "common/assert.h"
#include "compiler/model/compiled_event.h"
#include "runtime-user/runtime/inproc/x86/machine.h"

namespace kevt::inproc {

namespace {
constexpr std::int64_t kJumpReach = (std::int64_t{1} << 31) - (16 << 20);

std::uint64_t aligned(std::uint64_t at) { return (at + model::kImageAlignment - 1) & ~(model::kImageAlignment - 1); }

// Where in the window; nullopt: there is no room.
std::optional<std::uint64_t> place_in(const CodeArena::Window& window, std::uint64_t bytes) {
  const auto fits = [bytes](const auto& piece) { return piece.second >= bytes; };
  if (const auto piece = std::ranges::find_if(window.free, fits); piece != window.free.end()) return piece->first;
  if (window.used + bytes > CodeArena::kWindowBytes) return std::nullopt;
  return window.used;
}
}  // namespace

Result<CodeArena> CodeArena::create() {
  CodeArena arena;
  const std::uint64_t bytes = kWindowBytes * kMaxWindows;
  auto file = SharedFile::create("kevtrace-code", bytes, Contents::Code);
  if (!file) return std::unexpected(std::move(file.error()).while_doing("making the code arena"));
  arena.file_ = std::move(*file);
  void* local = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, arena.file_.fd(), 0);
  if (local == MAP_FAILED) return std::unexpected(Error::from_errno("mapping the code arena"));
  arena.local_ = static_cast<std::uint8_t*>(local);
  KEVT_TRY(arena.file_.seal_against_writing());
  return arena;
}

CodeArena::CodeArena(CodeArena&& other) noexcept
    : file_(std::move(other.file_)),
      local_(std::exchange(other.local_, nullptr)),
      windows_(std::move(other.windows_)) {}

CodeArena::~CodeArena() {
  if (local_) munmap(local_, kWindowBytes * kMaxWindows);
}

Result<std::uint32_t> CodeArena::next_window() const {
  if (windows_.size() == kMaxWindows) return std::unexpected(Error("the code arena is full"));
  return static_cast<std::uint32_t>(windows_.size());
}

CodeArena::Window* CodeArena::add_window(std::uint32_t index, RemoteAddr base) {
  windows_.push_back({.index = index, .base = base});
  return &windows_.back();
}

// Newest first: older ones are mostly full.
CodeArena::Window* CodeArena::window_near(RemoteAddr begin, RemoteAddr end, std::uint64_t bytes) {
  for (Window& window : windows_ | std::views::reverse) {
    const std::int64_t down = end - window.base, up = (window.base + kWindowBytes) - begin;
    if (down < kJumpReach && up < kJumpReach && place_in(window, aligned(bytes))) return &window;
  }
  return nullptr;
}

bool CodeArena::has(RemoteAddr at) const {
  return std::ranges::any_of(
      windows_, [&](const Window& window) { return window.base <= at && at < window.base + kWindowBytes; });
}

Result<RemoteAddr> CodeArena::allocate(Window& window, std::uint64_t size) {
  const std::uint64_t bytes = aligned(size);
  const auto at = place_in(window, bytes);
  if (!at) return std::unexpected(Error("no room in the code arena's window"));
  if (*at == window.used) {
    window.used += bytes;
  } else if (auto piece = window.free.extract(*at); piece.mapped() > bytes) {
    window.free[*at + bytes] = piece.mapped() - bytes;
  }
  return window.base + *at;
}

void CodeArena::give_back(RemoteAddr at, std::uint64_t size) {
  const std::uint64_t bytes = aligned(size);
  std::memset(local(at, bytes), x86::kBreakpoint, bytes);
  const auto window =
      std::ranges::find_if(windows_, [at](const Window& w) { return at >= w.base && at < w.base + kWindowBytes; });
  auto piece = window->free.emplace(static_cast<std::uint64_t>(at - window->base), bytes).first;
  if (const auto next = std::next(piece); next != window->free.end() && piece->first + piece->second == next->first) {
    piece->second += next->second;
    window->free.erase(next);
  }
  if (piece == window->free.begin()) return;
  if (const auto before = std::prev(piece); before->first + before->second == piece->first) {
    before->second += piece->second;
    window->free.erase(piece);
  }
}

std::uint64_t CodeArena::used_bytes() const {
  std::uint64_t bytes = 0;
  for (const Window& window : windows_) {
    bytes += window.used;
    for (const auto& [at, free] : window.free) bytes -= free;
  }
  return bytes;
}

std::uint8_t* CodeArena::local(RemoteAddr at, std::uint64_t size) const {
  for (const Window& window : windows_) {
    const std::int64_t offset = at - window.base;
    if (offset >= 0 && static_cast<std::uint64_t>(offset) + size <= kWindowBytes)
      return local_ + window.index * kWindowBytes + offset;
  }
  KEVT_ASSERT(!"an address outside every window");
  return nullptr;
}

void CodeArena::write(RemoteAddr at, std::span<const std::uint8_t> bytes) {
  std::memcpy(local(at, bytes.size()), bytes.data(), bytes.size());
}

}  // namespace kevt::inproc
