// Native code for fetch IR: closed, position-independent extractors, the events of a call in one
// module so that LLVM's fixed cost is paid once (compiler/pipeline says how batches are cut).
//
// common/abi/probe.h states how they are called and what they work on. LLVM stops here: no type of
// it leaves this folder.
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
  std::uint32_t block = 0;  // byte offset of its kevt_event, which install fills in
};

struct NativeOutput {
  model::NativeImage image;
  std::vector<NativeEvent> events;  // one per input
  std::string llvm_ir;              // after optimization; only when asked for
};

enum class KeepIr : std::uint8_t { No, Yes };

// Programs that are compiled together. A family's are of one shape (ir/shape.h): LLVM compiles one of them.
struct NativeModule {
  std::vector<NativeInput> inputs;
  bool is_family = false;
};

// For each module its output; for a family one for each of its programs, but where a constant fits no instruction. As
// many modules at a time as there are CPUs. Fails when a program asks for what native code cannot do (the text says
// what) or LLVM refuses.
Result<std::vector<std::vector<NativeOutput>>> compile_modules(std::span<const NativeModule> modules, KeepIr keep_ir);

// What stops this program from running natively, e.g. a filter on a symstr field; empty: nothing.
std::string native_refusal(const ir::Program& program);

// Words of kevt_registers the extractor of `program` reads from its frame: bit i is word i. Those that are handed over
// in their registers are not among them.
std::uint32_t registers_from_frame(const ir::Program& program);

// "+0x12  movq (%rdi), %rax" lines, AT&T syntax; branch targets as addresses, `base` being the first byte's. Of BPF
// LLVM's own syntax, with relative branches.
enum class Machine : std::uint8_t { X86_64, Bpf };
std::string disassemble(std::span<const std::uint8_t> code, std::uint64_t base = 0, Machine machine = Machine::X86_64);

}  // namespace kevt::codegen
