// Object file → flat image: JITLink lays the sections out in one block and applies the
// relocations, all of them relative, so that the block means the same wherever it is copied.
#pragma once

#include <llvm/Support/MemoryBuffer.h>

#include <map>
#include <string>
#include <vector>

#include "common/error.h"
#include "compiler/codegen/native.h"

namespace kevt::codegen {

struct LinkedImage {
  model::NativeImage image;
  std::map<std::string, NativeFunction> symbols;  // code and data, by name
};

Result<LinkedImage> link_flat(llvm::MemoryBufferRef object);

}  // namespace kevt::codegen
