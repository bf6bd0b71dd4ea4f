// The seam between kevtrace and the library that holds LLVM.
//
// Both are built from one source tree by one compiler; a library with another `version` or `layout` is refused. To add
// a function: a pointer here, a line in backend_llvm.cpp, a function that forwards in backend.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "compiler/codegen/bpf.h"
#include "compiler/codegen/native.h"

namespace kevt::codegen {

struct Backend {
  std::uint32_t version = 0;
  std::uint32_t layout = 0;
  Result<std::vector<std::vector<NativeOutput>>> (*compile_modules)(std::span<const NativeModule>, KeepIr) = nullptr;
  Result<BpfOutput> (*compile_bpf)(std::span<const BpfInput>, unsigned, KeepIr) = nullptr;
  std::string (*bpf_refusal)(const ir::Program&) = nullptr;
  std::uint32_t (*registers_from_frame)(const ir::Program&) = nullptr;
  std::string (*disassemble)(std::span<const std::uint8_t>, std::uint64_t, Machine) = nullptr;
};

inline constexpr std::uint32_t kBackendVersion = 5;
inline constexpr std::uint32_t kBackendLayout =
    sizeof(Backend) << 20 | sizeof(NativeOutput) << 10 | sizeof(ir::Program);

// The library's path; does not load the library.
Result<std::string> find_backend();
// Loads the library at the first call, from the program's folder or ../lib; the error says where it was looked for,
// and what is missing. Thread safe.
Result<const Backend*> load_backend();

}  // namespace kevt::codegen

// What the library exports; its only symbol.
extern "C" const kevt::codegen::Backend* kevt_codegen_backend();
