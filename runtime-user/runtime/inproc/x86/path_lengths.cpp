// Depth first over the instructions, each visited once; what is known at an instruction is the range of lengths from
// there to `ret`, per way out.
//
//   incq 8(row)   → everything behind it counts as recorded       (offsetof kevt_counts.recorded)
//   incq 16(row)  → as rejected                                   (filtered)
//   call *…       → not a way that is counted
//   jump back     → a loop: its span once more for each further turn, in `most` only
//
// The span of a loop counts every instruction in it, also those of branches that exclude each other: `most` is a bound.
#include "runtime-user/runtime/inproc/x86/path_lengths.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>

#include "common/abi/probe.h"
#include "runtime-user/runtime/inproc/x86/decode.h"

namespace kevt::x86 {

namespace {

enum class Way : std::uint8_t { Undecided, Recorded, Rejected };
using Ranges = std::map<Way, PathRange>;

void widen(Ranges& into, Way way, PathRange range) {
  auto [it, is_new] = into.try_emplace(way, range);
  if (is_new) return;
  it->second.least = std::min(it->second.least, range.least);
  it->second.most = std::max(it->second.most, range.most);
}

class Walk {
 public:
  Walk(std::span<const std::uint8_t> code, std::uint32_t turns) : code_(code), turns_(turns) {}
  const Ranges& from(std::size_t at);

 private:
  Way counted_at(std::size_t at, const Instruction& in) const;
  void follow(Ranges& out, std::size_t from, std::size_t to, std::uint32_t& loop);
  std::uint32_t span(std::size_t begin, std::size_t end) const;

  std::span<const std::uint8_t> code_;
  std::uint32_t turns_;
  std::map<std::size_t, Ranges> known_;
  std::set<std::size_t> open_;  // on the way here
};

Way Walk::counted_at(std::size_t at, const Instruction& in) const {
  constexpr std::uint8_t kGroup5 = 0xff;
  const std::uint8_t* bytes = code_.data() + at;
  const bool is_increment =
      bytes[in.opcode_offset] == kGroup5 && in.modrm_offset && (bytes[in.modrm_offset] >> 3 & 7) == 0;
  if (!is_increment || !in.has_memory) return Way::Undecided;
  if (in.displacement == offsetof(kevt_counts, recorded)) return Way::Recorded;
  if (in.displacement == offsetof(kevt_counts, filtered)) return Way::Rejected;
  return Way::Undecided;
}

// Instructions from `begin` to the one at `end`, which is included.
std::uint32_t Walk::span(std::size_t begin, std::size_t end) const {
  std::uint32_t count = 0;
  while (begin <= end) {
    const auto in = decode(code_.subspan(begin));
    if (!in) break;
    begin += in->length;
    ++count;
  }
  return count;
}

void Walk::follow(Ranges& out, std::size_t from, std::size_t to, std::uint32_t& loop) {
  if (to >= code_.size()) return;
  if (open_.contains(to)) {
    if (to <= from) loop = std::max(loop, span(to, from) * (turns_ > 1 ? turns_ - 1 : 0));
    return;
  }
  for (const auto& [way, range] : this->from(to)) widen(out, way, range);
}

const Ranges& Walk::from(std::size_t at) {
  if (auto it = known_.find(at); it != known_.end()) return it->second;
  open_.insert(at);
  Ranges behind;
  std::uint32_t loop = 0;
  const auto in = decode(code_.subspan(at));
  if (in && in->flow == Flow::Return) behind[Way::Undecided] = {};
  if (in && (in->flow == Flow::Next || in->flow == Flow::ConditionalJump)) follow(behind, at, at + in->length, loop);
  if (in && in->branch && (in->flow == Flow::Jump || in->flow == Flow::ConditionalJump))
    follow(behind, at, at + static_cast<std::size_t>(*in->branch), loop);
  Ranges here;
  for (auto [way, range] : behind) {
    range.least += 1;
    range.most += 1 + loop;
    const Way counted = in ? counted_at(at, *in) : Way::Undecided;
    widen(here, way == Way::Undecided ? counted : way, range);
  }
  open_.erase(at);
  return known_[at] = std::move(here);
}

}  // namespace

PathLengths path_lengths(std::span<const std::uint8_t> extractor, std::uint32_t turns) {
  Walk walk(extractor, turns);
  const Ranges& ranges = walk.from(0);
  PathLengths lengths;
  if (auto it = ranges.find(Way::Recorded); it != ranges.end()) lengths.recorded = it->second;
  if (auto it = ranges.find(Way::Rejected); it != ranges.end()) lengths.rejected = it->second;
  return lengths;
}

}  // namespace kevt::x86
