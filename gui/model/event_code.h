// What the compiler makes of one definition, as text for people: fetch IR, machine code, arming, cost.
#pragma once

#include <QString>

#include "gui/model/target_context.h"

namespace kevt::gui {

struct EventCode {
  QString mistake;  // not empty: all other members are empty
  QString fetch_ir;
  QString machine_code;  // the extractor, or the kernel's BPF program, disassembled
  QString arming;
  QString source;  // "FILE:LINE" of the probed place; empty: unknown
  QString cost;    // instructions and ns of a hit; for a kernel the BPF program's length
  QString text() const;
};

// Takes a fraction of a second, since LLVM runs. `filter` may be empty.
EventCode eventCode(TargetContext& world, const QString& definition, const QString& filter);

}  // namespace kevt::gui
