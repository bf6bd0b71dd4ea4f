// MemoryArena: memory with known holes, really mapped, so that native code and the interpreter can be
// let loose on the same addresses.
//
//   guard │ R R R │ H │ R │ H │ R R │ H │ R │ H H │ guard       R: readable page, H: PROT_NONE
//
// It holds words (some empty), tables of pointers into itself, a run of over 8000 bytes without NUL, and
// strings that run into holes.
//
// Every 8 bytes of it at any alignment, taken as an address, lie in the arena or nowhere: two zero
// bytes in a row occur only on top of an aligned pointer, so anything else is not canonical. That makes
// loads through loaded pointers deterministic without knowing what else is mapped.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "tests/support/random_pick.h"

namespace kevt::test {

class MemoryArena {
 public:
  static constexpr std::uint64_t kPageBytes = 4096;
  static constexpr std::string_view kPages = "RRRHRHRRHRHH";     // 'R' readable, 'H' hole
  static constexpr std::uint64_t kGuardBytes = 16 * kPageBytes;  // on either side, PROT_NONE

  static Result<MemoryArena> create();
  MemoryArena(MemoryArena&& other) noexcept;
  MemoryArena& operator=(MemoryArena&&) = delete;
  ~MemoryArena();

  // New contents. Invalidates what words() gave.
  void refill(Random& random);

  std::uint64_t base() const { return base_; }
  // Whether all of [address, address + bytes) can be read, from the layout alone.
  bool readable(std::uint64_t address, std::uint64_t bytes) const;

  // Addresses in the arena worth reading: words, tables, page ends, holes, long strings.
  const std::vector<std::uint64_t>& addresses() const { return addresses_; }
  // Addresses that nothing is mapped at: null, not canonical, the kernel's, the guards.
  const std::vector<std::uint64_t>& bad_addresses() const { return bad_addresses_; }
  // The words that can be read at some address, without NUL; some are empty.
  const std::vector<std::string>& words() const { return words_; }

 private:
  explicit MemoryArena(std::uint64_t base);

  void put(std::uint64_t address, std::uint8_t byte);
  void fill_pages(Random& random);
  void fill_words(Random& random, std::uint64_t begin, std::uint64_t end);
  void fill_pointers(Random& random, std::uint64_t begin, std::uint64_t end);
  void note_fixed_addresses();
  std::uint64_t page(std::size_t index) const { return base_ + index * kPageBytes; }

  std::uint64_t base_ = 0;  // of page 0; 0: moved from
  std::vector<std::uint64_t> addresses_;
  std::vector<std::uint64_t> bad_addresses_;
  std::vector<std::string> words_;
};

}  // namespace kevt::test
