// Native code for many programs: equal programs are compiled once, different ones on all CPUs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/error.h"
#include "compiler/codegen/native.h"
#include "compiler/ir/program.h"
#include "compiler/model/compiled_event.h"
#include "compiler/pipeline/code_store.h"

namespace kevt::pipeline {

struct SharedCode {
  // Where a program's code is. Equal programs have the same place: each needs a copy of its own of the image.
  struct Place {
    std::uint32_t image = 0;  // index into images
    codegen::NativeEvent event;
    std::uint32_t register_reads = 0;  // as in CompiledEvent
  };
  std::vector<model::NativeImage> images;
  std::vector<Place> places;  // one per program
  std::string llvm_ir;        // of all programs; only when asked for
};

// `names`: one per program, unique; they appear in the LLVM text only. Code that `made` holds is taken from there; if
// nothing is left to compile, LLVM is not needed.
Result<SharedCode> compile_programs(std::span<const ir::Program> programs, std::span<const std::string> names,
                                    codegen::KeepIr keep_ir, MadeCode made = {});

}  // namespace kevt::pipeline
