// BPF code for many programs: equal ones are compiled once, and not at all where a compiled script has them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/error.h"
#include "compiler/codegen/bpf.h"
#include "compiler/ir/program.h"
#include "compiler/model/bpf_code.h"
#include "compiler/pipeline/code_store.h"

namespace kevt::pipeline {

struct BpfTask {
  const ir::Program* program = nullptr;
  std::string name;  // unique; appears in the LLVM text and in errors
  model::BpfContext context = model::BpfContext::Kprobe;
  // Whether the kernel's types told numbers of it. Code that was made with those open, for another kernel, is taken for
  // such programs alone.
  bool uses_target_types = false;
};

struct BpfRequest {
  unsigned possible_cpus = 1;
  codegen::KeepIr keep_ir = codegen::KeepIr::No;
  codegen::BpfNumbers numbers = codegen::BpfNumbers::Known;  // of programs that are `uses_target_types`
  const CodeStore* made = nullptr;                           // what it has is not compiled
};

struct SharedBpf {
  std::vector<model::BpfCode> programs;
  std::vector<std::uint32_t> places;  // for each task, the program that is its code
  std::string llvm_ir;
};
Result<SharedBpf> compile_bpf_programs(std::span<const BpfTask> tasks, const BpfRequest& request);

// What code of `task` is kept under in a CodeStore.
std::string bpf_key(const BpfTask& task, codegen::BpfNumbers numbers);
// Whether `made` has code for it, on a machine of so many CPUs.
bool is_made(const BpfTask& task, const CodeStore& made, unsigned possible_cpus);

}  // namespace kevt::pipeline
