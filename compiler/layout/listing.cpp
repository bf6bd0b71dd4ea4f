// The line of an event in dynamic_events, kprobe_events, uprobe_events.
//
//   r10:kprobes/e vfs_read ret=$retval       p:uprobes/e /bin/sh:0x0000000000001017(0x2224) a=%di
//
// It can be written back, except that an eprobe's filter is not shown. Kernel addresses are printed
// as they are, where the kernel prints a hash.
// Mirrors the *_show functions of trace_kprobe.c, trace_uprobe.c, trace_eprobe.c, trace_events_synth.c (6.1).
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "compiler/layout/layout.h"

namespace kevt::layout {
namespace {

constexpr unsigned kFewestInstances = 10;

struct PlaceText {
  std::string operator()(const model::SymbolPlace& place) const {
    std::string text = place.module ? *place.module + ":" + place.symbol : place.symbol;
    if (place.offset != 0) text += fmt::format("+{}", place.offset);
    return text;
  }
  std::string operator()(const model::AddressPlace& place) const { return fmt::format("0x{:016x}", place.address); }
  std::string operator()(const model::FilePlace& place) const {
    std::string text = fmt::format("{}:0x{:016x}", place.path, place.offset);
    if (place.reference_counter.value_or(0) != 0) text += fmt::format("(0x{:x})", *place.reference_counter);
    return text;
  }
  std::string operator()(const model::EventPlace& place) const {
    return fmt::format("{}.{}", place.system, place.event);
  }
  std::string operator()(const model::TracepointPlace& place) const { return place.tracepoint; }
  std::string operator()(const model::WatchPlace& place) const {
    const std::string where =
        place.symbol ? fmt::format("{}{}0x{:x}", *place.symbol, place.offset < 0 ? '-' : '+', std::abs(place.offset))
                     : fmt::format("0x{:016x}", place.offset);
    return fmt::format("{}@{}:{}", place.access, where, place.length);
  }
};

std::string synthetic_listing(const model::Definition& definition) {
  std::string text = fmt::format("s:{}/{}\t", definition.group, definition.event);
  for (std::size_t i = 0; i < definition.fields.size(); ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : "; ", definition.fields[i].type, definition.fields[i].name);
  }
  return text;
}

std::string letter(const model::Definition& definition, unsigned possible_cpus) {
  const bool returns = definition.probe_kind == model::ProbeKind::Return;
  switch (definition.kind) {
    case model::EventKind::Kprobe:
      if (!returns) return "p";
      if (!definition.maxactive && possible_cpus == 0) return "r";
      return fmt::format("r{}", definition.maxactive.value_or(std::max(kFewestInstances, 2 * possible_cpus)));
    case model::EventKind::Uprobe:
      return returns ? "r" : "p";
    case model::EventKind::Eprobe:
      return "e";
    case model::EventKind::Fprobe:
      return "f";
    case model::EventKind::Tprobe:
      return "t";
    case model::EventKind::Synthetic:
      return "s";
    case model::EventKind::Watchpoint:
      return "w";
  }
  return "";
}

}  // namespace

std::string listing(const model::Definition& definition, unsigned possible_cpus) {
  if (definition.kind == model::EventKind::Synthetic) return synthetic_listing(definition);
  std::string text = fmt::format("{}:{}/{} {}", letter(definition, possible_cpus), definition.group, definition.event,
                                 std::visit(PlaceText{}, definition.place));
  for (const model::FetchArg& arg : definition.args) text += fmt::format(" {}={}", arg.name, arg.text);
  return text;
}

}  // namespace kevt::layout
