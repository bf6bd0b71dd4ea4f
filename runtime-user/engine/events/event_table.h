// EventTable: the dynamic events that are defined, in the order of their definitions; nothing about who runs them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/model/definition.h"
#include "compiler/model/record_layout.h"
#include "compiler/model/trigger.h"
#include "compiler/pipeline/compile.h"
#include "compiler/sema/sema.h"
#include "compiler/target/fixed_target.h"
#include "grammar/parse.h"
#include "runtime-user/engine/static_events.h"

namespace kevt::engine {

inline constexpr std::uint32_t kFirstId = 20000;  // of events: above the kernel's own
inline constexpr std::uint32_t kLastId = 65535;   // common_type has 16 bits

// One probe of an event: one line of dynamic_events.
struct EventProbe {
  std::uint64_t serial = 0;                        // grows with each definition
  model::Definition written;                       // as it was parsed: what each target looks up for itself
  std::shared_ptr<const model::Definition> known;  // as the target in which it was defined has it
  std::string listing;

  const model::Definition& definition() const { return *known; }
};

// An event as the user sees it. Several probes may share one (appending); a static event has none.
struct TracedEvent {
  std::uint32_t id = 0;  // common_type
  std::string group;
  std::string name;
  target::EventOwner owner = target::EventOwner::Kprobe;
  model::RecordLayout layout;
  std::vector<EventProbe> probes;

  bool is_static() const { return owner == target::EventOwner::Static; }
  bool is_of_program() const { return owner == target::EventOwner::Uprobe; }
  model::EventName full_name() const { return {group, name}; }
};

class EventTable {
 public:
  explicit EventTable(sema::CheckRequest request) : request_(request) {}

  // Known to definitions, otherwise none of ours.
  void add_static(target::CatalogEntry event) { catalog_.add(std::move(event)); }
  // An event that a target has of itself: listed and switched like the others.
  void add_running(const StaticEvent& event);
  // Checks a definition in `env` and keeps it. nullptr: refused, `sink` says why.
  const TracedEvent* define(model::Definition definition, const target::TargetEnv& env, diag::Sink& sink) {
    return define(std::move(definition), env, sink, request_);
  }
  // By another request's rules.
  const TracedEvent* define(model::Definition definition, const target::TargetEnv& env, diag::Sink& sink,
                            const sema::CheckRequest& request);
  // Keeps a definition that was checked against this table's events; `known` is checked.definition. nullptr: there are
  // as many events as ids.
  const TracedEvent* add(model::Definition written, const pipeline::CheckedEvent& checked,
                         std::shared_ptr<const model::Definition> known, const target::TargetEnv& env);

  // A probe that a deletion takes away.
  struct Match {
    std::uint32_t event = 0;
    std::uint64_t serial = 0;
    bool has_siblings = false;
  };
  // What a deletion written to `file` means, in the order of definitions.
  std::vector<Match> matches(const model::Deletion& deletion, grammar::EventsFile file) const;
  std::vector<Match> all(grammar::EventsFile file) const;
  // Of the newest probe; 0: there was none.
  std::uint64_t last_serial() const { return last_serial_; }
  // Takes a probe away, and its event with the last one. True: the event is gone.
  bool remove(const Match& match);

  // Good until the event is changed or removed.
  const TracedEvent* find(std::string_view group, std::string_view event) const;
  const TracedEvent* find(std::uint32_t id) const;
  // As a user writes it: NAME, GROUP:NAME or GROUP/NAME. An event without a group is one that was defined here.
  const TracedEvent* find_written(std::string_view written) const;
  // Whether several groups have it: a name alone that find_written() took for the first of them.
  bool is_ambiguous(std::string_view written) const;
  // What enable_event or disable_event acts on; nullptr: any other trigger, or there is no such event.
  const TracedEvent* switched_by(const model::Trigger& trigger) const;
  // What has to be armed beside the trigger's own event: what switched_by() says, and the event whose histograms are
  // switched.
  const TracedEvent* needed_by(const model::Trigger& trigger) const;
  // In the order of their ids.
  const std::map<std::uint32_t, std::unique_ptr<TracedEvent>>& events() const { return events_; }
  std::vector<std::string> groups() const;  // sorted
  bool has_group(std::string_view group) const;
  std::vector<const TracedEvent*> in_group(std::string_view group) const;  // sorted by name
  const target::EventCatalog& catalog() const { return catalog_; }
  // The lines of one of the definition files.
  std::string listing(grammar::EventsFile file) const;
  // Those of its definitions, in their order.
  std::vector<const EventProbe*> probes_of(grammar::EventsFile file) const;
  // Events that eprobes stand on, by group and name: none of them can be removed.
  std::set<std::pair<std::string, std::string>> stood_on() const;

 private:
  std::optional<std::uint32_t> free_id() const;
  struct Checked {
    model::Definition written;
    std::shared_ptr<const model::Definition> definition;
    model::RecordLayout layout;
    std::string listing;
  };
  const TracedEvent* keep(Checked checked);
  void update_catalog(const TracedEvent& event);

  sema::CheckRequest request_;
  target::FixedCatalog catalog_;
  std::map<std::uint32_t, std::unique_ptr<TracedEvent>> events_;
  std::map<std::pair<std::string, std::string>, std::uint32_t, std::less<>> by_name_;
  std::uint32_t next_id_ = kFirstId;  // an id is used again as late as can be: a hit that was under way may write yet
  std::uint64_t last_serial_ = 0;
};

// Does an events file show, and delete, definitions of this kind?
bool belongs_to(grammar::EventsFile file, model::EventKind kind);

}  // namespace kevt::engine
