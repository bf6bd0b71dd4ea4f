// Draft: definitions and filters that belong together, checked as one: every definition against the
// events before it, every filter against its event. Nothing is compiled or installed.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/model/filter.h"
#include "compiler/pipeline/compile.h"
#include "compiler/target/event_catalog.h"
#include "compiler/target/target_env.h"
#include "runtime-user/engine/catalog.h"

namespace kevt::engine {

struct EventFilter {
  std::string event;  // NAME, GROUP:NAME or GROUP/NAME
  std::string text;
};

// What hits of the event shall make of the call, beside recording it.
struct EventInjection {
  std::string event;  // as above
  model::Injection injection;
};

// What is wrong, with the request it belongs to.
struct Problem {
  enum class Kind : std::uint8_t { Definition, Filter } kind = Kind::Definition;
  std::size_t index = 0;  // into the definitions or filters given
  diag::Diagnostic diagnostic;
};

// Whether `event`, as a user writes it, means the definition's.
bool names_event(std::string_view event, const model::Definition& definition);

// Whether it stands on another event's records: an event probe, `e`.
bool stands_on_event(std::string_view definition);

class Draft final : public target::EventCatalog {
 public:
  // One checked definition.
  struct Entry {
    std::size_t index = 0;  // into the definitions given
    pipeline::CheckedEvent event;
    std::optional<model::FilterExpr> filter;
    std::optional<std::string> filter_text;
  };

  // `existing`: events that are defined already. `statics`: what event probes may stand on beside those, kept by the
  // caller; nullptr: nothing.
  explicit Draft(Catalog existing, const target::EventCatalog* statics = nullptr)
      : catalog_(std::move(existing)), statics_(statics) {}

  // Mistakes are appended to `problems`; what is right is in entries(), in the order given.
  void check(std::span<const std::string> definitions, std::span<const EventFilter> filters,
             const target::TargetEnv& env, pipeline::Forms forms, std::vector<Problem>& problems);

  std::vector<Entry>& entries() { return entries_; }
  const std::vector<Entry>& entries() const { return entries_; }
  const Catalog& catalog() const { return catalog_; }
  Catalog take_catalog() { return std::move(catalog_); }

  const target::CatalogEntry* find(std::string_view group, std::string_view event) const override;
  std::vector<const model::Definition*> probes_of(model::EventKind kind) const override;

 private:
  void add(std::size_t index, pipeline::CheckedEvent event);
  // Whether an event of that name is there.
  bool bind(const EventFilter& filter, diag::Sink& sink);

  Catalog catalog_;
  const target::EventCatalog* statics_ = nullptr;
  bool asks_statics_ = false;  // while an event probe is checked
  std::vector<Entry> entries_;
};

}  // namespace kevt::engine
