// A batch of programs → one LLVM module → one ELF object → instructions.
//
// Each program has a section of its own. LLVM leaves the maps open: 16-byte loads of symbols named kevt_…, which become
// references for the loader that makes the maps. If asked for, it leaves numbers open, too: kevt_number_N, which are
// filled in where the kernel's types are known.
#include "compiler/codegen/bpf.h"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>

#include "compiler/codegen/bpf_emitter.h"
#include "compiler/codegen/bpf_hooks.h"
#include "compiler/codegen/optimize.h"

namespace kevt::codegen {

namespace {

constexpr const char* kBpfTriple = "bpfel";

Result<std::unique_ptr<llvm::TargetMachine>> make_bpf_machine() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeBPFTargetInfo();
    LLVMInitializeBPFTarget();
    LLVMInitializeBPFTargetMC();
    LLVMInitializeBPFAsmPrinter();
    LLVMInitializeBPFAsmParser();
  });
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(kBpfTriple, error);
  if (!target) return std::unexpected(Error("llvm: " + error));
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      kBpfTriple, "v3", "", llvm::TargetOptions(), llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
  if (!machine) return std::unexpected(Error("llvm: no target machine for BPF"));
  return machine;
}

// Collects the errors that LLVM reports as diagnostics, e.g. a stack over 512 bytes.
class Complaints final : public llvm::DiagnosticHandler {
 public:
  explicit Complaints(std::string& text) : text_(text) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    llvm::raw_string_ostream stream(text_);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return true;
  }

 private:
  std::string& text_;
};

Result<llvm::SmallVector<char, 0>> emit_bpf_object(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return std::unexpected(Error("llvm: BPF emits no object files"));
  passes.run(module);
  return object;
}

std::optional<model::BpfMap> map_named(llvm::StringRef name) {
  if (name == "kevt_events") return model::BpfMap::Events;
  if (name == "kevt_event") return model::BpfMap::Event;
  if (name == "kevt_rings") return model::BpfMap::Rings;
  if (name == "kevt_scratch") return model::BpfMap::Scratch;
  if (name == "kevt_words") return model::BpfMap::Words;
  if (name == "kevt_kept") return model::BpfMap::Kept;
  if (name == "kevt_hits") return model::BpfMap::HitTables;
  if (name == "kevt_stacks") return model::BpfMap::Stacks;
  return std::nullopt;
}

template <class T>
Result<T> taken(llvm::Expected<T> value) {
  if (value) return std::move(*value);
  return std::unexpected(Error("llvm: " + llvm::toString(value.takeError())));
}

std::optional<std::uint32_t> number_named(llvm::StringRef name) {
  std::uint32_t number = 0;
  if (!name.consume_front(kNumberSymbol) || name.getAsInteger(10, number)) return std::nullopt;
  return number;
}

Result<void> read_references(const llvm::object::SectionRef& relocations, model::BpfCode& code) {
  for (const llvm::object::RelocationRef& relocation : relocations.relocations()) {
    auto name = KEVT_TRY(taken(relocation.getSymbol()->getName()));
    const auto instruction = static_cast<std::uint32_t>(relocation.getOffset() / 8);
    const auto number = number_named(name);
    const auto map = map_named(name);
    if (!map && !number) return std::unexpected(Error("BPF code refers to `" + name.str() + "`"));
    if (map) code.references.push_back({instruction, *map});
    if (number) code.numbers.push_back({instruction, *number});
  }
  return {};
}

// Reads the instructions of section kevt/NAME, and their references.
Result<void> read_section(const llvm::object::ObjectFile& object, const std::string& name, model::BpfCode& code) {
  for (const llvm::object::SectionRef& section : object.sections()) {
    auto title = KEVT_TRY(taken(section.getName()));
    if (title == ".relkevt/" + name) {
      KEVT_TRY(read_references(section, code));
    }
    if (title != "kevt/" + name) continue;
    auto contents = KEVT_TRY(taken(section.getContents()));
    code.instructions.resize(contents.size() / 8);
    std::memcpy(code.instructions.data(), contents.data(), code.instructions.size() * 8);
  }
  if (code.instructions.empty()) return std::unexpected(Error("BPF program `" + name + "` is missing"));
  code.functions = {0};
  return {};
}

