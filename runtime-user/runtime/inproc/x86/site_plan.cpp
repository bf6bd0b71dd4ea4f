// Deciding how a probe site is armed.
//
// A jump is about 200 times cheaper than a breakpoint but overwrites 5 bytes, that is up to five
// instructions. It is safe when nothing else can arrive at bytes 1 to 4:
//
//   0: 55           push %rbp        one instruction boundary at 1, one at 4; the instructions up to 8
//   1: 48 89 e5     mov  %rsp,%rbp   are displaced. A jump to 1 or 4 from anywhere, a call inside that
//   4: 48 83 ec 10  sub  $16,%rsp    returns to 1 or 4, a table or pointer that names them: Breakpoint.
//
// Evidence is sought in this order: the instructions themselves, short jumps of this function and its
// neighbours, then everything JumpTargets collects from the whole image. Indirect jumps lead to entries
// of tables and pointers, which are part of that; the entry of a function is accepted even when one of
// its indirect jumps cannot be resolved (no compiler jumps back behind the first byte of a prologue
// through a register), a site in the middle is not.
// Mirrors can_optimize() of arch/x86/kernel/kprobes/opt.c (6.1), which refuses any function with an
// indirect jump. Not done: code that is generated or changed at run time.
#include "runtime-user/runtime/inproc/x86/site_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/target/elf/instruction_start.h"
#include "runtime-user/runtime/inproc/x86/relocate.h"

namespace kevt::x86 {
namespace {

using target::ElfImage;
using target::FunctionRange;
using target::ImageRange;

constexpr std::uint64_t kShortReach = 130;  // a short jump and its own length
constexpr std::ptrdiff_t kNeighbours = 16;  // ranges before the function that are looked at

using Verdict = std::optional<std::string>;  // a reason against, or nothing

constexpr const char* kGoroutineStacks = "the stacks of goroutines are small: a hit runs on the signal stack";
constexpr const char* kMadeAnew = "a JIT compiler made this code: nobody can say what jumps into it";
// Functions in which a new thread still has the thread pointer of its maker, or none (runtime/sys_linux_amd64.s).
constexpr std::string_view kBeforeThreads[] = {"runtime.clone",       "runtime.clone.abi0", "runtime.settls",
                                               "runtime.settls.abi0", "runtime.rt0_go",     "runtime.rt0_go.abi0"};

class SiteCheck {
 public:
  SiteCheck(const ElfImage& image, FunctionCodeCache& functions, ImageAddr site)
      : image_(image), functions_(functions), site_(site) {}

  SitePlan plan(JumpTargets& targets);

 private:
  ImageRange window() const { return {site_ + 1, site_ + kJumpLength}; }
  bool hits(ImageAddr address) const { return window().contains(address); }
  std::string offset_text(ImageAddr address) const;

  Verdict refusal();
  Verdict collect_displaced();
  Verdict check_padding(ImageAddr from) const;
  Verdict check_movable() const;
  Verdict check_thread() const;
  Verdict check_restartable(const JumpTargets& targets) const;
  Verdict check_arrivals() const;
  Verdict check_short_jumps(const FunctionCode& code) const;
  Verdict check_neighbours() const;
  Verdict check_targets(JumpTargets& targets) const;
  Verdict check_target(const JumpTarget& target) const;
  Verdict check_indirect() const;
  Verdict jump_obstacle(JumpTargets& targets);

  SitePlan refused(std::string reason) const { return {ArmKind::Refused, 0, 0, {}, std::move(reason)}; }
  std::vector<std::uint8_t> original(unsigned length) const {
    const auto bytes = image_.bytes_at(site_, length);
    return {bytes.begin(), bytes.end()};
  }

