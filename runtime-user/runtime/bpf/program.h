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

// What its references become.
struct ProgramMaps {
  int events = -1;
  int rings = -1;
  int scratch = -1;
  int words = -1;
  int kept = -1;
  int hits = -1;
};

// A refusal by the verifier is our mistake: its log is kept in a file that the error names.
Result<UniqueFd> load_program(const std::string& event, const model::BpfCode& code, const ProgramMaps& maps);
// The same for instructions that are complete.
struct ProgramKind {
  bpf_prog_type type = BPF_PROG_TYPE_UNSPEC;
  std::uint32_t flags = 0;  // BPF_F_…
};
Result<UniqueFd> load_instructions(const std::string& event, std::span<const bpf_insn> instructions, ProgramKind kind);

// How often the kernel did not run it since it was loaded, as it was running on that CPU already; nullopt: not told. Of
// programs that perf runs it counts nothing.
std::optional<std::uint64_t> skipped_runs(int program);

}  // namespace kevt::bpf
