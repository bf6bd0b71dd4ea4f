// TraceText: what `trace` and `trace_pipe` read: records of an instance as the kernel's lines.
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

  // The head of `trace`, for all CPUs or one.
  static std::string header(const Instance& instance, const TraceBuffer& buffer, std::optional<std::uint32_t> only);
  // Appends one entry as its line, or lines; with the note about lost events before it.
  void append(const Instance& instance, const MergedEntry& entry, std::string& out);

 private:
  void append_line(const Instance& instance, const MergedEntry& entry, std::string& out);
  void append_context(const Instance& instance, const MergedEntry& entry, std::string& out) const;
  void append_event(const Instance& instance, const MergedEntry& entry, std::string& out);
  void append_user_stack(const Instance& instance, const MergedEntry& entry, std::string& out);
  void append_stack(const Instance& instance, const MergedEntry& entry, std::string& out);
  // Of what the entry's thread was then.
  const target::TargetEnv& symbols(const Instance& instance, const MergedEntry& entry);

  const Tracing& tracing_;
  EventText text_;
  std::uint64_t forgotten_ = 0;  // TaskHistory::forgotten_targets() when they were looked up
};

}  // namespace kevt::engine
