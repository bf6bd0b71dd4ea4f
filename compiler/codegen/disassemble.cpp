// Machine code as text, for `kevtrace explain` and the graphical program: LLVM's disassembler, one instruction a line.
#include <fmt/format.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>

#include "compiler/codegen/native.h"

namespace kevt::codegen {

std::string disassemble(std::span<const std::uint8_t> code, std::uint64_t base, Machine machine) {
  const bool is_bpf = machine == Machine::Bpf;
  if (is_bpf) {
    LLVMInitializeBPFTargetInfo();
    LLVMInitializeBPFTargetMC();
    LLVMInitializeBPFDisassembler();
  } else {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86Disassembler();
  }
  const char* triple = is_bpf ? "bpfel" : "x86_64-unknown-linux-gnu";
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) return error;
  std::unique_ptr<llvm::MCRegisterInfo> registers(target->createMCRegInfo(triple));
  std::unique_ptr<llvm::MCAsmInfo> assembly(target->createMCAsmInfo(*registers, triple, llvm::MCTargetOptions()));
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      target->createMCSubtargetInfo(triple, is_bpf ? "v3" : "x86-64", is_bpf ? "" : "+rdpid"));
  std::unique_ptr<llvm::MCInstrInfo> instructions(target->createMCInstrInfo());
  llvm::MCContext context(llvm::Triple(triple), assembly.get(), registers.get(), subtarget.get());
  std::unique_ptr<llvm::MCDisassembler> decoder(target->createMCDisassembler(*subtarget, context));
  std::unique_ptr<llvm::MCInstPrinter> printer(
      target->createMCInstPrinter(llvm::Triple(triple), 0, *assembly, *instructions, *registers));
  printer->setPrintBranchImmAsAddress(!is_bpf);

  std::string out;
  llvm::ArrayRef<std::uint8_t> bytes(code.data(), code.size());
  for (std::uint64_t at = 0; at < code.size();) {
    llvm::MCInst instruction;
    std::uint64_t size = 1;
    std::string line = " (bad)";
    if (decoder->getInstruction(instruction, size, bytes.slice(at), at, llvm::nulls()) ==
        llvm::MCDisassembler::Success) {
      line.clear();
      llvm::raw_string_ostream stream(line);
      printer->printInst(&instruction, base + at + size, "", *subtarget, stream);  // x86: relative to the next one
    }
    for (char& c : line)
      if (c == '\t') c = ' ';
    out += fmt::format("  +{:#05x} {}\n", at, line);
    at += size ? size : 1;
  }
  return out;
}

}  // namespace kevt::codegen
