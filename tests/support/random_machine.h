// A machine over a MemoryArena: what native code would see, answered from the arena's layout.
#pragma once

#include "compiler/ir/interpreter.h"
#include "tests/support/memory_arena.h"

namespace kevt::test {

class ArenaMachine : public ir::Machine {
 public:
  explicit ArenaMachine(const MemoryArena& arena) : arena_(arena) {}  // `arena` must outlive the machine

  // Exactly the arena's readable pages, whatever else the process has mapped.
  bool read(std::uint64_t address, std::span<std::uint8_t> out) const override;
  std::string symbol_text(std::uint64_t address) const override;

 private:
  const MemoryArena& arena_;
};

// Registers and slots hold addresses of the arena, bad addresses and small numbers. Where the code
// under test sees real ones (pid, cpu, comm), overwrite them.
ArenaMachine random_machine(Random& random, const MemoryArena& arena, std::size_t slot_count);

}  // namespace kevt::test
