// A program is loaded without a log first: a log takes time, and only we read it.
#include "runtime-user/runtime/bpf/program.h"

#include <bpf/bpf.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "runtime-user/runtime/bpf/array_map.h"

namespace kevt::bpf {

namespace {

constexpr std::size_t kLogBytes = 1 << 24;

// The descriptor of a map that is looked up.
int whole_map(model::BpfMap map, const ProgramMaps& maps) {
  if (map == model::BpfMap::Events) return maps.events;
  if (map == model::BpfMap::Rings) return maps.rings;
  return map == model::BpfMap::Kept ? maps.kept : maps.stacks;
}

// The descriptor of a map whose only value is addressed.
int value_map(model::BpfMap map, const ProgramMaps& maps) {
  if (map == model::BpfMap::Words) return maps.words;
  if (map == model::BpfMap::HitTables) return maps.hits;
  return map == model::BpfMap::Event ? maps.events : maps.scratch;
}

std::vector<bpf_insn> instructions_of(const model::BpfCode& code, const ProgramMaps& maps) {
  std::vector<bpf_insn> out(code.instructions.size());
  static_assert(sizeof(bpf_insn) == sizeof(std::uint64_t));
  std::memcpy(out.data(), code.instructions.data(), out.size() * sizeof(bpf_insn));
  for (const model::BpfReference& reference : code.references) {
    bpf_insn& low = out.at(reference.instruction);
    bpf_insn& high = out.at(reference.instruction + 1);
    const int offset = low.imm;  // LLVM's, from the start of the symbol
    switch (reference.map) {
      case model::BpfMap::Events:
      case model::BpfMap::Rings:
      case model::BpfMap::Kept:
      case model::BpfMap::Stacks:
        low.src_reg = BPF_PSEUDO_MAP_FD;
        low.imm = whole_map(reference.map, maps);
        high.imm = 0;
        break;
      case model::BpfMap::Event:
      case model::BpfMap::Scratch:
      case model::BpfMap::Words:
      case model::BpfMap::HitTables:
        low.src_reg = BPF_PSEUDO_MAP_VALUE;
        low.imm = value_map(reference.map, maps);
        high.imm = offset;
        break;
    }
  }
  return out;
}

bpf_prog_type type_of(model::BpfContext context) {
  switch (context) {
    case model::BpfContext::Kprobe:
    case model::BpfContext::Uprobe:
      return BPF_PROG_TYPE_KPROBE;
    case model::BpfContext::Tracepoint:
      return BPF_PROG_TYPE_TRACEPOINT;
    case model::BpfContext::Watch:
      return BPF_PROG_TYPE_PERF_EVENT;
    case model::BpfContext::RawTracepoint:
      return BPF_PROG_TYPE_RAW_TRACEPOINT;
  }
  return BPF_PROG_TYPE_UNSPEC;
}

ProgramKind kind_of(model::BpfContext context) {
  return {.type = type_of(context), .flags = model::may_sleep(context) ? std::uint32_t{BPF_F_SLEEPABLE} : 0u};
}

// The last line of the log that does not merely say how much was looked at.
std::string verdict(std::string_view log) {
  std::string_view last;
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(log.size(), line.size() + 1));
    if (!line.empty() && !line.starts_with("processed ") && !line.starts_with("verification time")) last = line;
  }
  return std::string(last);
}

// The name of a file with the log; empty where it cannot be written.
std::string keep_log(std::string_view log) {
  const char* folder = std::getenv("TMPDIR");
  std::string name = std::string(folder && *folder ? folder : "/tmp") + "/kevtrace-verifier-XXXXXX";
  const UniqueFd file(::mkstemp(name.data()));
  if (!file || ::write(file.get(), log.data(), log.size()) < 0) return "";
  return name;
}

Error refused_by_verifier(const std::string& event, const std::string& log) {
  const std::string file = keep_log(log);
  return Error("internal error: the kernel's verifier refuses the program of `" + event + "`: " + verdict(log) +
               (file.empty() ? "" : "; its log is in " + file));
}

}  // namespace

Result<UniqueFd> load_program(const std::string& event, const model::BpfCode& code, const ProgramMaps& maps) {
  return load_instructions(event, instructions_of(code, maps), kind_of(code.context));
}

Result<UniqueFd> load_instructions(const std::string& event, std::span<const bpf_insn> instructions, ProgramKind kind) {
  LIBBPF_OPTS(bpf_prog_load_opts, options, .prog_flags = kind.flags);
  const auto load = [&] {
    return bpf_prog_load(kind.type, "kevtrace", "GPL", instructions.data(), instructions.size(), &options);
  };
  UniqueFd program(load());
  if (program) return program;
  const int reason = errno;
  if (reason == EPERM || reason == ENOMEM || reason == ENOSYS)
    return std::unexpected(bpf_error("loading the BPF program of `" + event + "`", reason));
  std::string log(kLogBytes, '\0');
  options.log_buf = log.data();
  options.log_size = static_cast<std::uint32_t>(log.size());
  options.log_level = 1;
  program = UniqueFd(load());
  if (program) return program;
  log.resize(std::strlen(log.c_str()));
  if (log.empty()) return std::unexpected(bpf_error("loading the BPF program of `" + event + "`", errno));
  return std::unexpected(refused_by_verifier(event, log));
}

std::optional<std::uint64_t> skipped_runs(int program) {
  bpf_prog_info info = {};
  std::uint32_t size = sizeof info;
  if (bpf_obj_get_info_by_fd(program, &info, &size) != 0) return std::nullopt;
  if (size < offsetof(bpf_prog_info, recursion_misses) + sizeof info.recursion_misses) return std::nullopt;
  return info.recursion_misses;
}

}  // namespace kevt::bpf
