// Loading a BpfCode into the kernel.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "common/error.h"
#include "common/unique_fd.h"
#include "compiler/model/bpf_code.h"

namespace kevt::bpf {

// The descriptors that replace a program's references to maps.
struct ProgramMaps {
  int events = -1;
  int rings = -1;
  int scratch = -1;
  int words = -1;
  int kept = -1;
  int hits = -1;
  int stacks = -1;
};

// A refusal by the verifier is our bug: its log is kept in a file that the error names.
Result<UniqueFd> load_program(const std::string& event, const model::BpfCode& code, const ProgramMaps& maps);
// The same for instructions that have no references left.
struct ProgramKind {
  bpf_prog_type type = BPF_PROG_TYPE_UNSPEC;
  std::uint32_t flags = 0;  // BPF_F_…
};
Result<UniqueFd> load_instructions(const std::string& event, std::span<const bpf_insn> instructions, ProgramKind kind);

// How often the kernel has skipped a program since it was loaded because the program was running on that CPU already;
// nullopt: the kernel does not tell. It does not count skipped runs of programs that perf runs.
std::optional<std::uint64_t> skipped_runs(int program);

}  // namespace kevt::bpf
