// Engine: events and their state, over one runtime: define → compile → install → arm → stream.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
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
#include "runtime-user/engine/event_table.h"
#include "runtime-user/runtime/probe_runtime.h"

namespace kevt::engine {

// An event as the user sees it. Several probes may share one (appending).
struct Event {
  std::string group;
  std::string name;
  std::uint32_t id = 0;          // common_type
  model::Definition definition;  // of the first probe
  model::RecordLayout layout;
  std::vector<std::string> listings;  // one per probe
  std::optional<std::string> filter;
};

// What becomes of a definition whose library is not loaded.
enum class Missing : std::uint8_t { Refused, Waits };
// What one that is wrong, or cannot be placed, does to those that are defined with it: takes them all down, as
// register_kprobes() does, or nothing.
enum class Together : std::uint8_t { AllOrNothing, EachByItself };

class Engine final : public target::EventCatalog {
 public:
  Engine(runtime::ProbeRuntime& runtime, const target::TargetEnv& env, Missing missing = Missing::Refused)
      : runtime_(runtime), env_(env), missing_(missing) {}

  // Code that was made earlier and is not compiled again. Kept by the caller.
  void set_code(pipeline::MadeCode made) { made_ = made; }
  // What event probes may stand on. Kept by the caller.
  void set_statics(const target::EventCatalog* statics) { statics_ = statics; }
  // What is defined from now on injects so.
  void set_injections(std::vector<EventInjection> injections) { injections_ = std::move(injections); }
  // Defines events together, in one compilation; `problems` says what is wrong. False: nothing is defined.
  Result<bool> define(std::span<const std::string> definitions, std::span<const EventFilter> filters,
                      std::vector<Problem>& problems, Together together = Together::AllOrNothing);
  // Has the events of another engine, without their probes, which all wait. Defines nothing itself from now on.
  void define_as(const Engine& other);
  // Installs those that have waited and whose library is there now: their probes, to be armed. What turns out wrong
  // with them then (no such function, no room) is a problem, and waits no more.
  Result<std::vector<runtime::ProbeHandle>> define_arrived(std::vector<Problem>& problems);
  // The definitions that wait, in their order.
  std::vector<std::string> waiting() const;
  Result<void> enable_all();
  Result<void> disable_all();

  const std::deque<Event>& events() const { return *events_; }
  // Those that are installed.
  std::span<const runtime::ProbeHandle> probes(const Event& event) const { return probes_[event.id - kFirstId]; }
  const Event* by_probe(runtime::ProbeHandle probe) const;
  // Over all probes of the event.
  runtime::EventCounts counts(const Event& event) const;

  const target::CatalogEntry* find(std::string_view group, std::string_view event) const override;

 private:
  // `written`: the text, parsed when it was first needed, by any of the engines that have it.
  struct Defined {
    std::string definition;
    std::optional<std::string> filter;
    std::size_t event = 0;  // in events_
    std::optional<model::Definition> written = std::nullopt;
  };
  // Events whose place is known, and where each belongs in events_.
  struct Batch {
    std::vector<pipeline::CheckedEvent> events;
    std::vector<std::vector<std::optional<model::FilterExpr>>> sinks;  // one each
    std::vector<std::uint32_t> ids;
    std::vector<std::size_t> indices;  // for problems

    void add(pipeline::CheckedEvent event, std::optional<model::FilterExpr> filter, std::uint32_t id,
             std::size_t index);
    Problem problem(std::size_t i, std::string why) const;
  };

  struct Placed {
    runtime::ProbeHandle probe = 0;
    std::uint32_t id = 0;  // of its event
  };

  void expect_waiting();
  std::optional<pipeline::CheckedEvent> check_arrived(const Defined& one, diag::Sink& sink) const;
  Result<pipeline::CompiledEvents> compile(const Batch& batch) const;
  Result<std::vector<Placed>> place(const model::CompiledBatch& compiled, std::span<const std::uint32_t> ids);
  Result<std::vector<Placed>> install(const Batch& batch);
  std::vector<Placed> install_each(const Batch& batch, std::vector<Problem>& problems);
  std::vector<Placed> install_one_by_one(const Batch& batch, std::vector<Problem>& problems);
  void add_to(Batch& batch, pipeline::CheckedEvent event, std::optional<model::FilterExpr> filter, std::size_t position,
              std::size_t index) const;
  std::vector<runtime::ProbeHandle> all_probes() const;
  void keep(std::span<const Placed> probes);
  std::optional<model::Injection> injection_of(const model::Definition& definition) const;
  Result<void> check_injections(const Draft& draft) const;
  void note_event(const Draft::Entry& entry, std::size_t position);

  runtime::ProbeRuntime& runtime_;
  const target::TargetEnv& env_;
  Missing missing_;
  std::shared_ptr<std::vector<Defined>> defined_ = std::make_shared<std::vector<Defined>>();  // see define_as()
  std::vector<std::size_t> waiting_;                                                          // indices into defined_
  std::vector<EventInjection> injections_;
  pipeline::MadeCode made_;
  const target::EventCatalog* statics_ = nullptr;
  // In the order of the catalog, and of their ids; see define_as().
  std::shared_ptr<std::deque<Event>> events_ = std::make_shared<std::deque<Event>>();
  std::vector<std::vector<runtime::ProbeHandle>> probes_;  // of each event
  Catalog catalog_;
  std::vector<const Event*> by_probe_;
};

}  // namespace kevt::engine
