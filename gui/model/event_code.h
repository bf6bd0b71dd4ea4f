// What the compiler makes of one definition, for people: fetch IR, machine code, arming, cost.
#pragma once

#include <QString>

#include "gui/model/target_context.h"

namespace kevt::gui {

struct EventCode {
  QString mistake;  // not empty: nothing else is there
  QString fetch_ir;
  QString machine_code;  // of the extractor, disassembled; of a kernel's event the BPF program's
  QString arming;
  QString source;  // "FILE:LINE" of the probed place; empty: nobody knows
  QString cost;    // instructions and nanoseconds of a hit; of a kernel's the BPF program's length
  QString text() const;
};

// A fraction of a second: LLVM runs. `filter` may be empty.
EventCode eventCode(TargetContext& world, const QString& definition, const QString& filter);

}  // namespace kevt::gui
