// Compiles one definition for the present target and shows all stages, as `kevtrace explain` and `kevtrace cost` do.
#include "gui/model/event_code.h"

#include <QObject>

#include <fmt/format.h>

#include <algorithm>

#include "compiler/codegen/native.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/ir/text.h"
#include "compiler/pipeline/compile.h"
#include "compiler/target/fixed_target.h"
#include "gui/model/site_info.h"
#include "gui/model/text_forms.h"
#include "runtime-user/runtime/inproc/code/hit_cost.h"
#include "runtime-user/runtime/inproc/x86/site_plan.h"

namespace kevt::gui {
namespace {

QString first_of(const diag::Sink& sink) {
  if (sink.empty()) return QObject::tr("this form has no code");
  const diag::Diagnostic& first = sink.diagnostics().front();
  QString out = fromUtf8(diag::kernel_text(first.kind));
  if (!first.detail.empty()) out += QStringLiteral(": ") + fromUtf8(first.detail);
  return out;
}

// "107 (12.4 ns)", or both ends of a range; `beside`: nanoseconds that are added to the instructions' own.
QString range(const std::optional<x86::PathRange>& range, double instruction_ns, double beside) {
  if (!range) return QStringLiteral("-");
  const auto ns = [&](std::uint32_t count) { return QString::number(count * instruction_ns + beside, 'f', 1); };
  return range->least == range->most ? QStringLiteral("%1 (%2 ns)").arg(range->least).arg(ns(range->least))
                                     : QStringLiteral("%1 to %2 (%3 to %4 ns)")
                                           .arg(range->least)
                                           .arg(range->most)
                                           .arg(ns(range->least), ns(range->most));
}

// Costs of this machine, measured once when the first code is shown.
const inproc::MachineCosts& machine() {
  static const inproc::MachineCosts costs = inproc::measure_machine();
  return costs;
}

bool is_int3(const target::ProcessEnv* process, std::uint64_t address) {
  const auto place = process ? process->place(RemoteAddr{address}) : std::nullopt;
  return place && x86::plan_site(*place->image, place->address).kind == x86::ArmKind::Breakpoint;
}

std::uint32_t longest_array(const ir::Program& program) {
  std::uint32_t longest = 1;
  for (const ir::Store& store : program.stores) longest = std::max<std::uint32_t>(longest, store.count);
  return longest;
}

}  // namespace

QString EventCode::text() const {
  if (!mistake.isEmpty()) return QStringLiteral("⚠ ") + mistake;
  QString out;
  const auto add = [&](const QString& title, const QString& body) {
    if (!body.isEmpty()) out += QStringLiteral("== %1 ==\n%2\n\n").arg(title, body.trimmed());
  };
  add(QObject::tr("source"), source);
  add(QObject::tr("arming"), arming);
  add(QObject::tr("a hit"), cost);
  add(QObject::tr("fetch IR"), fetch_ir);
  add(QObject::tr("machine code"), machine_code);
  return out;
}

EventCode eventCode(TargetContext& world, const QString& definition, const QString& filter) {
  const target::UncheckedTargetEnv unchecked;
  const target::TargetEnv* known = world.env();
  const target::TargetEnv& env = known ? *known : unchecked;
  EventCode out;
  diag::Sink sink;
  auto event =
      pipeline::check_event(definition.toStdString(), env, target::FixedCatalog(), pipeline::Forms::Runnable, sink);
  if (!event) {
    out.mistake = first_of(sink);
    return out;
  }
  std::optional<model::FilterExpr> bound;
  if (!filter.isEmpty()) {
    bound = pipeline::check_filter(filter.toStdString(), *event, sink);
    if (!bound) {
      out.mistake = first_of(sink);
      return out;
    }
  }
  const bool is_kernel = world.isKernel();
  const auto compiled = pipeline::compile_events({*event}, {{bound}}, env, pipeline::Artifacts::KeepAll,
                                                 is_kernel ? model::CodeKind::Bpf : model::CodeKind::Native);
  if (!compiled) {
    out.mistake = fromUtf8(compiled.error().message());
    return out;
  }
  const model::CompiledEvent& made = compiled->batch.events[0];
  out.fetch_ir = fromUtf8(ir::print(compiled->programs[0]));
  if (const auto facts = placeFacts(world, definition)) {
    out.arming = facts->arming.isEmpty() ? facts->why_not : facts->arming;
    out.source = facts->source;
  }
  if (is_kernel) {
    const std::vector<std::uint64_t>& words = compiled->batch.bpf[made.bpf].instructions;
    const std::span code(reinterpret_cast<const std::uint8_t*>(words.data()), words.size() * sizeof(words[0]));
    out.machine_code = fromUtf8(codegen::disassemble(code, 0, codegen::Machine::Bpf));
    out.cost = QObject::tr("BPF, as `kevtrace run --runtime bpf` loads it: %1 instructions").arg(words.size());
    return out;
  }
  const auto code = std::span(compiled->batch.images[made.image].bytes).subspan(made.entry, made.code_size);
  out.machine_code = fromUtf8(codegen::disassemble(code));
  const x86::PathLengths lengths = inproc::hit_instructions(made, code, longest_array(compiled->programs[0]));
  const double trap = is_int3(world.process(), made.place_address) ? machine().breakpoint : 0;
  out.cost =
      QObject::tr(
          "instructions: recorded %1, rejected by the filter %2; %3 bytes of code\nas `kevtrace cost` has it, on "
          "this machine: %4 ns an instruction, %5 ns a record's time stamp and reservation, %6 ns an int3")
          .arg(range(lengths.recorded, machine().instruction, machine().record + trap),
               bound ? range(lengths.rejected, machine().instruction, trap) : QStringLiteral("-"))
          .arg(made.code_size)
          .arg(machine().instruction, 0, 'f', 3)
          .arg(machine().record, 0, 'f', 1)
          .arg(machine().breakpoint, 0, 'f', 0);
  return out;
}

}  // namespace kevt::gui
