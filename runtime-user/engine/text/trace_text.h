// TraceText: what `trace` and `trace_pipe` read: an instance's records as the lines that the kernel prints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime-user/engine/text/event_text.h"
#include "runtime-user/engine/tracing.h"

namespace kevt::engine {

class TraceText {
 public:
  explicit TraceText(const Tracing& tracing) : tracing_(tracing), text_(tracing.code().static_events()) {}

  // The header of `trace`, for all CPUs or for the CPU `only`.
  static std::string header(const Instance& instance, const TraceBuffer& buffer, std::optional<std::uint32_t> only);
  // Appends the line or lines of one entry, after the note about lost events if some were lost before it.
  void append(const Instance& instance, const MergedEntry& entry, std::string& out);

 private:
  void append_line(const Instance& instance, const MergedEntry& entry, std::string& out);
  void append_context(const Instance& instance, const MergedEntry& entry, std::string& out) const;
  void append_event(const Instance& instance, const MergedEntry& entry, std::string& out);
  void append_user_stack(const Instance& instance, const MergedEntry& entry, std::string& out);
  void append_stack(const Instance& instance, const MergedEntry& entry, std::string& out);
  // Symbols of the target that the entry's thread belonged to at the time.
  const target::TargetEnv& symbols(const Instance& instance, const MergedEntry& entry);

  const Tracing& tracing_;
  EventText text_;
  std::uint64_t forgotten_ = 0;  // TaskHistory::forgotten_targets() when text_'s caches were last dropped
};

}  // namespace kevt::engine
