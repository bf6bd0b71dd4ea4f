// A batch of programs → one LLVM module → one object.
//
// LLVM costs about a millisecond before it does anything for an event, so all events of a batch
// share the module. Code uses general registers only: the detour saves no vector state.
#include "compiler/codegen/native_module.h"

#include <fmt/format.h>
#include <llvm/CodeGen/AsmPrinter.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <mutex>

#include "common/error.h"
#include "compiler/codegen/native_emitter.h"
#include "compiler/codegen/native_hooks.h"
#include "compiler/codegen/native_image.h"
#include "compiler/codegen/optimize.h"

namespace kevt::codegen {

namespace {

// Machine passes that find nothing in extractors, or undo each other's work.
const void* const kPassesThatDoNotPay[] = {
    &llvm::MachineSchedulerID,          &llvm::EarlyMachineLICMID, &llvm::MachineLICMID,
    &llvm::StackSlotColoringID,         &llvm::MachineCombinerID,  &llvm::EarlyIfConverterID,
    &llvm::LiveDebugValuesID,           &llvm::LiveRangeShrinkID,  &llvm::MachineLateInstrsCleanupID,
    &llvm::RemoveRedundantDebugValuesID};

Result<std::unique_ptr<llvm::TargetMachine>> make_machine() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
  });
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(kNativeTriple, error);
  if (!target) return std::unexpected(Error("llvm: " + error));
  llvm::TargetOptions options;
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(kNativeTriple, "x86-64", "+rdpid,+prfchw", options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
  if (!machine) return std::unexpected(Error("llvm: no target machine for x86-64"));
  return machine;
}

Result<llvm::SmallVector<char, 0>> emit_object(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  // What addPassesToEmitFile() does, with a say in which passes there are.
  auto& target = static_cast<llvm::LLVMTargetMachine&>(machine);
  llvm::legacy::PassManager passes;
  auto* info = new llvm::MachineModuleInfoWrapperPass(&target);
  llvm::TargetPassConfig* config = target.createPassConfig(passes);
  config->setDisableVerify(true);
  for (const void* pass : kPassesThatDoNotPay) config->disablePass(pass);
  passes.add(config);
  passes.add(info);
  if (config->addISelPasses()) return std::unexpected(Error("llvm: this target selects no instructions"));
  config->addMachinePasses();
  config->setInitialized();
  if (target.addAsmPrinter(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile, info->getMMI().getContext()))
    return std::unexpected(Error("llvm: this target emits no object files"));
  passes.add(llvm::createFreeMachineFunctionPass());
  passes.run(module);
  return object;
}

// The symbol of a number that is not known yet. LLVM is told the number's sign, and that it fits an instruction.
llvm::Constant* symbol_for(llvm::Module& module, const ir::Constant& constant) {
  auto* byte = llvm::Type::getInt8Ty(module.getContext());
  auto* symbol = new llvm::GlobalVariable(module, byte, false, llvm::GlobalValue::ExternalLinkage, nullptr,
                                          fmt::format("{}{}", kConstantPrefix, constant.position));
  symbol->setDSOLocal(true);
  const std::int64_t limit = ir::kConstantLimit;
  const auto bound = [&](std::int64_t word) {
    return llvm::ConstantAsMetadata::get(
        llvm::ConstantInt::get(llvm::Type::getInt64Ty(module.getContext()), static_cast<std::uint64_t>(word)));
  };
  llvm::Metadata* range[] = {bound(constant.word < 0 ? -limit : 1), bound(constant.word < 0 ? 0 : limit)};
  symbol->setMetadata(llvm::LLVMContext::MD_absolute_symbol, llvm::MDNode::get(module.getContext(), range));
  return symbol;
}

const llvm::DataLayout& data_layout() {
  static const llvm::DataLayout layout = [] {
    auto machine = make_machine();
    return machine ? (*machine)->createDataLayout() : llvm::DataLayout("");  // compile_object() reports the error
  }();
  return layout;
}

}  // namespace

Result<std::unique_ptr<llvm::Module>> build_module(const ModuleRequest& request, const std::string& name,
                                                   llvm::LLVMContext& context) {
  auto module = std::make_unique<llvm::Module>(name, context);
  module->setTargetTriple(kNativeTriple);
  module->setDataLayout(data_layout());
  module->setPICLevel(llvm::PICLevel::SmallPIC);
  NativeEmitter::Symbols symbols;
  for (const ir::Constant& constant : request.varying) symbols[constant.position] = symbol_for(*module, constant);
  for (const NativeInput& input : request.inputs) {
    NativeHooks hooks(*module);
    NativeEmitter(*module, *input.program, hooks, symbols).emit(input.name);
  }
  std::string problem;
  llvm::raw_string_ostream problems(problem);
  if (llvm::verifyModule(*module, &problems))
    return std::unexpected(Error("generated LLVM IR is malformed: " + problem));
  return module;
}

Result<std::unique_ptr<llvm::MemoryBuffer>> compile_object(llvm::Module& module, std::string* llvm_ir) {
  auto machine = KEVT_TRY(make_machine());
  KEVT_TRY(optimize(module, *machine));
  if (llvm_ir) {
    llvm::raw_string_ostream text(*llvm_ir);
    module.print(text, nullptr);
  }
  auto object = KEVT_TRY(emit_object(module, *machine));
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(object), module.getModuleIdentifier(), false);
}

}  // namespace kevt::codegen
