// Patterns with `*` and `?` inside, or with `*` at both ends, in BPF programs.
//
//   `*a?c*x*`  →  segments  a?c, x       each is looked for behind the one before, at its first place; the first and
//   the
//                                        last one stand at an end of the text where no `*` does
//
// The kernel's matcher goes back to its last `*`; looking for each segment at its first place gives the same result.
// Problem: the verifier walks each round of a loop, keeps every exit that it has not walked yet (8,192 at most), and
// walks a million instructions at most. So a round looks at four places at once and has one exit; behind the exit it is
// found out at which of the four the segment is. And the result of a loop passes through memory: the verifier then
// knows nothing of its value, and walks the following code once. Mirrors glob_match() of lib/glob.c (6.1), without its
// steps over the end of the text.
#include "compiler/ir/glob.h"

#include <algorithm>

#include "common/abi/bpf.h"
#include "compiler/codegen/bpf_emitter.h"

namespace kevt::codegen {

using ir::GlobItem;
using llvm::BasicBlock;
using llvm::Value;

namespace {

constexpr std::uint32_t kPlaces = 4;  // places that one round looks at
// The least that a search takes of kMostPatternSteps: eight searches, however short, would leave more exits open than
// the verifier keeps.
constexpr std::uint64_t kLeastSteps = kMostPatternSteps / 7;

struct GlobSegments {
  std::vector<std::vector<GlobItem>> all;  // none is empty
  bool at_start = false, at_end = false;   // the first, the last segment must stand there
};

bool is_any(const GlobItem& item) { return item.bytes.all(); }
bool is_one(const GlobItem& item) { return item.bytes.count() == 1; }

GlobSegments segments_of(const ir::Condition& c) {
  std::vector<GlobItem> items;
  if (c.glob == model::GlobKind::Glob) {
    items = ir::parse_glob(c.text);
  } else {
    const GlobItem star{.any_run = true, .bytes = {}};
    items.push_back(star);
    for (const char byte : c.text) {
      items.push_back({});
      items.back().bytes.set(static_cast<unsigned char>(byte));
    }
    items.push_back(star);
  }
  GlobSegments made;
  made.at_start = items.empty() || !items.front().any_run;
  made.at_end = items.empty() || !items.back().any_run;
  bool goes_on = false;
  for (const GlobItem& item : items) {
    if (!item.any_run && !goes_on) made.all.emplace_back();
    if (!item.any_run) made.all.back().push_back(item);
    goes_on = !item.any_run;
  }
  return made;
}

// About how many instructions one place costs.
std::uint32_t cost_of(const std::vector<GlobItem>& segment) {
  const auto classes =
      std::ranges::count_if(segment, [](const GlobItem& item) { return !is_any(item) && !is_one(item); });
  return 12 + static_cast<std::uint32_t>(segment.size()) + 30 * static_cast<std::uint32_t>(classes);
}

}  // namespace

std::uint64_t verifier_steps(const ir::Condition& c) {
  const GlobSegments segments = segments_of(c);
  std::uint64_t steps = 0;
  for (std::size_t i = 0; i < segments.all.size(); ++i) {
    const bool stands = (i == 0 && segments.at_start) || (i + 1 == segments.all.size() && segments.at_end);
    if (!stands) steps += std::max(kLeastSteps, std::uint64_t{KEVT_BPF_TEXT_BYTES} * cost_of(segments.all[i]));
  }
  return steps;
}

// i64: 0 if the bytes at `place` match the segment.
Value* BpfEmitter::differs(Value* place, const std::vector<GlobItem>& segment) {
  Value* sum = b_.getInt64(0);
  for (std::size_t at = 0; at < segment.size();) {
    const std::size_t left = segment.size() - at;
    const unsigned bytes = left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
    std::uint64_t word = 0, mask = 0;
    for (unsigned i = bytes; i-- > 0;) {
      const GlobItem& item = segment[at + i];
      word = word << 8 | (is_one(item) ? item.bytes._Find_first() : 0u);
      mask = mask << 8 | (is_one(item) ? 0xffu : 0u);
    }
    Value* loaded = b_.CreateAlignedLoad(b_.getIntNTy(bytes * 8), bpf_.at(b_, place, at), llvm::Align(bytes));
    Value* different = b_.CreateXor(b_.CreateZExt(loaded, b_.getInt64Ty()), b_.getInt64(word));
    if (mask != 0) sum = b_.CreateOr(sum, b_.CreateAnd(different, b_.getInt64(mask)));
    at += bytes;
  }
  for (std::size_t at = 0; at < segment.size(); ++at)
    if (!is_one(segment[at]) && !is_any(segment[at]))
      sum = b_.CreateOr(sum, is_outside(bpf_.at(b_, place, at), segment[at]));
  return sum;
}

// i64: 1 if the byte is not in the class, else 0. The class is a set of 256 bits in four words.
Value* BpfEmitter::is_outside(Value* place, const GlobItem& item) {
  Value* byte = b_.CreateZExt(b_.CreateLoad(b_.getInt8Ty(), place), b_.getInt64Ty());
  Value* number = b_.CreateLShr(byte, b_.getInt64(6));
  Value* word = b_.getInt64(0);
  for (unsigned i = 0; i < 4; ++i) {
    std::uint64_t bits = 0;
    for (unsigned bit = 64; bit-- > 0;) bits = bits << 1 | (item.bytes[i * 64 + bit] ? 1u : 0u);
    // Opaque, since LLVM would make a branch. Multiplied, since the verifier of 6.12 makes two paths of a mask that is
    // all ones or all zeros.
    Value* below = b_.CreateSub(b_.CreateXor(number, b_.getInt64(i)), b_.getInt64(1));
    Value* is_it = bpf_.opaque(b_, b_.CreateLShr(bpf_.opaque(b_, below), b_.getInt64(63)));
    word = b_.CreateOr(word, b_.CreateMul(is_it, b_.getInt64(bits)));
  }
  Value* bit = b_.CreateLShr(word, b_.CreateAnd(byte, b_.getInt64(63)));
  return b_.CreateXor(bpf_.opaque(b_, b_.CreateAnd(bit, b_.getInt64(1))), b_.getInt64(1));
}

Value* BpfEmitter::place_in(const SearchedText& in, Value* at) {
  return bpf_.at(b_, in.text, b_.CreateAnd(bpf_.opaque(b_, at), b_.getInt64(KEVT_BPF_TEXT_BYTES - 1)));
}

// Matches the segment at `at` only: goes to `in.no`, or goes on with the position behind the segment.
void BpfEmitter::match_at(const SearchedText& in, Value* at, const std::vector<GlobItem>& segment) {
  BasicBlock* fits = block("fits");
  BasicBlock* same = block("same");
  Value* end = b_.CreateAdd(at, b_.getInt64(segment.size()));
  branch(b_.CreateICmpUGT(end, in.chars), in.no, fits);
  start(fits);
  branch(b_.CreateICmpEQ(differs(place_in(in, at), segment), b_.getInt64(0)), same, in.no);
  start(same);
  bpf_.set_search_position(b_, end);
}

// Finds the segment's first place from the search position on.
void BpfEmitter::search(const SearchedText& in, const std::vector<GlobItem>& segment) {
  Value* size = b_.getInt64(segment.size());
  Value* from = bpf_.search_position(b_);
  BasicBlock* near = block("near");
  const Loop loop = begin_loop(KEVT_BPF_TEXT_BYTES / kPlaces);
  Value* first = b_.CreateAdd(from, b_.CreateMul(loop.index, b_.getInt64(kPlaces)));
  Value* stop = b_.CreateLShr(b_.CreateSub(in.chars, b_.CreateAdd(first, size)), b_.getInt64(63));
  for (std::uint32_t i = 0; i < kPlaces; ++i) {
    Value* differ = differs(place_in(in, b_.CreateAdd(first, b_.getInt64(i))), segment);
    Value* any = b_.CreateOr(differ, b_.CreateNeg(differ));  // its sign: something differs
    Value* differs_there = bpf_.opaque(b_, b_.CreateLShr(bpf_.opaque(b_, any), b_.getInt64(63)));
    stop = b_.CreateOr(stop, b_.CreateXor(differs_there, b_.getInt64(1)));
  }
  bpf_.set_search_position(b_, first);
  BasicBlock* next = block("next");
  branch(b_.CreateICmpNE(bpf_.opaque(b_, stop), b_.getInt64(0)), near, next);
  start(next);
  end_loop(loop);
  go(in.no);

  start(near);
  BasicBlock* found = block("found");
  Value* begin = bpf_.search_position(b_);
  for (std::uint32_t i = 0; i < kPlaces; ++i) {
    Value* end = b_.CreateAdd(begin, b_.getInt64(i + segment.size()));
    BasicBlock* fits = block("fits");
    BasicBlock* further = block("further");
    branch(b_.CreateICmpUGT(end, in.chars), in.no, fits);
    start(fits);
    bpf_.set_search_position(b_, end);
    Value* differ = differs(place_in(in, b_.CreateAdd(begin, b_.getInt64(i))), segment);
    branch(b_.CreateICmpEQ(differ, b_.getInt64(0)), found, further);
    start(further);
  }
  go(in.no);
  start(found);
}

void BpfEmitter::match_segments(const ir::Condition& c, const SearchedText& in, BasicBlock* yes) {
  const GlobSegments segments = segments_of(c);
  bpf_.set_search_position(b_, b_.getInt64(0));
  for (std::size_t i = 0; i < segments.all.size(); ++i) {
    const auto& segment = segments.all[i];
    const bool is_first = i == 0 && segments.at_start, is_last = i + 1 == segments.all.size() && segments.at_end;
    if (is_first) {
      match_at(in, b_.getInt64(0), segment);
    } else if (is_last) {  // at the end, but not before the end of the segment found before
      BasicBlock* behind = block("behind");
      Value* at = b_.CreateSub(in.chars, b_.getInt64(segment.size()));
      branch(b_.CreateICmpSGE(at, bpf_.search_position(b_)), behind, in.no);
      start(behind);
      match_at(in, at, segment);
    } else {
      search(in, segment);
    }
  }
  const bool is_whole = segments.at_start && segments.at_end && segments.all.size() < 2;
  if (!is_whole) return go(yes);
  branch(b_.CreateICmpEQ(bpf_.search_position(b_), in.chars), yes, in.no);
}

}  // namespace kevt::codegen
