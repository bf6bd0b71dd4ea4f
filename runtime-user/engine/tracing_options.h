// What a Tracing is made with.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/pipeline/code_store.h"
#include "compiler/sema/sema.h"
#include "compiler/target/event_catalog.h"
#include "compiler/target/target_env.h"
#include "runtime-user/engine/events/draft.h"

namespace kevt::engine {

struct TracingOptions {
  std::uint32_t cpus = 1;
  std::uint64_t buffer_kb = 1408;  // per CPU, of each instance at first
  sema::CheckRequest check;        // whose language definitions, filters and triggers are in
  // Events that are there already and are nobody's to remove: an eprobe may stand on them.
  std::vector<target::CatalogEntry> static_events;
  // Used instead of the first target's for looking at definitions.
  const target::TargetEnv* env = nullptr;
  // Targets come and go (Targets::add): a probe has to be in one of them, and triggers act when records are read.
  bool follows = false;
  // What cannot be had, of definitions or in a target, takes nothing else down.
  bool keep_going = false;
  // Hits of these events make their function return, whenever the events are defined (in process).
  std::vector<EventInjection> injections;
  // Code of compiled scripts, which need not be compiled again; kept by the caller.
  const pipeline::CodeStore* precompiled = nullptr;
  // Records go to a tap (RecordRouter::set_tap), not to the buffers of instances; until there is one they stay in the
  // targets' rings.
  bool is_tapped = false;
};

}  // namespace kevt::engine
