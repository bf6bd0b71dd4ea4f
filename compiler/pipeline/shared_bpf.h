// BPF code for many programs: equal programs are compiled once, or not at all if a compiled script has their code.
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
  // Whether numbers in the program come from the kernel's types. Only for such a program code is taken that was made
  // for another kernel with these numbers left open.
  bool uses_target_types = false;
};

struct BpfRequest {
  unsigned possible_cpus = 1;
  codegen::KeepIr keep_ir = codegen::KeepIr::No;
  codegen::BpfNumbers numbers = codegen::BpfNumbers::Known;  // for programs with `uses_target_types`
  const CodeStore* made = nullptr;                           // code in it is not compiled again; may be nullptr
};

struct SharedBpf {
  std::vector<model::BpfCode> programs;
  std::vector<std::uint32_t> places;  // for each task the index of its code in `programs`
  std::string llvm_ir;
};
Result<SharedBpf> compile_bpf_programs(std::span<const BpfTask> tasks, const BpfRequest& request);

// The key under which a CodeStore keeps the code of `task`.
std::string bpf_key(const BpfTask& task, codegen::BpfNumbers numbers);
// Whether `made` has code for `task` on a machine with `possible_cpus` CPUs.
bool is_made(const BpfTask& task, const CodeStore& made, unsigned possible_cpus);

}  // namespace kevt::pipeline
