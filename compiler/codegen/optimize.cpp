// An extractor is straight code with rare exits: with few and simple passes it is at most an instruction longer than
// with -O2, in a quarter of the time. And the verifier may not follow BPF code that an optimizer has rearranged.
#include "compiler/codegen/optimize.h"

#include <llvm/Passes/PassBuilder.h>
#include <llvm/Target/TargetMachine.h>

namespace kevt::codegen {

namespace {
constexpr const char* kPasses = "function(sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>,simplifycfg,adce)";
}

Result<void> optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  llvm::ModulePassManager passes;
  if (auto error = builder.parsePassPipeline(passes, kPasses))
    return std::unexpected(Error("llvm: " + llvm::toString(std::move(error))));
  passes.run(module, modules);
  return {};
}

}  // namespace kevt::codegen
