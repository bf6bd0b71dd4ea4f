// Stacks of a program's hits: what `--stack` adds to a definition, and how a record gives it back.
//
//   p:open libc:open64 path=…    →    … path=… kevt_sp=$stack:x64 kevt_bx=%bx:x64 … kevt_s0=+0($stack):x64[64] …
//
// The fetch-args are ordinary ones; users see neither them nor their bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/error.h"
#include "compiler/target/stack_unwinder.h"
#include "runtime-user/engine/engine.h"

namespace kevt::cli {

// The definition with fetch-args for the registers that unwinding needs and for 2.5 KiB of stack.
std::string with_stack_sample(const std::string& definition);

// A listing of such a definition as it would be without them.
std::string without_stack_sample(const std::string& listing);

// An event that was defined so.
class StackSamples {
 public:
  // nullopt-like: is_sampled() is false where the event has no such fetch-args.
  explicit StackSamples(const engine::Event& event);
  bool is_sampled() const { return is_sampled_; }

  // The event as its definition without the sample would have made it.
  const model::Definition& definition() const { return definition_; }
  const model::RecordLayout& layout() const { return layout_; }
  // The record as that event's format describes it.
  std::vector<std::uint8_t> public_record(std::span<const std::uint8_t> record) const;
  // What the hit found; the bytes are the record's.
  target::StackSample sample(std::span<const std::uint8_t> record) const;

 private:
  const engine::Event& event_;
  bool is_sampled_ = false;
  model::Definition definition_;
  model::RecordLayout layout_;
  std::uint32_t pc_at_ = 0, registers_at_ = 0, stack_at_ = 0;  // offsets in a record
};

}  // namespace kevt::cli
