// The passes between the emitter and instruction selection, the same for both targets.
#pragma once

#include "common/error.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace kevt::codegen {

Result<void> optimize(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace kevt::codegen
