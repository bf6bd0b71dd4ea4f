// StaticEvents: the events that a target brings with it (the running kernel's tracepoints), as the engine sees them.
// Nobody can define or remove a static event; it is switched, filtered and printed like any other event.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/error.h"
#include "compiler/model/record_layout.h"
#include "compiler/target/event_catalog.h"
#include "runtime-user/runtime/probe_runtime.h"

namespace kevt::engine {

struct StaticEvent {
  std::uint32_t id = 0;  // common_type, the kernel's own
  std::string group;
  std::string name;
  std::string format;  // the text of its format file
  model::RecordLayout layout;
};

inline target::CatalogEntry catalog_entry(const StaticEvent& event) {
  return {.group = event.group,
          .event = event.name,
          .owner = target::EventOwner::Static,
          .siblings = {},
          .layout = event.layout};
}

// Records of static events come through the runtime's drain, merged with the probes' records by time.
class StaticEvents {
 public:
  virtual ~StaticEvents() = default;
  // Sorted by id; does not change while this object lives.
  virtual const std::vector<StaticEvent>& all() const = 0;
  // Switches the events of `on` on and those of `off` off: all of them, or an error and nothing is changed. An event
  // that is already in the wanted state is no error.
  virtual Result<void> change(std::span<const std::uint32_t> on, std::span<const std::uint32_t> off) = 0;
  // From now on records of these events carry the kernel's stack, or none: all of them, or an error and nothing is
  // changed.
  virtual Result<void> set_stacks(std::span<const std::uint32_t> ids, bool wanted) = 0;
  // `call` is told of every new thread before records of that thread are handed out.
  virtual void on_fork(std::function<void(std::int32_t parent, std::int32_t child)> call) = 0;
  // Counts since the event was first switched on. Each hit is recorded or lost.
  virtual runtime::EventCounts counts(std::uint32_t id) const = 0;
  // Appends to `out` what follows "NAME: " in a trace line. The record may be hostile.
  virtual void append_text(std::uint32_t id, std::span<const std::uint8_t> record, std::string& out) const = 0;
};

}  // namespace kevt::engine