  const ElfImage& image_;
  FunctionCodeCache& functions_;
  ImageAddr site_;
  const FunctionCode* code_ = nullptr;  // of the function around the site
  std::vector<PlacedInstruction> displaced_;
  unsigned displaced_length_ = 0;
};

// "+0x1f" inside the function, else the image address.
std::string SiteCheck::offset_text(ImageAddr address) const {
  const FunctionRange& range = code_->range();
  if (address < range.start || address >= range.end()) return fmt::format("{:#x}", address.value);
  return fmt::format("+{:#x}", address.value - range.start.value);
}

Verdict SiteCheck::refusal() {
  if (!image_.is_executable(site_)) return "the address is not in executable code";
  const std::string_view section = image_.section_name(site_);
  if (section.starts_with(".plt") || section == ".iplt") {
    return fmt::format("the address is in `{}`, which holds linkage stubs and no functions", section);
  }
  const std::optional<FunctionRange> range = image_.function_containing(site_);
  if (!range) return "no function is known there, so its instructions cannot be told apart";
  code_ = &functions_.get(*range);
  const PlacedInstruction* at = code_->covering(site_);
  if (!at) return fmt::format("the bytes at {} are no instruction", offset_text(*code_->undecodable()));
  if (at->address != site_) {
    return fmt::format("not at the start of an instruction (the one at {} covers it)", offset_text(at->address));
  }
  displaced_ = {*at};
  if (auto why = check_movable()) return why;
  return check_thread();
}

Verdict SiteCheck::check_thread() const {
  if (!image_.is_go()) return std::nullopt;
  const auto symbol = image_.symbol_covering(site_);
  if (!symbol || std::ranges::find(kBeforeThreads, symbol->name) == std::end(kBeforeThreads)) return std::nullopt;
  return "a thread runs there before it is one of its own";
}

Verdict SiteCheck::check_movable() const {
  for (const PlacedInstruction& placed : displaced_) {
    const auto why = immovable(placed.in);
    if (why) return fmt::format("the instruction at {} cannot be moved: {}", offset_text(placed.address), *why);
  }
  return std::nullopt;
}

Verdict SiteCheck::check_restartable(const JumpTargets& targets) const {
  for (const ImageRange& range : targets.restartable()) {
    if (site_ + kJumpLength <= range.begin || site_ >= range.end) continue;
    return "the address is in a restartable sequence (rseq), which the kernel would abort";
  }
  return std::nullopt;
}

bool ends_flow(const Instruction& in) {
  return in.flow == Flow::Return || in.flow == Flow::Jump || in.flow == Flow::IndirectJump;
}

// Whole instructions over the 5 bytes, or up to a ret or jmp at the end of the function.
Verdict SiteCheck::collect_displaced() {
  displaced_length_ = displaced_[0].in.length;
  while (displaced_length_ < kJumpLength) {
    const PlacedInstruction& last = displaced_.back();
    if (last.in.flow == Flow::Call || last.in.flow == Flow::IndirectCall) {
      return fmt::format("the call at {} would return into the 5 bytes", offset_text(last.address));
    }
    if (last.end() >= code_->range().end()) {
      if (!ends_flow(last.in)) return "the function is shorter than the 5 bytes of a jump";
      return check_padding(last.end());
    }
    const PlacedInstruction* next = code_->covering(last.end());
    if (!next) return fmt::format("the bytes at {} are no instruction", offset_text(last.end()));
    displaced_.push_back(*next);
    displaced_length_ += next->in.length;
  }
  return std::nullopt;
}

// Bytes behind the function may be overwritten where they only fill the gap to the next one.
Verdict SiteCheck::check_padding(ImageAddr from) const {
  for (ImageAddr at = from; at < window().end;) {
    const auto bytes = image_.bytes_at(at, 15);
    const std::optional<Instruction> in = decode(bytes);
    const bool filler = in && (in->shape == Shape::Nop || bytes[0] == 0xcc);
    if (!filler) return "the function is shorter than the 5 bytes of a jump and no padding follows it";
    at = at + in->length;
  }
  return std::nullopt;
}

// What the displaced instructions and the function's own structure say.
Verdict SiteCheck::check_arrivals() const {
  if (const auto next = image_.next_function_start(site_); next && hits(*next)) {
    return fmt::format("another function starts at +{:#x} inside the 5 bytes", *next - site_);
  }
  for (std::size_t i = 1; i < displaced_.size(); ++i) {
    if (hits(displaced_[i].address) && displaced_[i].in.shape == Shape::EndBranch) {
      return fmt::format("an endbr64 at {} marks a jump target inside the 5 bytes", offset_text(displaced_[i].address));
    }
  }
  const std::vector<ImageAddr>& pads = image_.landing_pads();
  if (const auto pad = std::ranges::lower_bound(pads, window().begin); pad != pads.end() && hits(*pad)) {
    return fmt::format("an exception handler starts at {} inside the 5 bytes", offset_text(*pad));
  }
  if (hits(image_.entry())) return "the program's entry point lies inside the 5 bytes";
  return std::nullopt;
}

Verdict SiteCheck::check_short_jumps(const FunctionCode& code) const {
  const auto first = std::ranges::lower_bound(code.branches(), window().begin, {}, &DirectBranch::target);
  if (first == code.branches().end() || !hits(first->target)) return std::nullopt;
  const std::string_view what = first->flow == Flow::Call ? "call" : "jump";
  return fmt::format("a {} at {} lands inside the 5 bytes", what, offset_text(first->source));
}

Verdict SiteCheck::check_neighbours() const {
  const std::vector<FunctionRange>& all = image_.functions();
  auto near = std::ranges::lower_bound(all, code_->range().start, {}, &FunctionRange::start);
  const std::uint64_t low = site_.value > kShortReach ? site_.value - kShortReach : 0;
  for (auto before = near; before != all.begin() && near - before < kNeighbours;) {
    --before;
    if (before->end().value < low) continue;  // not the end: a longer range may enclose this one
    if (auto why = check_short_jumps(functions_.get(*before))) return why;
  }
  for (; near != all.end() && near->start.value < site_.value + kJumpLength + kShortReach; ++near) {
    if (near->start == code_->range().start) continue;
    if (auto why = check_short_jumps(functions_.get(*near))) return why;
  }
  return std::nullopt;
}

Verdict SiteCheck::check_target(const JumpTarget& target) const {
  switch (target.kind) {
    case TargetSource::Branch:
    case TargetSource::Address: {
      // Found at any byte offset: it counts unless it lies across the real instructions.
      if (target::is_instruction_start(image_, target.source) == false) return std::nullopt;
      const std::string_view what = target.kind == TargetSource::Branch ? "jump" : "code address taken";
      return fmt::format("a {} at {} lands inside the 5 bytes", what, offset_text(target.source));
    }
    case TargetSource::JumpTable:
      return fmt::format("the jump table at {:#x} leads inside the 5 bytes", target.source.value);
    case TargetSource::Pointer:
      return fmt::format("the pointer at {:#x} leads inside the 5 bytes", target.source.value);
  }
  return std::nullopt;
}

Verdict SiteCheck::check_targets(JumpTargets& targets) const {
  for (const JumpTarget& target : targets.within(window().begin, window().end)) {
    if (auto why = check_target(target)) return why;
  }
  return std::nullopt;
}

Verdict SiteCheck::check_indirect() const {
  if (code_->range().start == site_) return std::nullopt;
  if (const auto at = code_->undecodable()) {
    return fmt::format("the function's bytes at {} are no instructions, so its jumps are not all known",
                       offset_text(*at));
  }
  if (const auto jump = code_->unresolved_jump()) {
    return fmt::format("the targets of the indirect jump at {} are not known", offset_text(*jump));
  }
  return std::nullopt;
}

Verdict SiteCheck::jump_obstacle(JumpTargets& targets) {
  if (auto why = collect_displaced()) return why;
  if (auto why = check_movable()) return why;
  if (auto why = check_arrivals()) return why;
  if (auto why = check_short_jumps(*code_)) return why;
  if (auto why = check_neighbours()) return why;
  if (auto why = check_targets(targets)) return why;
  return check_indirect();
}

SitePlan SiteCheck::plan(JumpTargets& targets) {
  if (auto why = refusal()) return refused(std::move(*why));
  if (auto why = check_restartable(targets)) return refused(std::move(*why));
  const auto obstacle = image_.is_go()    ? Verdict(kGoroutineStacks)
                        : image_.is_jit() ? Verdict(kMadeAnew)
                                          : jump_obstacle(targets);
  const unsigned first = displaced_[0].in.length;
  if (auto why = obstacle) {
    return {ArmKind::Breakpoint, first, first, original(first), std::move(*why)};
  }
  return {ArmKind::Jump, displaced_length_, first, original(std::max(displaced_length_, kJumpLength)), {}};
}

}  // namespace

SitePlan plan_site(const ElfImage& image, ImageAddr site) {
  JumpTargets targets = JumpTargets::into_window(image, {site, site + kJumpLength});
  FunctionCodeCache functions(image);
  return SiteCheck(image, functions, site).plan(targets);
}

const SitePlan& SitePlanner::plan(ImageAddr site) {
  if (!targets_) targets_ = image_->is_jit() ? JumpTargets() : JumpTargets::of_image(*image_);
  const auto known = plans_.find(site);
  if (known != plans_.end()) return known->second;
  return plans_.emplace(site, SiteCheck(*image_, functions_, site).plan(*targets_)).first->second;
}

}  // namespace kevt::x86
