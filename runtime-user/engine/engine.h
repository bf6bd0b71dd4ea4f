// Engine: events and their state, over one runtime: define → compile → install → arm → stream.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/model/definition.h"
#include "compiler/model/record_layout.h"
#include "compiler/target/event_catalog.h"
#include "compiler/target/target_env.h"
#include "runtime-user/engine/draft.h"
#include "runtime-user/runtime/probe_runtime.h"

namespace kevt::engine {

// An event as the user sees it. Several probes may share one (appending).
struct Event {
  std::string group;
  std::string name;
  std::uint32_t id = 0;          // common_type
  model::Definition definition;  // of the first probe
  model::RecordLayout layout;
  std::vector<runtime::ProbeHandle> probes;
  std::vector<std::string> listings;  // one per probe
  std::optional<std::string> filter;
};

class Engine final : public target::EventCatalog {
 public:
  Engine(runtime::ProbeRuntime& runtime, const target::TargetEnv& env) : runtime_(runtime), env_(env) {}

  // Defines events together: one compilation, all or nothing. False: `problems` says why.
  Result<bool> define(std::span<const std::string> definitions, std::span<const EventFilter> filters,
                      std::vector<Problem>& problems);
  Result<void> enable_all();
  Result<void> disable_all();

  const std::deque<Event>& events() const { return events_; }
  const Event* by_probe(runtime::ProbeHandle probe) const;
  // Over all probes of the event.
  runtime::EventCounts counts(const Event& event) const;

  const target::CatalogEntry* find(std::string_view group, std::string_view event) const override;

 private:
  std::vector<runtime::ProbeHandle> all_probes() const;

  runtime::ProbeRuntime& runtime_;
  const target::TargetEnv& env_;
  std::deque<Event> events_;  // in the order of the catalog, and of their ids
  Catalog catalog_;
  std::vector<const Event*> by_probe_;
};

}  // namespace kevt::engine
