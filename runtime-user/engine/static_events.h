// StaticEvents: the events that a target has of itself (the running kernel's tracepoints), as the engine sees them.
// They are nobody's to define or remove; they can be on or off, filtered and printed like any other.
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

// Their records come with the runtime's, in one order of time.
class StaticEvents {
 public:
  virtual ~StaticEvents() = default;
  // In the order of their ids; the same as long as it lives.
  virtual const std::vector<StaticEvent>& all() const = 0;
  // All of it, or an error and nothing is changed. What is there already is no error.
  virtual Result<void> change(std::span<const std::uint32_t> on, std::span<const std::uint32_t> off) = 0;
  // From now on hits of these come with the kernel's stack, or without: all of them, or an error and nothing is
  // changed.
  virtual Result<void> set_stacks(std::span<const std::uint32_t> ids, bool wanted) = 0;
  // Told of every new thread, before what it hits is handed out.
  virtual void on_fork(std::function<void(std::int32_t parent, std::int32_t child)> call) = 0;
  // Since it was on for the first time. Hits are recorded or lost.
  virtual runtime::EventCounts counts(std::uint32_t id) const = 0;
  // What stands behind "NAME: " in a trace line. Appends; the record may be hostile.
  virtual void append_text(std::uint32_t id, std::span<const std::uint8_t> record, std::string& out) const = 0;
};

}  // namespace kevt::engine
