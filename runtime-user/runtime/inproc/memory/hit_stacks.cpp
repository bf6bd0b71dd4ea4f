// Rules are made when stacks are first asked for, and again whenever other files are known to be mapped: told by the
// dynamic linker, or met in a sample. A walk that began by the old ones is thrown away, and its hit sends a sample.
#include "runtime-user/runtime/inproc/memory/hit_stacks.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace kevt::inproc {

Result<void> HitStacks::begin() {
  if (unwinder_) return {};
  unwinder_ = KEVT_TRY(target::StackUnwinder::of_process(pid_));
  publish();
  return {};
}

void HitStacks::note_new_files() {
  if (!unwinder_) return;
  unwinder_->refresh();
  publish();
}

void HitStacks::note_jit_code() {
  if (!unwinder_) return;
  unwinder_->refresh_jit();
  publish();
}

void HitStacks::publish() {
  if (std::exchange(published_, unwinder_->version()) == unwinder_->version()) return;
  kevt_tables& tables = memory_.tables();
  const std::uint64_t next = tables.rule_generation + 1;
  const auto room = memory_.rules(next & 1);
  const std::vector<kevt_stack_rule> rules = unwinder_->rules(room.size());
  std::ranges::copy(rules, room.begin());
  __atomic_store_n(&tables.rule_counts[next & 1], rules.size(), __ATOMIC_RELEASE);
  __atomic_store_n(&tables.rule_generation, next, __ATOMIC_RELEASE);
}

std::span<const std::uint64_t> HitStacks::numbered(std::uint64_t number) {
  addresses_.clear();
  const kevt_stacks& stacks = memory_.stacks();
  if (number == 0 || number >= KEVT_STACK_WORDS - KEVT_STACK_DEPTH) return addresses_;
  const std::uint64_t count = std::min<std::uint64_t>(load_acquire(stacks.words[number]), KEVT_STACK_DEPTH);
  for (std::uint64_t i = 0; i < count; ++i) addresses_.push_back(load_acquire(stacks.words[number + 1 + i]));
  return addresses_;
}

std::span<const std::uint64_t> HitStacks::take(std::span<std::uint8_t>& record) {
  addresses_.clear();
  std::uint64_t number = 0;
  if (record.size() < sizeof number) return addresses_;
  std::memcpy(&number, record.last(sizeof number).data(), sizeof number);
  record = record.first(record.size() - sizeof number);
  if (number) return numbered(number);
  kevt_stack_sample sample;
  if (record.size() < sizeof sample) return addresses_;
  std::memcpy(&sample, record.last(sizeof sample).data(), sizeof sample);
  record = record.first(record.size() - sizeof sample);
  if (!unwinder_) return addresses_;
  addresses_ = unwinder_->unwind({.pc = sample.pc,
                                  .sp = sample.sp,
                                  .bx = sample.bx,
                                  .bp = sample.bp,
                                  .r12 = sample.r12,
                                  .r13 = sample.r13,
                                  .r14 = sample.r14,
                                  .r15 = sample.r15,
                                  .stack = {reinterpret_cast<const std::uint8_t*>(sample.stack), sizeof sample.stack}});
  publish();  // it may have met a file that nobody has told of
  return addresses_;
}

}  // namespace kevt::inproc
