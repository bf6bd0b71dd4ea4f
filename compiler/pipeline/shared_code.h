// Code for many programs: equal ones are compiled once, different ones on all CPUs.
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
  // Where a program's code stands. Equal programs have the same place: one copy each is to be made of its image.
  struct Place {
    std::uint32_t image = 0;  // index into images
    codegen::NativeEvent event;
    std::uint32_t register_reads = 0;  // as of CompiledEvent
  };
  std::vector<model::NativeImage> images;
  std::vector<Place> places;  // one per program
  std::string llvm_ir;        // of all of them, when asked for
};

// `names`: one per program, unique; they appear in the LLVM text only. What `made` has is taken from there; without
// anything left to compile LLVM is not needed.
Result<SharedCode> compile_programs(std::span<const ir::Program> programs, std::span<const std::string> names,
                                    codegen::KeepIr keep_ir, MadeCode made = {});

}  // namespace kevt::pipeline
