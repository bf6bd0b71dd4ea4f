// CodeArena: executable memory for targets. One file, writable here alone, read-execute in the target:
// no page is ever writable and executable in one place, and no process but this one can make it writable.
// A target maps *windows* of it near the objects it probes, since a jump reaches ±2 GiB.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "common/abi/probe.h"
#include "common/addresses.h"
#include "common/error.h"
#include "runtime-user/runtime/inproc/memory/shared_file.h"

namespace kevt::inproc {

class CodeArena {
 public:
  static constexpr std::uint64_t kWindowBytes = 4u << 20;
  static constexpr std::uint32_t kMaxWindows = KEVT_MAX_WINDOWS;

  static Result<CodeArena> create();
  CodeArena(CodeArena&&) noexcept;
  CodeArena& operator=(CodeArena&&) = delete;
  ~CodeArena();

  const SharedFile& file() const { return file_; }

  // Bytes [index * kWindowBytes, …) of the file, which the target has mapped at `base`.
  struct Window {
    std::uint32_t index = 0;
    RemoteAddr base;
    std::uint64_t used = 0;                         // bytes from its start that were ever given out
    std::map<std::uint64_t, std::uint64_t> free{};  // of these, what was given back: offset, bytes; merged
  };
  Result<std::uint32_t> next_window() const;
  Window* add_window(std::uint32_t index, RemoteAddr base);
  // A window with room for `bytes`, all of whose bytes a rel32 at any place of [begin, end) reaches; or nullptr.
  Window* window_near(RemoteAddr begin, RemoteAddr end, std::uint64_t bytes);
  const std::deque<Window>& windows() const { return windows_; }
  // Whether an address lies in the detours, extractors or the agent.
  bool has(RemoteAddr at) const;

  // Room for `size` bytes, aligned for an image (model::kImageAlignment).
  Result<RemoteAddr> allocate(Window& window, std::uint64_t size);
  // Frees what allocate() gave for `size` bytes. No thread of any process may run there or return there; one that does
  // all the same meets an int3.
  void give_back(RemoteAddr at, std::uint64_t size);
  // Bytes in use.
  std::uint64_t used_bytes() const;
  void write(RemoteAddr at, std::span<const std::uint8_t> bytes);
  // Where the controller has [at, at + size) mapped, which must lie in one window.
  std::uint8_t* local(RemoteAddr at, std::uint64_t size) const;

 private:
  CodeArena() = default;
  SharedFile file_;
  std::uint8_t* local_ = nullptr;
  std::deque<Window> windows_;  // pointers to windows stay good
};

}  // namespace kevt::inproc
