// Object file → flat image: JITLink lays the sections out in one block and applies the
// relocations, all of them relative, so that the block means the same wherever it is copied.
#pragma once

#include <llvm/Support/MemoryBuffer.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/error.h"
#include "compiler/codegen/native.h"

namespace kevt::codegen {

// Symbols of this name and a number are constants that are known when the image is copied.
inline constexpr const char* kConstantPrefix = "constant.";

// Where such a constant belongs: its word + `addend`.
struct ConstantPlace {
  std::uint32_t position = 0;  // the number in the symbol's name; ir::Constant::position
  std::uint32_t offset = 0;    // in the image
  std::uint8_t bytes = 4;      // 4 or 8
  bool is_signed = true;       // what the instruction extends 4 bytes with
  std::int64_t addend = 0;
};

struct LinkedImage {
  model::NativeImage image;
  std::vector<ConstantPlace> constants;
  std::map<std::string, NativeFunction> symbols;  // code and data, by name
};

Result<LinkedImage> link_flat(llvm::MemoryBufferRef object);

}  // namespace kevt::codegen
