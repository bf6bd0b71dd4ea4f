// The table of diagnostic kinds, as code.
//
// Problem: some two hundred kinds, each with a name, the kernel's identifier and an exact text, and
// tests that must be able to walk all of them. Idea: one `.def` table, expanded here three times;
// a Kind is an index into every expansion.
//
//   kernel_id(Kind::BadFetchArg) == "BAD_FETCH_ARG",  kernel_text(…) == "Invalid fetch argument"
//
// Rendering lies in render.cpp, advice in help.cpp. Texts mirror kernel/trace/trace_probe.h,
// trace_events_filter.c, trace_events_hist.c and trace_events_synth.c.
#include "compiler/diag/diagnostic.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/assert.h"

namespace kevt::diag {
namespace {

struct Row {
  std::string_view name;
  std::string_view kernel_id;
  std::string_view text;
};

constexpr Row kRows[] = {
#define KEVT_DIAGNOSTIC(name, kernel_id, text) {#name, kernel_id, text},
#include "compiler/diag/diagnostic_kinds.def"
#undef KEVT_DIAGNOSTIC
};

const Row& row(Kind kind) {
  const auto index = static_cast<std::size_t>(kind);
  KEVT_ASSERT(index < std::size(kRows));
  return kRows[index];
}

}  // namespace

std::string_view kind_name(Kind kind) { return row(kind).name; }
std::string_view kernel_id(Kind kind) { return row(kind).kernel_id; }
std::string_view kernel_text(Kind kind) { return row(kind).text; }
std::size_t kind_count() { return std::size(kRows); }

std::string_view location_name(Location location) {
  switch (location) {
    case Location::Kprobe:
      return "trace_kprobe";
    case Location::Uprobe:
      return "trace_uprobe";
    case Location::Fprobe:
      return "trace_fprobe";
    case Location::Eprobe:
      return "event_probe";
    case Location::Synthetic:
      return "synthetic_events";
    case Location::Wprobe:
      return "wprobe";
    case Location::Filter:
      return "event filter parse error";
    case Location::Hist:
      return "hist";
    case Location::Dynevent:
      return "dynevent";
    case Location::Kevtrace:
      return "kevtrace";
  }
  KEVT_ASSERT(!"location");
  return "";
}

std::string location_text(const Diagnostic& diagnostic) {
  std::string text(location_name(diagnostic.location));
  if (!diagnostic.event.empty()) text += ":" + diagnostic.event;
  return text;
}

void Sink::report(Diagnostic diagnostic) {
  const auto later = std::ranges::upper_bound(diagnostics_, diagnostic.order, {}, &Diagnostic::order);
  diagnostics_.insert(later, std::move(diagnostic));
}

}  // namespace kevt::diag
