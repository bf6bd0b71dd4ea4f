// Native code for fetch IR: closed, position-independent extractors. Several events share a module, so that
// LLVM's fixed cost is paid once; compiler/pipeline forms the modules.
//
// common/abi/probe.h states how extractors are called and what data they use. No type of LLVM leaves
// this folder.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/error.h"
#include "compiler/ir/program.h"
#include "compiler/model/compiled_event.h"

namespace kevt::codegen {

struct NativeInput {
  std::string name;  // unique in the call
  const ir::Program* program = nullptr;
};

struct NativeFunction {
  std::uint32_t entry = 0;  // byte offset in the image
  std::uint32_t size = 0;   // bytes
};

// One event's code; see common/abi/probe.h, "The extractor".
struct NativeEvent {
  NativeFunction extractor;
  std::uint32_t block = 0;  // byte offset of the event's kevt_event, which the install fills in
};

struct NativeOutput {
  model::NativeImage image;
  std::vector<NativeEvent> events;  // one per input
  std::string llvm_ir;              // after optimization; only when asked for
};

enum class KeepIr : std::uint8_t { No, Yes };

// Programs that are compiled together. The programs of a family have one shape (ir/shape.h): LLVM compiles one of them.
struct NativeModule {
  std::vector<NativeInput> inputs;
  bool is_family = false;
};

// For each module one output; for a family one output for each program, unless a constant fits no instruction (then one
// for all). Compiles as many modules at a time as there are CPUs. Fails if a program needs something that native code
// cannot do (the text says what), or if LLVM refuses.
Result<std::vector<std::vector<NativeOutput>>> compile_modules(std::span<const NativeModule> modules, KeepIr keep_ir);

// Why this program cannot run natively, e.g. a filter on a symstr field; empty: it can.
std::string native_refusal(const ir::Program& program);

// The words of kevt_registers that the extractor of `program` reads from its frame: bit i is word i. Registers that the
// extractor reads in place are not among them.
std::uint32_t registers_from_frame(const ir::Program& program);

// Lines as "+0x12  movq (%rdi), %rax" in AT&T syntax. Branch targets are addresses; `base` is the address of the first
// byte. BPF code is shown in LLVM's own syntax, with relative branches.
enum class Machine : std::uint8_t { X86_64, Bpf };
std::string disassemble(std::span<const std::uint8_t> code, std::uint64_t base = 0, Machine machine = Machine::X86_64);

}  // namespace kevt::codegen
