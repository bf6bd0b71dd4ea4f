// ProbeLink: a BPF program attached to a probe by a perf event. Undone by its destructor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

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
  static Result<ProbeLink> kprobe(Program program, std::uint64_t address, model::ProbePoint point);
  static Result<ProbeLink> uprobe(Program program, const model::FilePlace& place, model::ProbePoint point);

  // At a static event, by its id.
  static Result<ProbeLink> tracepoint(Program program, std::uint32_t id);

  // Hits that did not run the program; nullopt: this kernel does not say (before 6.7).
  std::optional<std::uint64_t> missed() const;

 private:
  ProbeLink(UniqueFd event, UniqueFd link) : event_(std::move(event)), link_(std::move(link)) {}
  static Result<ProbeLink> link(Program program, perf_event_attr& attributes, const char* what);
  static Result<ProbeLink> open(Program program, perf_event_attr& attributes, const char* pmu, model::ProbePoint point);
  UniqueFd event_;
  UniqueFd link_;
};

}  // namespace kevt::bpf
