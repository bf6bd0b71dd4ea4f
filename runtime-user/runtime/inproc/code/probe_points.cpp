// Planning a site from the text of its file, and keeping what the target itself has there. The plan is made from the
// file; the bytes to restore are the target's, and when the two differ (the program patched itself) the site is
// refused.
#include "runtime-user/runtime/inproc/code/probe_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/target/process/jit_code.h"
#include "runtime-user/runtime/inproc/x86/machine.h"

namespace kevt::inproc {

namespace {

constexpr std::uint64_t kMaxExtent = 32;  // of what one point displaces: 4 bytes and an instruction
// In the key of a detour; no event has it, nor one of the numbers below it, which tell of which plan the detour is.
constexpr std::uint32_t kCrowded = UINT32_MAX;

// Whether a call from one address to the other, or an access to what lies beside it, has a 32-bit distance.
bool reaches(RemoteAddr from, RemoteAddr to) {
  constexpr std::int64_t kReach = (std::int64_t{1} << 31) - (1 << 20);
  const std::int64_t distance = to - from;
  return distance > -kReach && distance < kReach;
}

// Whether `inner` is among the instructions that a jump at `outer` would displace, but not the first of them.
bool is_inside(RemoteAddr inner, const ProbePoint& outer) {
  if (outer.plan.kind != x86::ArmKind::Jump) return false;
  return inner > outer.site && inner < outer.site + std::max(outer.plan.displaced, x86::kJumpLength);
}

}  // namespace

Result<ProbePoint*> ProbePoints::at(RemoteAddr site, StoppedText& text) {
  if (const auto known = points_.find(site); known != points_.end()) return &known->second;
  ProbePoint point;
  point.site = site;
  KEVT_TRY(plan(point, text));
  ProbePoint* added = &points_.emplace(site, std::move(point)).first->second;
  note_crowding(*added);
  return added;
}

Result<ProbePoint*> ProbePoints::at_anew(RemoteAddr site, StoppedText& text) {
  auto point = KEVT_TRY(at(site, text));
  if (!point->is_over()) return point;
  ProbePoint anew = *point;
  KEVT_TRY(plan(anew, text));
  if (!anew.object->is_jit()) {
    const bool is_same = anew.plan.original == point->plan.original && anew.plan.kind == point->plan.kind &&
                         anew.plan.displaced == point->plan.displaced;
    if (is_same && anew.object->file == point->object->file) anew.plans = point->plans;  // its detours are right, too
    anew.is_other = point->is_other || !is_same;
  } else if (!point->object->is_jit()) {
    anew.is_other = true;
  }
  anew.crowded = false;
  *point = std::move(anew);
  note_crowding(*point);
  return point;
}

Result<void> ProbePoints::plan(ProbePoint& point, StoppedText& text) {
  constexpr std::size_t kCompared = 16;
  const RemoteAddr site = point.site;
  auto object = KEVT_TRY(object_at(site));
  point.object = object;
  point.plan = object->file->planner.plan(ImageAddr{site.value - object->bias});
  if (auto problem = object->image->problem()) return std::unexpected(std::move(*problem));
  if (point.plan.kind == x86::ArmKind::Refused)
    return std::unexpected(Error(fmt::format("{:#x} cannot be probed: {}", site.value, point.plan.reason)));
  point.live.resize(point.plan.kind == x86::ArmKind::Jump ? x86::kJumpLength : 1);
  auto live = KEVT_TRY(unpatched(site, point.plan.original.size(), text));
  if (live != point.plan.original)
    return std::unexpected(Error(
        fmt::format("{:#x} cannot be probed: the target's code differs from {}", site.value, object->loaded.path)));
  std::ranges::copy_n(live.begin(), static_cast<std::ptrdiff_t>(point.live.size()), point.live.begin());
  point.tail.clear();
  if (object->is_jit()) {
    const auto bytes = object->image->bytes_at(ImageAddr{site.value}, kCompared);
    point.tail.assign(bytes.begin() + static_cast<std::ptrdiff_t>(point.live.size()), bytes.end());
  }
  const auto function =
      object->is_jit() ? target::jit_function_at(*object->image, ImageAddr{site.value}) : std::nullopt;
  point.function = function ? function->identity : std::string_view();
  point.gone = point.renamed = false;
  ++point.plans;
  return {};
}

bool ProbePoints::has_jit() const {
  return std::ranges::any_of(
      points_, [](const auto& entry) { return entry.second.object->is_jit() && !entry.second.patch.empty(); });
}

Result<void> ProbePoints::look_at_jit() {
  KEVT_TRY(refresh());
  for (auto& [site, point] : points_) {
    if (!point.object->is_jit() || point.gone) continue;
    const auto now = jit_ ? target::jit_function_at(*jit_->image, ImageAddr{site.value}) : std::nullopt;
    point.renamed = !now || now->identity != point.function;
  }
  return {};
}

std::vector<RemoteAddr> ProbePoints::versions_of(RemoteAddr site) const {
  std::vector<RemoteAddr> places;
  const auto function = jit_ ? target::jit_function_at(*jit_->image, ImageAddr{site.value}) : std::nullopt;
  if (!function || function->start.value != site.value) return places;
  for (const ImageAddr start : target::jit_versions(*jit_->image, function->identity)) places.push_back({start.value});
  return places;
}

// The target's own text, also at places where our patches stand.
Result<std::vector<std::uint8_t>> ProbePoints::unpatched(RemoteAddr at, std::size_t size, StoppedText& text) const {
  std::vector<std::uint8_t> bytes(size);
  KEVT_TRY(text.read(at, bytes));
  restore(at, bytes);
  return bytes;
}

void ProbePoints::restore(RemoteAddr at, std::span<std::uint8_t> text) const {
  const RemoteAddr end = at + text.size();
  for (auto it = points_.lower_bound(RemoteAddr{at.value - kMaxExtent}); it != points_.end() && it->first < end; ++it) {
    const auto& [site, point] = *it;
    for (std::size_t i = 0; i < point.patch.size(); ++i) {
      if (site + i < at || site + i >= end) continue;
      std::uint8_t& byte = text[static_cast<std::size_t>(site + i - at)];
      if (byte == point.patch[i]) byte = point.live[i];  // else others have written there since
    }
  }
}

// As kprobes do: a jump whose displaced instructions hold another probe gives way to a breakpoint on the first of them.
void ProbePoints::note_crowding(ProbePoint& point) {
  for (auto it = points_.lower_bound(RemoteAddr{point.site.value - kMaxExtent});
       it != points_.end() && it->first < point.site + kMaxExtent; ++it) {
    ProbePoint& other = it->second;
    if (other.is_over()) continue;
    if (is_inside(point.site, other)) other.crowded = true;
    if (is_inside(other.site, point)) point.crowded = true;
  }
}

std::vector<ProbePoint*> ProbePoints::to_narrow() {
  std::vector<ProbePoint*> points;
  for (auto& [site, point] : points_)
    if (point.crowded && point.patch.size() > 1) points.push_back(&point);
  return points;
}

Result<ProbePoint::Made*> ProbePoints::detour_for(ProbePoint& point, std::vector<std::uint32_t> key, DetourSpec spec) {
  if (point.crowded) key.push_back(kCrowded);
  if (point.plans > 1) key.push_back(kCrowded - point.plans);
  if (auto it = point.made.find(key); it != point.made.end()) return &it->second;
  spec.site = point.site;
  const ImageAddr in_image{point.site.value - point.object->bias};
  const auto function = point.object->image->function_containing(in_image);
  spec.flags = function && function->start == in_image ? FlagsAtSite::Dead : FlagsAtSite::Kept;
  spec.is_called = point.object->image->is_go();
  spec.displaced = std::span(point.plan.original).first(point.crowded ? point.plan.first : point.plan.displaced);
  auto made = KEVT_TRY(make_detour(point, spec));
  return &point.made.emplace(key, std::move(made)).first->second;
}

Result<ProbePoint::Made> ProbePoints::make_detour(const ProbePoint& point, const DetourSpec& spec) {
  auto code =
      KEVT_TRY(placement_.allocate(point.object->loaded.start(), point.object->loaded.end(), max_detour_size(spec)));
  auto made = write_detour(point, spec, code);
  if (!made) placement_.give_back(code);
  return made;
}

Result<ProbePoint::Made> ProbePoints::write_detour(const ProbePoint& point, const DetourSpec& spec, PlacedCode& code) {
  const RemoteAddr at = code.at;
  for (const std::vector<DetourEvent>& events : {spec.entries, spec.returns})
    for (const DetourEvent& event : events)
      if (!reaches(at, event.extractor))
        return std::unexpected(Error(fmt::format("no address space is left near {}", point.object->loaded.path)));
  auto detour = KEVT_TRY(build_detour(spec, at));
  arena_.write(at, detour.code);
  for (const model::FaultEntry& fault : detour.faults)
    KEVT_TRY(placement_.note_fault(code, at + fault.fault, at + fault.fixup));
  for (const x86::MovedOffset& moved : std::span(detour.displaced).first(detour.displaced.size() - 1))
    if (auto noted = placement_.note_fault(code, at + (detour.displaced_base + moved.relocated),
                                           RemoteAddr{(point.site + moved.original).value | KEVT_MAP_COPY_OF});
        !noted)
      return std::unexpected(std::move(noted.error()));
  ProbePoint::Made made{code, std::move(detour.displaced), spec.is_called,
                        std::max(spec.needs, placement_.mapped_with(code.at))};
  for (x86::MovedOffset& moved : made.moved)
    moved.relocated = static_cast<std::uint16_t>(moved.relocated + detour.displaced_base);
  return made;
}

namespace {

// The bytes are as long as a jump where one fits, so that breakpoint and jump may replace each other.
std::vector<std::uint8_t> breakpoint_bytes(const ProbePoint& point) {
  std::vector<std::uint8_t> bytes = point.live;
  bytes.front() = x86::kBreakpoint;
  return bytes;
}

}  // namespace

TextPatch ProbePoints::arm_patch(ProbePoint& point, const ProbePoint::Made& made) const {
  const bool by_jump = point.plan.kind == x86::ArmKind::Jump && uses_jumps_ && !point.crowded;
  const bool only_first = point.crowded && point.patch.size() <= 1;  // what follows may be another point's
  TextPatch patch{.site = point.site,
                  .bytes = by_jump ? jump_bytes(point.site, made.code.at) : breakpoint_bytes(point),
                  .detour = made.code.at,
                  .moved = by_jump ? made.moved : std::vector<x86::MovedOffset>{},
                  .expected = expected_at(point)};
  if (only_first) {
    patch.bytes.resize(1);
    patch.expected.resize(1);
  }
  point.patch = patch.bytes;
  if (point.crowded) point.patch.resize(1);
  if (!by_jump) point.had_breakpoint = true;
  return patch;
}

std::vector<std::uint8_t> ProbePoints::expected_at(const ProbePoint& point) const {
  std::vector<std::uint8_t> expected = point.patch.empty() ? point.live : point.patch;
  expected.insert(expected.end(), point.tail.begin(), point.tail.end());
  if (const auto next = points_.upper_bound(point.site); next != points_.end() && !point.tail.empty())
    expected.resize(std::min<std::size_t>(expected.size(), static_cast<std::size_t>(next->first - point.site)));
  return expected;
}

TextPatch ProbePoints::disarm_patch(ProbePoint& point) const {
  std::vector<std::uint8_t> own = point.live;
  own.resize(point.patch.size());
  TextPatch patch{.site = point.site, .bytes = std::move(own), .expected = expected_at(point)};
  point.patch.clear();
  return patch;
}

void ProbePoints::mark_gone(RemoteAddr site) {
  const auto it = points_.find(site);
  if (it == points_.end()) return;
  it->second.patch.clear();
  it->second.gone = true;
}

}  // namespace kevt::inproc
