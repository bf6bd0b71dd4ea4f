// Stacks of a program's hits: what `run --stack` and the trigger `stacktrace` add to a definition, and how a record
// gives it back.
//
//   p:open libc:open64 path=…    →    … path=… kevt_sp=$stack:x64 kevt_bx=%bx:x64 … kevt_s0=+0($stack):x64[64] …
//
// The fetch-args are ordinary ones; users see neither them nor their bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/model/definition.h"
#include "compiler/model/record_layout.h"
#include "compiler/target/stack_unwinder.h"

namespace kevt::engine {

// The definition with fetch-args for the registers that unwinding needs and for 2.5 KiB of stack.
std::string with_stack_sample(const std::string& definition);

// A listing of such a definition, or its text, as it would be without them.
std::string without_stack_sample(const std::string& listing);
// The same of a mistake in one; that there is no room for the sample is told.
void hide_stack_sample(diag::Diagnostic& mistake);

// The records of an event that was defined so.
class StackSamples {
 public:
  // nullopt where the layout has no such fetch-args.
  static std::optional<StackSamples> of(const model::RecordLayout& sampled);

  // As the definition without the sample would have made it.
  const model::RecordLayout& layout() const { return layout_; }
  model::Definition definition(model::Definition sampled) const;
  // The record as that layout describes it. `record` may be hostile.
  std::vector<std::uint8_t> public_record(std::span<const std::uint8_t> record) const;
  // What the hit found; the bytes are the record's.
  target::StackSample sample(std::span<const std::uint8_t> record) const;

 private:
  StackSamples() = default;

  model::RecordLayout layout_;
  std::size_t args_ = 0;                                       // of the definition without the sample
  std::uint32_t whole_size_ = 0;                               // of a record's fixed part, with the sample
  std::uint32_t pc_at_ = 0, registers_at_ = 0, stack_at_ = 0;  // offsets in a record
};

}  // namespace kevt::engine