// Makes undefined values 0. Where paths meet, a value that only one of them sets is undefined on the others, and LLVM
// may spill the register that would hold it. The program never reads such a value, but the verifier refuses to store a
// register that was never written.
void define_all_values(llvm::Module& module) {
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::instructions(function))
      for (llvm::Use& use : instruction.operands())
        if (llvm::isa<llvm::UndefValue>(use.get())) use.set(llvm::Constant::getNullValue(use->getType()));
}

bool matches(const ir::Program& program, const ir::Condition& c,
             bool (*wrong)(const ir::Program&, const ir::Condition&)) {
  if (c.kind == ir::ConditionKind::MatchText && wrong(program, c)) return true;
  return std::ranges::any_of(c.children, [&](const ir::Condition& child) { return matches(program, child, wrong); });
}

std::uint64_t pattern_steps(const ir::Program& program, const ir::Condition& c) {
  std::uint64_t steps = 0;
  if (c.kind == ir::ConditionKind::MatchText && program.values[c.value].op != ir::Op::ImmediateText &&
      (c.glob == model::GlobKind::Middle || c.glob == model::GlobKind::Glob))
    steps = verifier_steps(c);
  for (const ir::Condition& child : c.children) steps += pattern_steps(program, child);
  return steps;
}

}  // namespace

std::string bpf_refusal(const ir::Program& program) {
  const auto has = [&](ir::Op op) {
    return std::ranges::find(program.values, op, &ir::Value::op) != program.values.end();
  };
  if (has(ir::Op::ThreadLocal) || has(ir::Op::SpanContext))
    return "a thread-local variable (`@NAME`, `$trace_id`, `$span_id`): one program runs for all processes, and each "
           "process has the variable elsewhere";
  if (has(ir::Op::Vector))
    return "a vector register (%xmm0 …, a floating point argument or return value): the kernel hands over "
           "general-purpose registers alone";
  std::uint64_t steps = 0;
  for (const ir::Condition* condition : ir::conditions_of(program)) {
    if (matches(program, *condition, [](const ir::Program& p, const ir::Condition& c) {
          return p.values[c.value].op == ir::Op::SymbolText;
        }))
      return "a filter on a `symstr` field: its text is made when the record is read";
    steps += pattern_steps(program, *condition);
  }
  if (steps > kMostPatternSteps)
    return "the patterns of its filter are more than the kernel's verifier walks through: fewer `*`, or fewer patterns";
  if (program.sinks.size() > 32) return "more than 32 instances on one event";
  return "";
}

Result<BpfOutput> compile_bpf(std::span<const BpfInput> inputs, unsigned possible_cpus, KeepIr keep_ir) {
  const unsigned cpus = std::bit_ceil(std::clamp(possible_cpus, 1u, model::kMaxBpfCpus));
  for (const BpfInput& input : inputs)
    if (std::string why = bpf_refusal(*input.program); !why.empty())
      return std::unexpected(Error(input.name + ": " + why, EOPNOTSUPP));
  auto machine = KEVT_TRY(make_bpf_machine());

  std::string complaint;
  llvm::LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<Complaints>(complaint));
  llvm::Module module("kevtrace", context);
  module.setTargetTriple(kBpfTriple);
  module.setDataLayout(machine->createDataLayout());
  BpfOutput out;
  for (const BpfInput& input : inputs) {
    BpfHooks hooks(module, input, cpus);
    BpfEmitter(module, input, hooks).emit(input.name);
    out.programs.push_back(hooks.layout());
  }
  std::string problem;
  llvm::raw_string_ostream problems(problem);
  if (llvm::verifyModule(module, &problems))
    return std::unexpected(Error("generated LLVM IR is malformed: " + problem));
  KEVT_TRY(optimize(module, *machine));
  define_all_values(module);
  if (keep_ir == KeepIr::Yes) {
    llvm::raw_string_ostream text(out.llvm_ir);
    module.print(text, nullptr);
  }
  auto object = KEVT_TRY(emit_bpf_object(module, *machine));
  if (!complaint.empty()) return std::unexpected(Error("llvm: " + complaint));
  auto elf = KEVT_TRY(taken(llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(object.data(), object.size()), "kevtrace"))));
  for (std::size_t i = 0; i < inputs.size(); ++i) KEVT_TRY(read_section(*elf, inputs[i].name, out.programs[i]));
  return out;
}

}  // namespace kevt::codegen
