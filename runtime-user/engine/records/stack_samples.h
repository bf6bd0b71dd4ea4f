// Stack samples of a process's hits: the fetch-args that `run --stack` and the trigger `stacktrace` add to a
// definition, and how they are read from a record.
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
#include "compiler/target/process/stack_unwinder.h"

namespace kevt::engine {

// Appends fetch-args for the registers that unwinding needs and for 2.5 KiB of stack, to a definition as it was parsed.
void add_stack_sample(model::Definition& written);

// Adds a note to a mistake that a definition has only because of the sample.
void explain_stack_sample(diag::Diagnostic& mistake);

// Reads the records of a definition with a stack sample.
class StackSamples {
 public:
  // nullopt: the layout has no stack sample.
  static std::optional<StackSamples> of(const model::RecordLayout& sampled);

  // The layout of the same definition without the sample.
  const model::RecordLayout& layout() const { return layout_; }
  // The record without the sample, in the form of layout(). `record` may be hostile.
  std::vector<std::uint8_t> public_record(std::span<const std::uint8_t> record) const;
  // The registers and stack at the hit; the stack's bytes point into `record`.
  target::StackSample sample(std::span<const std::uint8_t> record) const;

 private:
  StackSamples() = default;

  model::RecordLayout layout_;
  std::uint32_t whole_size_ = 0;                               // of a record's fixed part, with the sample
  std::uint32_t pc_at_ = 0, registers_at_ = 0, stack_at_ = 0;  // offsets in a record
};

}  // namespace kevt::engine
