// One pass over an image's code and pointers that finds all places control may jump to.
//
// A 5-byte jump may replace several instructions only if nothing lands behind its first byte. Known
// sources of landings: branches with a 4-byte distance (E8, E9, 0F 8x, and C7 F8 xbegin), `lea` of code,
// 4-byte jump tables (their base is always formed by a `lea table(%rip)`), pointers in data. They are
// sought at every byte offset, so it does not matter whether a function is known or decodes: the price
// is accidental hits, about one in four million per site, which the caller checks once found.
//   `lea table(%rip),%rdx` makes `table` a candidate: its entries lead to table + table[i], up to the
//   first that is no code address or to the next table.
// Short branches (1-byte distance) would drown in accidental hits; site_plan.cpp finds those by decoding.
// Not done: addresses composed at run time.
#include "runtime-user/runtime/inproc/x86/jump_targets.h"

#include <emmintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

namespace kevt::x86 {
namespace {

using target::CodePointer;
using target::ElfImage;
using target::ImageRange;

constexpr unsigned kMaxTableEntries = 1 << 16;

std::int32_t read32(const std::uint8_t* at) {
  std::int32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

class Scan {
 public:
  Scan(const ElfImage& image, ImageRange window) : image_(image), window_(window) {}

  void run() {
    for (const ImageRange& range : image_.executable_ranges()) scan_range(range);
    std::ranges::sort(tables_);
    const auto tail = std::ranges::unique(tables_);
    tables_.erase(tail.begin(), tail.end());
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      const std::uint64_t limit = std::uint64_t{kMaxTableEntries} * 4;
      const std::uint64_t room = i + 1 < tables_.size() ? tables_[i + 1].value - tables_[i].value : limit;
      read_table(tables_[i], std::min(room, limit));
    }
    for (const CodePointer& pointer : image_.code_pointers()) keep(pointer.target, pointer.slot, TargetSource::Pointer);
  }
  std::vector<JumpTarget>& found() { return found_; }

 private:
  void keep(ImageAddr target, ImageAddr source, TargetSource kind) {
    if (window_.contains(target)) found_.push_back({target, source, kind});
  }
  void scan_range(const ImageRange& range);
  void address_taken(ImageAddr target, ImageAddr source);
  void read_table(ImageAddr table, std::uint64_t length);

  const ElfImage& image_;
  ImageRange window_;
  std::vector<JumpTarget> found_;
  std::vector<ImageAddr> tables_;
  std::uint64_t budget_ = 1 << 24;  // table entries in all: a damaged image must not take for ever
};

// Of kAtOnce bytes, those at which one of the instructions may begin that scan_range() looks for: bit i of the byte i.
// One byte more is read.
constexpr std::size_t kAtOnce = 16;
unsigned beginnings(const std::uint8_t* bytes, bool fixed_addresses) {
  const auto load = [](const std::uint8_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); };
  const auto all = [](int byte) { return _mm_set1_epi8(static_cast<char>(byte)); };
  const auto is = [&](__m128i one, int mask, int byte) {
    return _mm_cmpeq_epi8(_mm_and_si128(one, all(mask)), all(byte));
  };
  const __m128i here = load(bytes), next = load(bytes + 1);
  __m128i found = is(here, 0xfe, 0xe8);
  found = _mm_or_si128(found, _mm_and_si128(is(here, 0xff, 0x0f), is(next, 0xf0, 0x80)));
  found = _mm_or_si128(found, _mm_and_si128(is(here, 0xff, 0xc7), is(next, 0xff, 0xf8)));
  found = _mm_or_si128(found, _mm_and_si128(is(here, 0xfb, 0x48), is(next, 0xff, 0x8d)));
  if (fixed_addresses) found = _mm_or_si128(found, is(here, 0xf8, 0xb8));
  return static_cast<unsigned>(_mm_movemask_epi8(found));
}

void Scan::scan_range(const ImageRange& range) {
  const std::span<const std::uint8_t> bytes = image_.bytes_at(range.begin, range.end.value - range.begin.value);
  const bool fixed_addresses = !image_.is_position_independent();
  const std::uint8_t* const data = bytes.data();
  const std::size_t size = bytes.size();
  const std::uint64_t base = range.begin.value;
  const auto target_at = [&](std::size_t distance) {
    return ImageAddr{base + distance + 4 + static_cast<std::uint64_t>(std::int64_t{read32(data + distance)})};
  };
  const auto look_at = [&](std::size_t i) {
    const std::uint8_t first = data[i];
    if (first == 0xe8 || first == 0xe9) {
      keep(target_at(i + 1), {base + i}, TargetSource::Branch);
    } else if ((first == 0x0f && (data[i + 1] & 0xf0) == 0x80) || (first == 0xc7 && data[i + 1] == 0xf8)) {
      keep(target_at(i + 2), {base + i}, TargetSource::Branch);
    } else if ((first & 0xfb) == 0x48 && data[i + 1] == 0x8d && (data[i + 2] & 0xc7) == 0x05) {
      address_taken(target_at(i + 3), {base + i});
    } else if (fixed_addresses && (first & 0xf8) == 0xb8) {
      keep({static_cast<std::uint32_t>(read32(data + i + 1))}, {base + i}, TargetSource::Address);
    }
  };
  std::size_t at = 0;
  for (; at + kAtOnce + 7 <= size; at += kAtOnce)
    for (unsigned places = beginnings(data + at, fixed_addresses); places != 0; places &= places - 1)
      look_at(at + static_cast<std::size_t>(std::countr_zero(places)));
  for (; at + 7 <= size; ++at) look_at(at);
  for (std::size_t i = size >= 6 ? size - 6 : 0; i + 5 <= size; ++i) {  // branches at the very end
    if (data[i] == 0xe8 || data[i] == 0xe9) keep(target_at(i + 1), {base + i}, TargetSource::Branch);
  }
}

void Scan::address_taken(ImageAddr target, ImageAddr source) {
  if (image_.is_executable(target)) {
    keep(target, source, TargetSource::Address);
  } else {
    tables_.push_back(target);
  }
}

// Tables lie one behind the other, so one ends where the next begins, at the latest.
void Scan::read_table(ImageAddr table, std::uint64_t length) {
  const std::span<const std::uint8_t> bytes = image_.bytes_at(table, length);
  for (std::size_t at = 0; at + 4 <= bytes.size() && budget_ > 0; at += 4, --budget_) {
    const ImageAddr target{table.value + static_cast<std::uint64_t>(std::int64_t{read32(bytes.data() + at)})};
    if (!image_.is_executable(target)) return;
    keep(target, table, TargetSource::JumpTable);
  }
}

// Section `__rseq_cs` lists code that the kernel restarts when the thread is preempted in it, 32 bytes
// each: version and flags, start (a pointer), length, where to go on (a pointer).
std::vector<ImageRange> read_restartable(const ElfImage& image) {
  std::vector<ImageRange> ranges;
  const std::optional<ImageRange> section = image.find_section("__rseq_cs");
  if (!section) return ranges;
  for (const CodePointer& pointer : image.code_pointers()) {
    if (!section->contains(pointer.slot) || (pointer.slot.value - section->begin.value) % 32 != 8) continue;
    std::uint64_t length = 0;
    const auto bytes = image.bytes_at(pointer.slot + 8, sizeof length);
    if (bytes.size() != sizeof length) continue;
    std::memcpy(&length, bytes.data(), sizeof length);
    ranges.push_back({pointer.target, pointer.target + length});
  }
  return ranges;
}

bool is_before(const JumpTarget& a, const JumpTarget& b) {
  return a.target != b.target ? a.target < b.target : a.source < b.source;
}

}  // namespace

