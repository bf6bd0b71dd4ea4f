// ProbeLink: a BPF program attached to a probe by a perf event, or to a tracepoint. Undone by its destructor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/unique_fd.h"
#include "compiler/model/definition.h"

struct perf_event_attr;

namespace kevt::bpf {

class ProbeLink {
 public:
  struct Program {
    int fd = -1;
    std::uint64_t cookie = 0;
  };
  // The error carries the kernel's errno: EILSEQ between instructions, EINVAL where no probe may be.
  static Result<ProbeLink> kprobe(Program program, std::uint64_t address, model::ProbeKind point);
  static Result<ProbeLink> uprobe(Program program, const model::FilePlace& place, model::ProbeKind point);

  // At a static event, by its id.
  static Result<ProbeLink> tracepoint(Program program, std::uint32_t id);

  // At a tracepoint by its name: the program gets its arguments. EINVAL: the program reads more of them than there are.
  static Result<ProbeLink> raw_tracepoint(Program program, const std::string& name);

  // At accesses to kernel memory, on every CPU that is online. EINVAL: no CPU can watch that; ENOSPC: all debug
  // registers of a CPU are in use.
  static Result<ProbeLink> watch(Program program, const model::WatchPlace& place, std::uint64_t address);

  // Accesses that were seen since it was attached, whether the program ran or not; nullopt: not a watch.
  std::optional<std::uint64_t> accesses() const;
  // Hits that did not run the program since it was attached; nullopt: this kernel does not say (before 6.7).
  std::optional<std::uint64_t> missed() const;

 private:
  ProbeLink(UniqueFd event, UniqueFd link) : event_(std::move(event)), link_(std::move(link)) {}
  static Result<ProbeLink> link(Program program, perf_event_attr& attributes, const char* what, int cpu = 0);
  static Result<ProbeLink> open(Program program, perf_event_attr& attributes, const char* pmu, model::ProbeKind point);
  UniqueFd event_;  // none where perf has no part in it
  UniqueFd link_;
  std::vector<ProbeLink> others_;  // of a watch: those of the other CPUs
  bool is_watch_ = false;
  int program_ = -1;           // without perf: the program, which counts the misses; the caller owns it
  std::uint64_t skipped_ = 0;  // misses before it was attached
};

}  // namespace kevt::bpf
