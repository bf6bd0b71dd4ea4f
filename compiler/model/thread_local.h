// Where a process has a thread-local variable, as one word that holds for all of its threads.
//
//   negative   bytes from the thread pointer (%fs base) to the variable: it lies in the static block, which is laid out
//              when the program starts (variant II of "ELF Handling For Thread-Local Storage", Ulrich Drepper)
//   otherwise  MODULE << 32 | OFFSET: the block of a module lies where entry MODULE of the thread's dtv points to
//
// The dtv is glibc's (sysdeps/x86_64/nptl/tls.h, sysdeps/generic/dl-dtv.h): its address is the second word at the
// thread pointer, an entry has two words, the entry before the first tells how many there are, and 0 or ~0 stand for a
// block that the thread has not made yet. A library that is unloaded leaves its number to the next one: until a thread
// uses that one's variables, the entry leads to the old block.
#pragma once

#include <cstdint>
#include <optional>

namespace kevt::model {

inline constexpr std::int64_t kDtvAt = 8;            // from the thread pointer
inline constexpr std::uint32_t kDtvEntryBytes = 16;  // the block's address is its first word
inline constexpr std::int64_t kDtvCountAt = -16;     // from the dtv: the greatest number of a module
inline constexpr std::uint64_t kNoBlock = ~std::uint64_t{0};

struct ThreadLocalPlace {
  bool is_static = true;
  std::int64_t offset = 0;   // from the thread pointer, negative; or in the module's block
  std::uint32_t module = 0;  // not static: from 1 on
};

// nullopt: the place is none, `addend` included.
constexpr std::optional<std::uint64_t> thread_local_word(const ThreadLocalPlace& place, std::int64_t addend) {
  std::int64_t offset = 0;
  if (__builtin_add_overflow(place.offset, addend, &offset)) return std::nullopt;
  if (place.is_static) return offset < 0 ? std::optional(static_cast<std::uint64_t>(offset)) : std::nullopt;
  if (offset < 0 || offset > UINT32_MAX || place.module == 0 || place.module > INT32_MAX) return std::nullopt;
  return std::uint64_t{place.module} << 32 | static_cast<std::uint64_t>(offset);
}

}  // namespace kevt::model
