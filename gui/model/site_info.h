// What is known about the place of a definition: function, address, and how a probe would be armed.
#pragma once

#include <QString>
#include <optional>

#include "compiler/author/prototypes.h"
#include "gui/model/target_context.h"

namespace kevt::gui {

struct PlaceFacts {
  std::optional<author::Prototype> prototype;
  QString symbol, module;     // "open", "libc.so.6"
  std::uint64_t address = 0;  // in the target; 0: not known
  std::uint64_t size = 0;     // of the function, bytes
  QString source;             // "FILE:LINE" from debug information; empty for a kernel's function
  QString arming;             // "by a jump of 5 bytes", "by int3, not by a jump: …", "not at all: …"
  QString why_not;            // why the place was not found
};

// `line`: a definition, correct or not. nullopt: the line names no place yet.
std::optional<PlaceFacts> placeFacts(TargetContext& world, const QString& line);
// The text of a tool tip. `word`: the word at the pointer; if it is a register or an argument's name, that comes first.
QString factsHtml(const PlaceFacts& facts, const QString& word);

}  // namespace kevt::gui
