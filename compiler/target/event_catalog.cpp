// Which events belong to which kind of definition.
#include "compiler/target/event_catalog.h"

namespace kevt::target {

EventOwner owner_of(model::EventKind kind) {
  switch (kind) {
    case model::EventKind::Kprobe:
      return EventOwner::Kprobe;
    case model::EventKind::Uprobe:
      return EventOwner::Uprobe;
    case model::EventKind::Eprobe:
      return EventOwner::Eprobe;
    case model::EventKind::Fprobe:
      return EventOwner::Fprobe;
    case model::EventKind::Tprobe:
      return EventOwner::Tprobe;
    case model::EventKind::Synthetic:
      return EventOwner::Synthetic;
    case model::EventKind::Watchpoint:
      return EventOwner::Watchpoint;
  }
  return EventOwner::Static;
}

}  // namespace kevt::target
