// ORC's part of native code: modules in, linked images out, on all CPUs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/codegen/native_image.h"
#include "compiler/codegen/native_module.h"

namespace kevt::codegen {

struct ModuleOutput {
  LinkedImage linked;
  std::string llvm_ir;  // after optimization; only when asked for
};

// One output for each request, or the first error. Names of inputs must be unique among all requests.
Result<std::vector<ModuleOutput>> compile_in_session(std::span<const ModuleRequest> requests, KeepIr keep_ir);

}  // namespace kevt::codegen
