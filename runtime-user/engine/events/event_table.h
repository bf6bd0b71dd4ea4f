// EventTable: the events that are defined, in the order of their definitions. It knows nothing of code or targets.
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

inline constexpr std::uint32_t kFirstId = 20000;  // ids of events: above the kernel's own
inline constexpr std::uint32_t kLastId = 65535;   // common_type has 16 bits

// One probe of an event: one line of dynamic_events.
struct EventProbe {
  std::uint64_t serial = 0;                        // grows with each definition
  model::Definition written;                       // as it was parsed; each target resolves its names anew
  std::shared_ptr<const model::Definition> known;  // resolved in the target in which it was defined
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
  bool stands_on_synthetic = false;  // an eprobe

  bool is_static() const { return owner == target::EventOwner::Static; }
  // No code in a target makes its records: those of synthetic events, and of eprobes on them.
  bool is_made_by_reader() const { return owner == target::EventOwner::Synthetic || stands_on_synthetic; }
  bool is_of_program() const { return owner == target::EventOwner::Uprobe; }
  model::EventName full_name() const { return {group, name}; }
};

class EventTable {
 public:
  explicit EventTable(sema::CheckRequest request) : request_(request) {}

  // Adds an event that definitions may refer to, and that is not listed or switched here.
  void add_static(target::CatalogEntry event) { catalog_.add(std::move(event)); }
  // Adds a static event of a target; it is listed and switched like the others.
  void add_running(const StaticEvent& event);
  // Checks a definition in `env` and adds it. nullptr: refused, and `sink` has the mistakes.
  const TracedEvent* define(model::Definition definition, const target::TargetEnv& env, diag::Sink& sink) {
    return define(std::move(definition), env, sink, request_);
  }
  // The same by the rules of another request.
  const TracedEvent* define(model::Definition definition, const target::TargetEnv& env, diag::Sink& sink,
                            const sema::CheckRequest& request);
  // Adds a definition that was checked against this table's events; `known` is checked.definition. nullptr: no id is
  // free.
  const TracedEvent* add(model::Definition written, const pipeline::CheckedEvent& checked,
                         std::shared_ptr<const model::Definition> known, const target::TargetEnv& env);

  // A probe that a deletion removes.
  struct Match {
    std::uint32_t event = 0;
    std::uint64_t serial = 0;
    bool has_siblings = false;
  };
  // The probes that a deletion written to `file` removes, in the order of definitions.
  std::vector<Match> matches(const model::Deletion& deletion, grammar::EventsFile file) const;
  std::vector<Match> all(grammar::EventsFile file) const;
  // The newest probe's serial; 0: no probe was ever defined.
  std::uint64_t last_serial() const { return last_serial_; }
  // Removes a probe, and with the last probe its event. True: the event was removed.
  bool remove(const Match& match);

  // nullptr: no such event. Valid until the event is changed or removed.
  const TracedEvent* find(std::string_view group, std::string_view event) const;
  const TracedEvent* find(std::uint32_t id) const;
  // `written` is NAME, GROUP:NAME or GROUP/NAME. A name without a group means an event that was defined here.
  const TracedEvent* find_written(std::string_view written) const;
  // Whether `written` is a name alone that several groups have; find_written() takes the first of them.
  bool is_ambiguous(std::string_view written) const;
  // The event that enable_event or disable_event switches; nullptr: another kind of trigger, or no such event.
  const TracedEvent* switched_by(const model::Trigger& trigger) const;
  // The event that must be armed beside the trigger's own: that of switched_by(), or the event whose histograms the
  // trigger switches. nullptr: none.
  const TracedEvent* needed_by(const model::Trigger& trigger) const;
  // In the order of their ids.
  const std::map<std::uint32_t, std::unique_ptr<TracedEvent>>& events() const { return events_; }
  std::vector<std::string> groups() const;  // sorted
  bool has_group(std::string_view group) const;
  std::vector<const TracedEvent*> in_group(std::string_view group) const;  // sorted by name
  const target::EventCatalog& catalog() const { return catalog_; }
  // What one of the definition files reads.
  std::string listing(grammar::EventsFile file) const;
  // The probes that the file shows, in the order of definitions.
  std::vector<const EventProbe*> probes_of(grammar::EventsFile file) const;
  // Group and name of events that eprobes stand on; such an event cannot be removed.
  std::set<std::pair<std::string, std::string>> stood_on() const;

 private:
  std::optional<std::uint32_t> free_id() const;
  struct Checked {
    model::Definition written;
    std::shared_ptr<const model::Definition> definition;
    model::RecordLayout layout;
    std::string listing;
  };
  bool stands_on_synthetic(const model::Definition& definition) const;
  const TracedEvent* keep(Checked checked);
  void update_catalog(const TracedEvent& event);

  sema::CheckRequest request_;
  target::FixedCatalog catalog_;
  std::map<std::uint32_t, std::unique_ptr<TracedEvent>> events_;
  std::map<std::pair<std::string, std::string>, std::uint32_t, std::less<>> by_name_;
  std::uint32_t next_id_ = kFirstId;  // an id is used again as late as can be: a hit that was under way may write yet
  std::uint64_t last_serial_ = 0;
};

// Whether an events file shows, and deletes, definitions of this kind.
bool belongs_to(grammar::EventsFile file, model::EventKind kind);

}  // namespace kevt::engine
