// debug/kprobes/: as in the kernel's debugfs: the list of probes with their states, and a switch for all of them.
//
//   00007f3c1b2f4a10  k  open64+0x0  libc.so.6 [OPTIMIZED]
//
// One line for each probe in each traced process. [DISABLED]: defined, not armed; [OPTIMIZED]: armed by a jump; [GONE]:
// its library was unloaded. Mirrors report_probe() of kernel/kprobes.c (6.1).
#include <fmt/format.h>

#include <cerrno>

#include "common/error.h"
#include "tracefs-compat/tree/node_table.h"

namespace kevt::tree {

namespace {

std::string_view state_text(const runtime::ArmStatus& status) {
  switch (status.state) {
    case runtime::ArmState::Off:
      return "[DISABLED]";
    case runtime::ArmState::Jump:
      return "[OPTIMIZED]";
    case runtime::ArmState::Breakpoint:
      return "";
    case runtime::ArmState::Gone:
      return "[GONE]";
    case runtime::ArmState::Deferred:  // not in the list
      return "";
  }
  return "";
}

// The probe's address in a target, whether armed or not; 0: it has none.
std::uint64_t address_of(const model::Definition& definition, const target::TargetEnv& env) {
  if (const auto* place = std::get_if<model::AddressPlace>(&definition.place)) return place->address;
  const auto* place = std::get_if<model::SymbolPlace>(&definition.place);
  if (!place) return 0;
  const auto symbol = env.find_function(place->module, place->symbol);
  return symbol ? symbol->address + place->offset : 0;
}

std::string place_text(std::uint64_t address, const model::Definition& definition, const target::TargetEnv& env) {
  const auto symbol = env.symbolize(address);
  if (symbol)
    return fmt::format("{}+0x{:x}  {} ", symbol->name, address - symbol->address,
                       symbol->module.empty() ? " " : symbol->module);
  const auto* place = std::get_if<model::SymbolPlace>(&definition.place);
  return fmt::format("{}  {} ", place ? place->symbol : fmt::format("0x{:x}", address),
                     place ? place->module.value_or(" ") : " ");
}

std::string list_text(const engine::Tracing& tracing) {
  std::string text;
  for (const auto& [id, event] : tracing.events().events()) {
    if (event->owner != target::EventOwner::Kprobe) continue;
    for (std::size_t i = 0; i < event->probes.size(); ++i) {
      const model::Definition& definition = event->probes[i].definition();
      const auto states = tracing.code().arm_status(id, i);
      for (std::size_t t = 0; t < states.size(); ++t) {
        if (states[t].state == runtime::ArmState::Deferred) continue;  // it is at no address yet
        const target::TargetEnv& env = tracing.code().targets()[t]->known_env();
        const std::uint64_t address = address_of(definition, env);
        text +=
            fmt::format("{:016x}  {}  {}{}\n", address, definition.probe_kind == model::ProbeKind::Return ? 'r' : 'k',
                        place_text(address, definition, env), state_text(states[t]));
      }
    }
  }
  return text;
}

Opened open_switch(std::function<bool()> is_on, std::function<Result<void>(bool)> set) {
  return open_text({.read = [is_on]() -> Result<std::string> { return std::string(is_on() ? "1\n" : "0\n"); },
                    .write = [set](std::string_view text, const Caller&) -> Result<void> {
                      auto value = KEVT_TRY(parse_number(text, 10));
                      if (value > 1) return fails(EINVAL);
                      return set(value == 1);
                    },
                    .write_some = {}});
}

}  // namespace

Opened open_kprobes_list(const Place& place, const OpenRequest&) {
  return open_text(
      {.read = [place]() -> Result<std::string> { return list_text(*place.tracing); }, .write = {}, .write_some = {}});
}

// There is no function tracer, but tools read these files to learn what can be probed.
Opened open_available_functions(const Place& place, const OpenRequest&) {
  return open_text({.read = [place]() -> Result<std::string> {
                      std::string text;
                      for (const engine::TracedTarget* target : place.tracing->code().targets())
                        text += target->functions();
                      return text;
                    },
                    .write = {},
                    .write_some = {}});
}

Opened open_kprobes_enabled(const Place& place, const OpenRequest&) {
  return open_switch([place] { return place.tracing->switcher().probes_armed(); },
                     [place](bool on) { return place.tracing->switcher().set_probes_armed(on); });
}

// Which code may not be probed is found out per address, from the program; there is no list of ranges.
Opened open_kprobes_blacklist(const Place&, const OpenRequest&) {
  return open_text({.read = []() -> Result<std::string> { return std::string(); }, .write = {}, .write_some = {}});
}

Opened open_kprobes_optimization(const Place& place, const OpenRequest&) {
  return open_switch([place] { return place.tracing->switcher().uses_jumps(); },
                     [place](bool on) { return place.tracing->switcher().use_jumps(on); });
}

}  // namespace kevt::tree
