// kevtrace cost: what a hit will cost, without running it.
//
//   $ kevtrace cost -e 'p:open libc:openat path=+0(%si):string' --filter 'open: path ~ "/etc/*"' -- ls
//   event               probe      accepted             rejected
//   kprobes/open        jump       107 instr  12.4 ns   45-98 instr  2.7-5.9 ns
//
// Instructions are counted in the code that would run; the time is computed from that count and costs that are measured
// on this machine now. Without a PROGRAM it is unknown how a probe would be armed, and a jump is assumed.
#include <fmt/format.h>

#include <algorithm>

#include "cli/definitions/compilation.h"
#include "cli/exit_status.h"
#include "cli/verbs/commands.h"
#include "common/print.h"
#include "runtime-user/runtime/inproc/code/hit_cost.h"
#include "runtime-user/runtime/inproc/x86/site_plan.h"

namespace kevt::cli {

namespace {

enum class Armed : std::uint8_t { Assumed, Jump, Breakpoint, Refused };

Armed armed(const Compilation& compilation, const model::CompiledEvent& event) {
  if (!compilation.program()) return Armed::Assumed;
  const auto place = compilation.program()->place(RemoteAddr{event.place_address});
  if (!place) return Armed::Refused;
  switch (x86::plan_site(*place->image, place->address).kind) {
    case x86::ArmKind::Jump:
      return Armed::Jump;
    case x86::ArmKind::Breakpoint:
      return Armed::Breakpoint;
    case x86::ArmKind::Refused:
      return Armed::Refused;
  }
  return Armed::Refused;
}

std::string_view assumed_text(Armed armed) {
  switch (armed) {
    case Armed::Assumed:
      return "(jump)";
    case Armed::Jump:
      return "jump";
    case Armed::Breakpoint:
      return "int3";
    case Armed::Refused:
      return "refused";
  }
  return "";
}

std::uint32_t longest_array(const ir::Program& program) {
  std::uint32_t longest = 1;
  for (const ir::Store& store : program.stores) longest = std::max<std::uint32_t>(longest, store.count);
  return longest;
}

// "107 instr 12.4 ns", or both ends of a range; `beside` is added to the instructions' time.
std::string cost_text(const std::optional<x86::PathRange>& range, const inproc::MachineCosts& machine, double beside) {
  if (!range) return "-";
  const auto ns = [&](std::uint32_t instructions) { return machine.instruction * instructions + beside; };
  if (range->least == range->most) return fmt::format("{} instr {:.1f} ns", range->least, ns(range->least));
  return fmt::format("{}-{} instr {:.1f}-{:.1f} ns", range->least, range->most, ns(range->least), ns(range->most));
}

}  // namespace

int cost(const CostOptions& options, const GlobalOptions& global) {
  Reporter report(global);
  Compilation compilation(report);
  if (auto failed = compilation.compile(options.definitions, options.filters, options.command)) return *failed;
  const inproc::MachineCosts machine = inproc::measure_machine();
  print("{:<24} {:<8} {:<32} {}\n", "event", "probe", "accepted", "rejected");
  bool any_refused = false;
  for (std::size_t i = 0; i < compilation.events().size(); ++i) {
    const model::CompiledEvent& event = compilation.compiled().batch.events[i];
    const Armed how = armed(compilation, event);
    any_refused = any_refused || how == Armed::Refused;
    const std::uint32_t turns = longest_array(compilation.compiled().programs[i]);
    const x86::PathLengths lengths = inproc::hit_instructions(event, compilation.code(i), turns);
    const double extra = how == Armed::Breakpoint ? machine.breakpoint : 0;
    print("{:<24} {:<8} {:<32} {}\n", event.definition.group + "/" + event.definition.event, assumed_text(how),
          cost_text(lengths.recorded, machine, machine.record + extra),
          compilation.filters()[i] ? cost_text(lengths.rejected, machine, extra) : "-");
  }
  report.status(
      fmt::format("this machine: {:.3f} ns an instruction, {:.1f} ns a record's time stamp and reservation, "
                  "{:.0f} ns an int3; strings of up to 15 characters",
                  machine.instruction, machine.record, machine.breakpoint));
  return any_refused ? kFailed : kOk;
}

}  // namespace kevt::cli
