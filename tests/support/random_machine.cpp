// Registers are drawn so that most reads go somewhere interesting: six in ten are addresses of the
// arena, a tenth cannot be read, the rest are small numbers or the arena's bounds.
#include "tests/support/random_machine.h"

#include <fmt/format.h>

#include <cstring>
#include <iterator>

#include "tests/support/random_program.h"

namespace kevt::test {

namespace {

std::uint64_t random_word(Random& random, const MemoryArena& arena) {
  const std::uint64_t draw = below(random, 10);
  if (draw == 0) return pick(random, arena.bad_addresses());
  if (draw < 3) return below(random, 256);
  return pick(random, arena.addresses()) + (draw == 3 ? below(random, 16) : 0);
}

}  // namespace

bool ArenaMachine::read(std::uint64_t address, std::span<std::uint8_t> out) const {
  if (!arena_.readable(address, out.size())) return false;
  std::memcpy(out.data(), reinterpret_cast<const void*>(address), out.size());
  return true;
}

std::string ArenaMachine::symbol_text(std::uint64_t address) const {
  return fmt::format("symbol_{:x}+0x{:x}/0x1000", address >> 12, address & 0xfff);
}

ArenaMachine random_machine(Random& random, const MemoryArena& arena, std::size_t slot_count) {
  ArenaMachine machine(arena);
  std::uint64_t words[sizeof(kevt_registers) / sizeof(std::uint64_t)];
  for (std::uint64_t& word : words) word = random_word(random, arena);
  std::memcpy(&machine.registers, words, sizeof words);
  while (machine.slots.size() < slot_count) machine.slots.push_back(random_word(random, arena));
  constexpr std::uint64_t kWords[] = {0, 1, 1, 2, ~0ull};
  while (machine.words.size() < kRandomWords) machine.words.push_back(kWords[below(random, std::size(kWords))]);
  machine.comm = pick(random, arena.words()).substr(0, 15);
  machine.probe_address = random();
  machine.return_address = random();
  machine.event_id = static_cast<std::uint32_t>(below(random, 65536));
  machine.pid = static_cast<std::uint32_t>(1 + below(random, 1 << 22));
  machine.cpu = static_cast<std::uint32_t>(below(random, 64));
  return machine;
}

}  // namespace kevt::test
