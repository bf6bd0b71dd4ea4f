// kevtrace explain: what becomes of a definition, stage by stage, down to the bytes.
//
//   kevtrace explain -e 'p libc:malloc size=%di:u64' -- ls
//
// Without --only it is a summary: code is told of by its size.
//
// PROGRAM is started and held before its first instruction, so that functions have their final addresses and the bytes
// shown are the ones a probe would replace; then it is killed without having run. Without
// a PROGRAM functions are not looked up, and how the probes would be armed stays open. `--runtime bpf` looks at the
// running kernel instead and arms nothing.
#include <fmt/format.h>

#include <algorithm>

#include "cli/definitions/compilation.h"
#include "cli/exit_status.h"
#include "cli/reporter.h"
#include "cli/verbs/commands.h"
#include "common/abi/registers.h"
#include "common/print.h"
#include "compiler/codegen/native.h"
#include "compiler/ir/text.h"
#include "compiler/layout/layout.h"
#include "runtime-user/runtime/inproc/x86/site_plan.h"

namespace kevt::cli {

namespace {

using Part = ExplainOptions::Part;

constexpr std::uint32_t kFirstId = 20000;  // the engine's first id

void heading(std::string_view text) { print("== {} ==\n", text); }

// Prints lines indented below their heading.
void indented(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    print("  {}\n", Lines{text.substr(0, end)});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string hex_bytes(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{}{:02x}", text.empty() ? "" : " ", byte);
  return text;
}

std::string register_list(std::uint32_t mask) {
  std::string text;
  for (const std::string_view name : target::register_names())
    if (mask >> (*target::register_offset(name) / 8) & 1) text += fmt::format("{}%{}", text.empty() ? "" : " ", name);
  return text.empty() ? "none" : text;
}

class Explain {
 public:
  Explain(const ExplainOptions& options, const GlobalOptions& global)
      : options_(options), report_(global), compilation_(report_) {}
  int go();

 private:
  bool wanted(Part part) const {
    const auto has = [&](Part one) { return std::ranges::find(options_.only, one) != options_.only.end(); };
    const bool is_long = part == Part::FetchIr || part == Part::LlvmIr || part == Part::Code;
    return options_.only.empty() ? !is_long : has(part) || has(Part::All);
  }
  void print_event(std::size_t i) const;
  void print_code(std::size_t i) const;
  void print_sizes(std::size_t i) const;
  void print_arming(const model::CompiledEvent& event) const;
  void print_plan(const model::CompiledEvent& event, const target::ProcessEnv::Place& place) const;

  const ExplainOptions& options_;
  Reporter report_;
  Compilation compilation_;
};

void Explain::print_code(std::size_t i) const {
  const auto code = compilation_.code(i);
  const std::uint32_t reads = compilation_.compiled().batch.events[i].register_reads;
  heading(fmt::format("machine code ({} bytes; reads from its frame {})", code.size(), register_list(reads)));
  indented(codegen::disassemble(code));
}

void print_bpf(const pipeline::CompiledEvents& compiled, std::size_t i) {
  const model::BpfCode& code = compiled.batch.bpf[compiled.batch.events[i].bpf];
  heading("BPF program");
  print("  {} instructions; {} bytes for the event, {} of scratch for each CPU\n", code.instructions.size(),
        code.event_bytes, code.scratch_bytes);
}

std::size_t lines_of(std::string_view text) { return static_cast<std::size_t>(std::ranges::count(text, '\n')); }

// What is left out of the summary.
void Explain::print_sizes(std::size_t i) const {
  if (compilation_.kernel()) print_bpf(compilation_.compiled(), i);
  heading("not shown");
  print("  fetch IR (--only=ir): {} lines\n", lines_of(ir::print(compilation_.compiled().programs[i])));
  print("  LLVM IR (--only=llvm): {} lines\n", lines_of(compilation_.compiled().llvm_ir));
  if (compilation_.kernel()) return;
  const auto code = compilation_.code(i);
  print("  machine code (--only=asm): {} instructions, {} bytes\n", lines_of(codegen::disassemble(code)), code.size());
}

void Explain::print_plan(const model::CompiledEvent& event, const target::ProcessEnv::Place& place) const {
  const x86::SitePlan plan = x86::plan_site(*place.image, place.address);
  switch (plan.kind) {
    case x86::ArmKind::Jump:
      print("  by a jump of {} bytes\n", x86::kJumpLength);
      break;
    case x86::ArmKind::Breakpoint:
      print("  by int3, not by a jump: {}\n", plan.reason);
      break;
    case x86::ArmKind::Refused:
      print("  not at all: {}\n", plan.reason);
      return;
  }
  if (event.definition.probe_kind == model::ProbeKind::Return) {
    const auto symbol = place.image->symbol_covering(place.address);
    const auto refusal = x86::return_probe_refusal(*place.image, symbol ? symbol->name : std::string_view());
    if (refusal)
      print("  a return probe is refused there: {}\n", *refusal);
    else
      print("  the return is caught by taking the return address at the entry and calling the rest of the function\n");
  }
  print("  original bytes: {}\n", hex_bytes(plan.original));
  print("  displaced, run out of line:\n");
  const auto displaced = std::span(plan.original).first(std::min<std::size_t>(plan.displaced, plan.original.size()));
  indented(codegen::disassemble(displaced, place.address.value));
}

// How a hit in the kernel reaches the BPF program.
std::string hook_text(const model::CompiledEvent& event, const target::KernelEnv& kernel,
                      const session::KernelCatalog& statics) {
  const model::Definition& definition = event.definition;
  if (const auto* place = std::get_if<model::EventPlace>(&definition.place))
    return fmt::format("at the static event `{}/{}`, number {}: the program reads its record", place->system,
                       place->event, statics.id_of(*place).value_or(0));
  const bool returns = definition.probe_kind == model::ProbeKind::Return;
  if (const auto* point = std::get_if<model::TracepointPlace>(&definition.place))
    return fmt::format("by a raw tracepoint, `{}`: the program has its arguments, and no registers", point->tracepoint);
  if (const auto* watch = std::get_if<model::WatchPlace>(&definition.place))
    return fmt::format("by a debug register of each CPU: {} of {} bytes at 0x{:x}",
                       watch->access == "w" ? "writes" : "reads and writes", watch->length, event.place_address);
  if (const auto* file = std::get_if<model::FilePlace>(&definition.place))
    return fmt::format("by a {} of {} at 0x{:x}", returns ? "uretprobe" : "uprobe", file->path, file->offset);
  const std::uint64_t address = kernel.probed_address(event.place_address);
  const auto symbol = kernel.symbolize(address);
  const std::string place = symbol ? fmt::format("{}+0x{:x}", symbol->name, address - symbol->address) : "";
  return fmt::format("by a {} at {} 0x{:x}", returns ? "kretprobe" : "kprobe", place, address);
}

void Explain::print_arming(const model::CompiledEvent& event) const {
  heading("arming");
  if (const target::KernelEnv* kernel = compilation_.kernel())
    return print("  {}\n", hook_text(event, *kernel, *compilation_.statics()));
  if (!compilation_.program()) {
    print("  not known: it depends on the program; add `-- PROGRAM`\n");
    return;
  }
  const auto place = compilation_.program()->place(RemoteAddr{event.place_address});
  if (!place) {
    print("  not at all: 0x{:x} belongs to no program or library\n", event.place_address);
    return;
  }
  const auto symbol = compilation_.program()->symbolize(event.place_address);
  const std::string name =
      symbol ? fmt::format("{}+0x{:x}/0x{:x} ", symbol->name, event.place_address - symbol->address, symbol->size) : "";
  print("  at {}[{}], 0x{:x} in the file's addresses\n", name, place->module->path, place->address.value);
  print_plan(event, *place);
}

void Explain::print_event(std::size_t i) const {
  const pipeline::CheckedEvent& event = compilation_.events()[i];
  if (compilation_.events().size() > 1)
    print("{}#### {}/{}\n", Lines{i ? "\n" : ""}, event.definition.group, event.definition.event);
  if (wanted(Part::Listing)) {
    heading("listing");
    print("  {}\n", event.listing);
    if (const auto& filter = compilation_.filters()[i]) print("  filter: {}\n", *filter);
  }
  if (wanted(Part::Format)) {
    heading("format");
    indented(layout::format_text(event.definition, event.layout, kFirstId + static_cast<std::uint32_t>(i)));
  }
  if (wanted(Part::FetchIr)) {
    heading("fetch IR");
    indented(ir::print(compilation_.compiled().programs[i]));
  }
  if (wanted(Part::Code)) compilation_.kernel() ? print_bpf(compilation_.compiled(), i) : print_code(i);
  if (wanted(Part::Arming)) print_arming(compilation_.compiled().batch.events[i]);
  if (options_.only.empty()) print_sizes(i);
}

int Explain::go() {
  if (options_.runtime == "bpf") {
    if (!options_.command.empty()) {
      report_.error("the kernel is looked at as a whole: no CMD with --runtime bpf");
      return kUsage;
    }
    if (auto failed = compilation_.use_kernel()) return *failed;
  }
  if (auto failed = compilation_.compile(options_.definitions, options_.filters, options_.command)) return *failed;
  const std::size_t count = compilation_.events().size();
  for (std::size_t i = 0; i < count; ++i) print_event(i);
  if (wanted(Part::LlvmIr)) {
    heading(count > 1 ? "LLVM IR of all of them" : "LLVM IR");
    indented(compilation_.compiled().llvm_ir);
  }
  return kOk;
}

}  // namespace

int explain(const ExplainOptions& options, const GlobalOptions& global) { return Explain(options, global).go(); }

}  // namespace kevt::cli
