// LLVM's part of native code: programs in, linked image out.
#pragma once

#include <span>
#include <string>

#include "compiler/codegen/native.h"
#include "compiler/codegen/native_image.h"
#include "compiler/ir/shape.h"

namespace kevt::codegen {

struct ModuleOutput {
  LinkedImage linked;
  std::string llvm_ir;  // after optimization; only when asked for
};

// `varying`: constants that are left open, LinkedImage::constants says where they belong; none, or `inputs` is one
// program.
Result<ModuleOutput> compile_module(std::span<const NativeInput> inputs, std::span<const ir::Constant> varying,
                                    KeepIr keep_ir);

}  // namespace kevt::codegen
