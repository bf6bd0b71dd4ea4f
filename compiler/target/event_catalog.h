// EventCatalog: which events exist already. Read only; the engine owns the real one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/model/definition.h"
#include "compiler/model/record_layout.h"

namespace kevt::target {

enum class EventOwner : std::uint8_t { Kprobe, Uprobe, Eprobe, Fprobe, Tprobe, Synthetic, Watchpoint, Static };

// The owner of the events that definitions of this kind make.
EventOwner owner_of(model::EventKind kind);

struct CatalogEntry {
  std::string group;
  std::string event;
  EventOwner owner = EventOwner::Static;
  // All probes of the event (defining it again adds one); empty for static events. Shared with other catalogs.
  std::vector<std::shared_ptr<const model::Definition>> siblings;
  model::RecordLayout layout;
};

class EventCatalog {
 public:
  virtual ~EventCatalog() = default;
  virtual const CatalogEntry* find(std::string_view group, std::string_view event) const = 0;
  // All definitions of a kind, of all events: the rules about one byte of a file, or one tracepoint, need them.
  virtual std::vector<const model::Definition*> probes_of(model::EventKind) const { return {}; }
};

}  // namespace kevt::target
