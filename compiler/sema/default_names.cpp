// The group and event names of a definition that has none written.
//
//   p mod:f.x+8 → kprobes/p_mod_f_x_8     p /bin/a-b:0x10 → uprobes/p_a_0x10     e sched/x → eprobes/x
//
// Problem: a listing shows the names, and a second probe is appended to an event by its name, so they must be
// the kernel's, odd cases included: uprobe names say 'p' also for return probes and keep a ':' of
// the file's name. An address is printed plainly where the kernel prints its hash.
// Mirrors the "Make a new event name" parts of trace_kprobe.c, trace_uprobe.c, trace_eprobe.c (6.1).
#include <fmt/format.h>

#include <algorithm>

#include "compiler/sema/definition_check.h"

namespace kevt::sema {
namespace {

constexpr std::size_t kMaxNameBytes = 63;

std::string cut(std::string name) {
  if (name.size() > kMaxNameBytes) name.resize(kMaxNameBytes);
  return name;
}

struct GeneratedName {
  const model::Definition& definition;
  bool with_stars = false;  // a '*' is left as it is

  // Replaces characters of a symbol that an event name cannot have, as ':' and '.'.
  std::string sanitized(std::string name) const {
    const auto is_foreign = [this](char c) { return c == ':' || c == '.' || (c == '*' && !with_stars); };
    std::ranges::replace_if(name.empty() ? name.begin() : name.begin() + 1, name.end(), is_foreign, '_');
    return name;
  }
  char letter() const { return definition.probe_kind == model::ProbeKind::Return ? 'r' : 'p'; }

  std::string operator()(const model::SymbolPlace& place) const {
    const std::string module = place.module ? *place.module + ":" : "";
    if (definition.kind == model::EventKind::Fprobe) {
      const bool exit = definition.probe_kind == model::ProbeKind::Return;
      return sanitized(cut(fmt::format("{}{}__{}", module, place.symbol, exit ? "exit" : "entry")));
    }
    return sanitized(cut(fmt::format("{}_{}{}_{}", letter(), module, place.symbol, place.offset)));
  }
  std::string operator()(const model::AddressPlace& place) const {
    return cut(fmt::format("{}_0x{:016x}", letter(), place.address));
  }
  std::string operator()(const model::FilePlace& place) const {
    std::string_view tail = place.path;
    tail.remove_prefix(tail.rfind('/') + 1);
    tail = tail.substr(0, tail.find_first_of(".-_"));
    return cut(fmt::format("p_{}_0x{:x}", tail, place.offset));
  }
  std::string operator()(const model::EventPlace& place) const { return place.event; }
  std::string operator()(const model::TracepointPlace& place) const {
    const bool digit = !place.tracepoint.empty() && place.tracepoint[0] >= '0' && place.tracepoint[0] <= '9';
    return sanitized(cut((digit ? "_" : "") + place.tracepoint));
  }
  std::string operator()(const model::WatchPlace& place) const {
    return place.symbol ? sanitized(cut(*place.symbol)) : fmt::format("w_0x{:x}", place.offset);
  }
};

std::string_view default_group(model::EventKind kind) {
  switch (kind) {
    case model::EventKind::Kprobe:
      return "kprobes";
    case model::EventKind::Uprobe:
      return "uprobes";
    case model::EventKind::Eprobe:
      return "eprobes";
    case model::EventKind::Fprobe:
      return "fprobes";
    case model::EventKind::Tprobe:
      return "tracepoints";
    case model::EventKind::Synthetic:
      return "synthetic";
    case model::EventKind::Watchpoint:
      return "wprobes";
  }
  return "";
}

}  // namespace

void fill_names(const DefinitionCheck& check) {
  model::Definition& definition = check.definition;
  if (definition.group.empty()) definition.group = default_group(definition.kind);
  if (definition.event.empty())
    definition.event =
        std::visit(GeneratedName{definition, !check.has(dialect::Feature::StarsReplaced)}, definition.place);
}

}  // namespace kevt::sema
