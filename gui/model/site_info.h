// What is known of the place of a definition: who is there, where, and how a probe would be armed.
#pragma once

#include <QString>
#include <optional>

#include "gui/model/prototypes.h"
#include "gui/model/target_context.h"

namespace kevt::gui {

struct PlaceFacts {
  std::optional<Prototype> prototype;
  QString symbol, module;     // "open", "libc.so.6"
  std::uint64_t address = 0;  // in the target; 0: not known
  std::uint64_t size = 0;     // of the function, bytes
  QString source;             // "FILE:LINE", where debug information tells; of a kernel's function empty
  QString arming;             // "by a jump of 5 bytes", "by int3, not by a jump: …", "not at all: …"
  QString why_not;            // why the place was not found
};

// `line`: a definition, right or not. nullopt: it names no place yet.
std::optional<PlaceFacts> placeFacts(TargetContext& world, const QString& line);
// For a tool tip; `word` is what the pointer is at: a register or an argument's name is told of first.
QString factsHtml(const PlaceFacts& facts, const QString& word);

}  // namespace kevt::gui
