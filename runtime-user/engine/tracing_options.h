// The options of a Tracing.
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
  sema::CheckRequest check;        // the dialect of definitions, filters and triggers
  // Existing events that nobody can remove; an eprobe may stand on one.
  std::vector<target::CatalogEntry> static_events;
  // Where names in definitions are looked up, in place of the first target's environment.
  const target::TargetEnv* env = nullptr;
  // Targets come and go (Targets::add): a probe must fit at least one of them, and triggers act when records are read.
  bool follows = false;
  // A definition that is wrong, or a probe that a target cannot have, is left out and the rest goes on.
  bool keep_going = false;
  // Probes that cannot be placed are left out, as with keep_going; definitions that are wrong are refused.
  bool leaves_out = false;
  // Hits of these events make the probed function return early, once an event of that name is defined (in process
  // only).
  std::vector<EventInjection> injections;
  // A full table of a histogram drops the hits of new keys, as in a kernel (model::Histogram::drops), except top=N.
  bool kernel_drops = false;
  // Code of compiled scripts, which need not be compiled again. The caller owns it.
  const pipeline::CodeStore* precompiled = nullptr;
  // Records go to a tap (RecordRouter::set_tap), not to the buffers of instances; until a tap is set, records stay in
  // the targets' rings.
  bool is_tapped = false;
};

}  // namespace kevt::engine
