// BPF code for fetch IR: one program per event, or one for all events with equal programs.
//
// common/abi/bpf.h describes the maps that the code uses; model::BpfCode says which of them a program uses, and in
// which instructions. No type of LLVM leaves this folder.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/error.h"
#include "compiler/codegen/native.h"
#include "compiler/ir/program.h"
#include "compiler/model/bpf_code.h"

namespace kevt::codegen {

// Whether one event or several run the program. With several, a hit finds its event by the attach cookie.
enum class BpfUsers : std::uint8_t { One, Many };

// Whether numbers that depend on the kernel's types are left open, in code that is to run on other kernels.
enum class BpfNumbers : std::uint8_t { Known, Open };

struct BpfInput {
  std::string name;  // unique in the batch
  const ir::Program* program = nullptr;
  model::BpfContext context = model::BpfContext::Kprobe;
  BpfUsers users = BpfUsers::One;
  BpfNumbers numbers = BpfNumbers::Known;
};

struct BpfOutput {
  std::vector<model::BpfCode> programs;  // one per input
  std::string llvm_ir;                   // after optimization; only when asked for
};

// `possible_cpus`: of the machine that runs the programs. Fails if a program needs something that BPF code cannot do
// (the text says what), or if LLVM refuses.
Result<BpfOutput> compile_bpf(std::span<const BpfInput> inputs, unsigned possible_cpus, KeepIr keep_ir);

// Why this program cannot run as BPF; empty: it can.
std::string bpf_refusal(const ir::Program& program);

}  // namespace kevt::codegen
