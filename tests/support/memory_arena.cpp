// The arena's mapping and contents. The base address is chosen so that no two bytes next to each
// other in a pointer are zero but the top two:
//
//   0x0000212121214035  →  35 40 21 21 21 21 00 00
//
// The low byte of a stored pointer is never zero either, so a table of them keeps that rule. Words are
// separated by single NULs, everything else is 1 to 0xfe (no window reads as a kernel address).
#include "tests/support/memory_arena.h"

#include <sys/mman.h>

#include <cstring>
#include <utility>

namespace kevt::test {

namespace {

constexpr std::uint64_t kBases[] = {0x212121210000, 0x232323230000, 0x252525250000, 0x313131310000};
constexpr std::uint64_t kDataBytes = MemoryArena::kPages.size() * MemoryArena::kPageBytes;
constexpr std::uint64_t kAllBytes = kDataBytes + 2 * MemoryArena::kGuardBytes;

void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }

bool map_at(std::uint64_t base) {
  void* const wanted = pointer(base - MemoryArena::kGuardBytes);
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE;
  void* const got = mmap(wanted, kAllBytes, PROT_NONE, kFlags, -1, 0);
  if (got == MAP_FAILED) return false;
  if (got == wanted) return true;
  munmap(got, kAllBytes);
  return false;
}

}  // namespace

MemoryArena::MemoryArena(std::uint64_t base) : base_(base) { note_fixed_addresses(); }

MemoryArena::MemoryArena(MemoryArena&& other) noexcept
    : base_(std::exchange(other.base_, 0)),
      addresses_(std::move(other.addresses_)),
      bad_addresses_(std::move(other.bad_addresses_)),
      words_(std::move(other.words_)) {}

MemoryArena::~MemoryArena() {
  if (base_ != 0) munmap(pointer(base_ - kGuardBytes), kAllBytes);
}

Result<MemoryArena> MemoryArena::create() {
  for (const std::uint64_t base : kBases) {
    if (!map_at(base)) continue;
    MemoryArena arena(base);
    for (std::size_t i = 0; i < kPages.size(); ++i)
      if (kPages[i] == 'R' && mprotect(pointer(arena.page(i)), kPageBytes, PROT_READ | PROT_WRITE) != 0)
        return std::unexpected(Error::from_errno("mprotect the test arena"));
    Random random(1);
    arena.refill(random);
    return arena;
  }
  return std::unexpected(Error::from_errno("map the test arena"));
}

bool MemoryArena::readable(std::uint64_t address, std::uint64_t bytes) const {
  if (address < base_ || address - base_ >= kDataBytes || bytes > kDataBytes - (address - base_)) return false;
  if (bytes == 0) return true;
  const std::uint64_t last = (address - base_ + bytes - 1) / kPageBytes;
  for (std::uint64_t i = (address - base_) / kPageBytes; i <= last; ++i)
    if (kPages[i] != 'R') return false;
  return true;
}

void MemoryArena::put(std::uint64_t address, std::uint8_t byte) { std::memcpy(pointer(address), &byte, 1); }

void MemoryArena::fill_pages(Random& random) {
  for (std::size_t i = 0; i < kPages.size(); ++i) {
    if (kPages[i] != 'R') continue;
    for (std::uint64_t at = page(i); at < page(i + 1); ++at)
      put(at, static_cast<std::uint8_t>(one_in(random, 4) ? 1 + below(random, 0xfe) : 'a' + below(random, 4)));
  }
}

// Words of 0 to 20 bytes, each ended by one NUL; never two NULs in a row, so an empty word is the
// last byte of the one before.
void MemoryArena::fill_words(Random& random, std::uint64_t begin, std::uint64_t end) {
  static constexpr std::string_view kAlphabet = "abcabcabc./-*?[]\\0189";
  for (std::uint64_t at = begin; at + 22 < end;) {
    const std::uint64_t start = at;
    std::string word;
    const std::uint64_t length = 1 + below(random, 20);
    while (word.size() < length) word += kAlphabet[below(random, kAlphabet.size())];
    for (const char c : word) put(at++, static_cast<std::uint8_t>(c));
    put(at, 0);
    if (one_in(random, 8)) addresses_.push_back(at);  // the empty word
    ++at;
    addresses_.push_back(start);
    if (words_.size() < 64) words_.push_back(std::move(word));
  }
}

void MemoryArena::fill_pointers(Random& random, std::uint64_t begin, std::uint64_t end) {
  for (std::uint64_t at = begin; at + 8 <= end; at += 8) {
    std::uint64_t target = pick(random, addresses_);
    if ((target & 0xff) == 0) ++target;
    std::memcpy(pointer(at), &target, sizeof target);
  }
}

// See kPages: 3, 5, 8, 10 are holes, pages 1 and 2 are one string that runs into 3.
void MemoryArena::note_fixed_addresses() {
  addresses_ = {page(1) + 16, page(3) - 4097, page(3) - 4096, page(3) - 4095, page(3) - 4094,
                page(3),      page(5) + 100,  page(7) - 3,    page(7) - 1};
  for (std::size_t i = 1; i < kPages.size(); ++i) {
    if (kPages[i - 1] != 'R' || kPages[i] != 'H') continue;
    for (const std::uint64_t before : {1, 2, 4, 7, 8, 9, 16}) addresses_.push_back(page(i) - before);
  }
  for (const std::size_t table : {std::size_t{0}, std::size_t{9}})
    for (std::uint64_t at = 2048; at < 3072; at += 128) addresses_.push_back(page(table) + at);
  for (std::uint64_t at = 64; at > 0; at -= 8) addresses_.push_back(page(5) - at);
  bad_addresses_ = {0,
                    8,
                    ~std::uint64_t{0},
                    ~std::uint64_t{0} - 3,
                    std::uint64_t{1} << 63,
                    0x0000800000000000,
                    0x00dead0000000000,
                    0xffff888000001000,
                    base_ - 8,
                    base_ - 1,
                    base_ + kDataBytes,
                    base_ + kDataBytes + 4096};
}

void MemoryArena::refill(Random& random) {
  addresses_.clear();
  words_ = {""};
  note_fixed_addresses();
  fill_pages(random);
  fill_words(random, page(0), page(0) + 2048);
  fill_words(random, page(9), page(9) + 2048);
  fill_words(random, page(6) + 4000, page(7) + 200);  // over a page border
  fill_words(random, page(4), page(4) + 300);
  fill_pointers(random, page(0) + 2048, page(0) + 3072);
  fill_pointers(random, page(9) + 2048, page(9) + 3072);
  fill_pointers(random, page(5) - 64, page(5));
}

}  // namespace kevt::test
