// LLVM's part of native code: programs in, an object file out.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>

#include <memory>
#include <span>
#include <string>

#include "compiler/codegen/native.h"
#include "compiler/ir/shape.h"

namespace kevt::codegen {

inline constexpr const char* kNativeTriple = "x86_64-unknown-linux-gnu";

// Symbol of an extractor's kevt_event.
inline std::string data_block_of(const std::string& extractor) { return extractor + ".event"; }

// `varying`: constants that are left open, as symbols (kConstantPrefix). If there are any, `inputs` is one program.
struct ModuleRequest {
  std::span<const NativeInput> inputs;
  std::span<const ir::Constant> varying;
};

// Both functions are thread safe if each call has a context of its own.
Result<std::unique_ptr<llvm::Module>> build_module(const ModuleRequest& request, const std::string& name,
                                                   llvm::LLVMContext& context);
// The object has the module's name. `llvm_ir`: receives the module's text after optimization; may be nullptr.
Result<std::unique_ptr<llvm::MemoryBuffer>> compile_object(llvm::Module& module, std::string* llvm_ir);

}  // namespace kevt::codegen
