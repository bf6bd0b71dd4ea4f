// LocalSession: the in-process runtime's memory, code window and agent inside the test program itself, without
// ptrace: events are hit by calling their extractors, or by code that was patched to jump into detours.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "common/abi/probe.h"
#include "common/addresses.h"
#include "common/error.h"
#include "compiler/model/compiled_event.h"
#include "runtime-user/runtime/inproc/code/code_arena.h"
#include "runtime-user/runtime/inproc/code/detour.h"
#include "runtime-user/runtime/inproc/memory/hit_tables.h"
#include "runtime-user/runtime/inproc/memory/ring_reader.h"
#include "runtime-user/runtime/inproc/memory/session_memory.h"

namespace kevt::test {

// One event of the session. `block` is the controller's view of what lies at `address` for the extractor.
struct LocalEvent {
  kevt_event* block = nullptr;
  RemoteAddr address;
  inproc::DetourEvent code;
};

// While one exists, SIGTRAP, SIGSEGV and SIGBUS of this process are the agent's; at most one exists at a time.
// Destroy it with no detour armed and no other thread in a hit.
class LocalSession {
 public:
  static Result<std::unique_ptr<LocalSession>> create(const inproc::SessionOptions& options);
  LocalSession(const LocalSession&) = delete;
  LocalSession& operator=(const LocalSession&) = delete;
  ~LocalSession();

  inproc::SessionMemory& memory() { return memory_; }
  const inproc::SessionMemory& memory() const { return memory_; }
  inproc::RingReader& rings() { return rings_; }
  inproc::CodeArena& arena() { return arena_; }
  // What the agent keeps for itself (kevt_tables.priv).
  kevt_private& priv() { return *static_cast<kevt_private*>(priv_.at); }
  RemoteAddr agent() const { return agent_; }

  // Copies `code` into the window, within a jump's reach of this program's text.
  Result<RemoteAddr> place_code(std::span<const std::uint8_t> code);
  // The same, and registers its loads that may fault.
  Result<RemoteAddr> place(const model::NativeImage& image);
  // The event that was placed there, all gates open.
  Result<LocalEvent> add_event(const inproc::DetourEvent& code, std::uint32_t sinks);
  kevt_counts counts(const LocalEvent& event, std::uint32_t sink) const;
  // Hit table number `index` of those that the session's events share, made when it is asked for.
  std::uint32_t hit_table(std::size_t index);
  std::uint64_t hit_table_address(std::size_t index) {
    const std::uint32_t table = hit_table(index);
    return hit_tables_->target(table).value;
  }
  inproc::HitTables& hit_tables() { return *hit_tables_; }
  // New ones, in which nothing was counted.
  void clear_hit_tables();

  // One hit, without a detour.
  static void hit(const LocalEvent& event, kevt_registers& registers, std::uint64_t return_address);

 private:
  // A mapping that is undone.
  struct Mapping {
    void* at = nullptr;
    std::uint64_t bytes = 0;
    Mapping() = default;
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping();
  };

  LocalSession(inproc::SessionMemory memory, inproc::CodeArena arena);
  Result<void> map_session();
  Result<void> map_window();
  Result<void> place_agent();
  Result<void> own_signals();

  inproc::SessionMemory memory_;
  inproc::CodeArena arena_;
  inproc::RingReader rings_{memory_};
  std::optional<inproc::HitTables> hit_tables_{std::in_place, memory_};
  std::vector<std::uint32_t> shared_tables_;
  Mapping target_, priv_, selves_, window_;
  RemoteAddr agent_;
};

// A piece of memory for test code, within a jump's reach of this program's text. Unlike the runtime's own it is
// writable where it is executed, so that a test can patch it like a controller patches a stopped target.
class TestText {
 public:
  static Result<std::unique_ptr<TestText>> create(std::uint64_t bytes);
  TestText(const TestText&) = delete;
  TestText& operator=(const TestText&) = delete;
  ~TestText();

  std::uint8_t* at(std::uint64_t offset) { return base_ + offset; }
  RemoteAddr address(std::uint64_t offset) const { return {reinterpret_cast<std::uint64_t>(base_) + offset}; }
  std::uint64_t size() const { return bytes_; }

 private:
  TestText(std::uint8_t* base, std::uint64_t bytes) : base_(base), bytes_(bytes) {}
  std::uint8_t* base_;
  std::uint64_t bytes_;
};

}  // namespace kevt::test
