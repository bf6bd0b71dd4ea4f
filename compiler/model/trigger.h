// TriggerSpec: one line of an event's `trigger` file as written, e.g. `traceoff:5 if a > 3`  (docs/language.md).
// Trigger: a checked trigger, one line of the file when it is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/model/filter.h"
#include "compiler/model/histogram.h"
#include "compiler/model/span.h"

namespace kevt::model {

enum class TriggerKind : std::uint8_t {
  TraceOn,
  TraceOff,
  Snapshot,
  Stacktrace,
  EnableEvent,
  DisableEvent,
  EnableHist,
  DisableHist,
  Hist
};

struct HistPart {  // one ':'-separated part of a hist trigger, e.g. name "keys", text "pid.hex,comm"
  std::string name;
  std::string text;
  Span span;
};

struct TriggerSpec {
  TriggerKind kind = TriggerKind::TraceOn;
  bool remove = false;        // leading '!'
  std::string target_system;  // enable_event:SYSTEM:EVENT and its like
  std::string target_event;
  std::optional<std::uint64_t> count;
  int count_errno = 0;  // errno of a count out of range, which counts only after the target was found
  std::vector<HistPart> hist;
  std::optional<std::string> filter;  // text after `if`
  Span filter_span;
  std::string command;
};

enum class HistState : std::uint8_t { Active, Paused };

struct Trigger {
  std::uint64_t id = 0;  // among all triggers of an instance
  TriggerKind kind = TriggerKind::TraceOn;
  std::optional<std::uint64_t> count;  // how often it acts; nullopt: without limit
  EventName target;                    // EnableEvent … DisableHist
  std::optional<std::string> filter;   // text after `if`, as written
  std::optional<FilterExpr> condition;
  Histogram histogram;                  // Hist
  HistState state = HistState::Active;  // Hist
};

}  // namespace kevt::model