JumpTargets JumpTargets::of_image(const ElfImage& image) {
  const std::vector<ImageRange>& code = image.executable_ranges();
  if (code.empty()) return {};
  return into_window(image, {code.front().begin, code.back().end});
}

JumpTargets JumpTargets::into_window(const ElfImage& image, ImageRange window) {
  Scan scan(image, window);
  scan.run();
  JumpTargets result;
  result.targets_ = std::move(scan.found());
  result.restartable_ = read_restartable(image);
  return result;
}

std::vector<JumpTarget> JumpTargets::within(ImageAddr begin, ImageAddr end) {
  constexpr unsigned kQuestionsUnsorted = 16;
  if (questions_ < kQuestionsUnsorted) {
    ++questions_;
    std::vector<JumpTarget> found;
    for (const JumpTarget& target : targets_)
      if (begin <= target.target && target.target < end) found.push_back(target);
    std::ranges::sort(found, is_before);
    return found;
  }
  if (questions_ == kQuestionsUnsorted) {
    ++questions_;
    std::ranges::sort(targets_, is_before);
  }
  const auto first = std::ranges::lower_bound(targets_, begin, {}, &JumpTarget::target);
  const auto last = std::ranges::lower_bound(targets_, end, {}, &JumpTarget::target);
  return {first, last};
}

}  // namespace kevt::x86
