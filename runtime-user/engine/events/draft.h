// Draft: definitions and filters that belong together, checked as one: every definition against the
// events before it, every filter against its event. Nothing is compiled or installed.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/model/filter.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/front.h"
#include "compiler/target/event_catalog.h"
#include "compiler/target/fixed_target.h"
#include "compiler/target/target_env.h"

namespace kevt::engine {

struct EventFilter {
  std::string event;  // NAME, GROUP:NAME or GROUP/NAME
  std::string text;
  std::string instance = {};  // the instance that filters; empty: the top one
};

// What hits of the event do to the probed call, beside recording it.
struct EventInjection {
  std::string event;  // as above
  model::Injection injection;
};

struct EventTrigger {
  std::string event;          // as above
  std::string text;           // as the event's `trigger` file takes it
  std::string instance = {};  // as above
};

// A mistake, with the definition, filter or trigger that it belongs to.
struct Problem {
  enum class Kind : std::uint8_t { Definition, Filter, Trigger } kind = Kind::Definition;
  std::size_t index = 0;  // into the definitions, filters or triggers given
  diag::Diagnostic diagnostic;
};

// Whether `written` (NAME, GROUP:NAME or GROUP/NAME) means the event of that group and name.
bool names_event(std::string_view written, std::string_view group, std::string_view event);
inline bool names_event(std::string_view written, const model::Definition& definition) {
  return names_event(written, definition.group, definition.event);
}

// The diagnostic for a filter whose event does not exist.
diag::Diagnostic missing_event(const EventFilter& filter);
// For a definition whose event has probes of the other side (TracingState::is_of_other_side).
diag::Diagnostic of_other_side(std::string_view definition);

// Whether the definition is an event probe (`e`), which stands on another event's records.
bool stands_on_event(std::string_view definition);

class Draft final : public target::EventCatalog {
 public:
  // One checked definition.
  struct Entry {
    std::size_t index = 0;      // into the definitions given; a marker has several entries
    model::Definition written;  // as it was parsed, before it was looked up in the target
    pipeline::CheckedEvent event;
    std::shared_ptr<const model::Definition> known;  // event.definition, as catalogs share it
    std::optional<model::FilterExpr> filter;
    std::optional<std::string> filter_text;
  };

  // `statics`: events that event probes may stand on, beside those defined here. `existing`: events that are defined
  // already. The caller owns both catalogs; nullptr: none.
  explicit Draft(const target::EventCatalog* statics = nullptr, const target::EventCatalog* existing = nullptr)
      : statics_(statics), existing_(existing) {}

  // Mistakes are appended to `problems`; correct definitions are in entries(), in the order given.
  void check(std::span<const std::string> definitions, std::span<const EventFilter> filters,
             const target::TargetEnv& env, pipeline::Forms forms, std::vector<Problem>& problems);

  std::vector<Entry>& entries() { return entries_; }
  const std::vector<Entry>& entries() const { return entries_; }

  const target::CatalogEntry* find(std::string_view group, std::string_view event) const override;
  std::vector<const model::Definition*> probes_of(model::EventKind kind) const override;

 private:
  void check_lines(std::size_t index, std::span<pipeline::ParsedEvent> lines, const target::TargetEnv& env,
                   pipeline::Forms forms, diag::Sink& sink);
  void add(std::size_t index, model::Definition written, pipeline::CheckedEvent event);
  // Binds the filter to its entry. False: there is no event of that name.
  bool bind(const EventFilter& filter, diag::Sink& sink);

  target::FixedCatalog catalog_;  // of correct definitions, and of existing events that they append to
  const target::EventCatalog* statics_;
  const target::EventCatalog* existing_;
  bool asks_statics_ = false;  // while an event probe is checked
  std::vector<Entry> entries_;
};

}  // namespace kevt::engine
