// One definition through all stages, as `kevtrace explain` and `kevtrace cost` show it, for the target that is there.
#include "gui/model/event_code.h"

#include <QObject>

#include <fmt/format.h>

#include <algorithm>

#include "compiler/codegen/native.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/ir/text.h"
#include "compiler/pipeline/compile.h"
#include "compiler/target/fixed_target.h"
#include "gui/model/place_facts.h"
#include "runtime-user/runtime/inproc/hit_cost.h"

namespace kevt::gui {
namespace {

QString text(std::string_view part) { return QString::fromUtf8(part.data(), static_cast<qsizetype>(part.size())); }

QString first_of(const diag::Sink& sink) {
  if (sink.empty()) return QObject::tr("this form has no code");
  const diag::Diagnostic& first = sink.diagnostics().front();
  QString out = text(diag::kernel_text(first.kind));
  if (!first.detail.empty()) out += QStringLiteral(": ") + text(first.detail);
  return out;
}

QString range(const std::optional<x86::PathRange>& range) {
  if (!range) return QStringLiteral("-");
  return range->least == range->most ? QString::number(range->least)
                                     : QStringLiteral("%1 to %2").arg(range->least).arg(range->most);
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
  add(QObject::tr("arming"), arming);
  add(QObject::tr("a hit, in instructions"), cost);
  add(QObject::tr("fetch IR"), fetch_ir);
  add(QObject::tr("machine code"), machine_code);
  return out;
}

EventCode eventCode(TracedWorld& world, const QString& definition, const QString& filter) {
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
    out.mistake = gui::text(compiled.error().message());
    return out;
  }
  const model::CompiledEvent& made = compiled->batch.events[0];
  out.fetch_ir = gui::text(ir::print(compiled->programs[0]));
  if (const auto facts = placeFacts(world, definition); facts && facts->arming.isEmpty())
    out.arming = facts->why_not;
  else if (facts)
    out.arming = facts->arming;
  if (is_kernel) {
    const std::vector<std::uint64_t>& words = compiled->batch.bpf[made.bpf].instructions;
    const std::span code(reinterpret_cast<const std::uint8_t*>(words.data()), words.size() * sizeof(words[0]));
    out.machine_code = gui::text(codegen::disassemble(code, 0, codegen::Machine::Bpf));
    out.cost = QObject::tr("BPF, as `kevtrace run --runtime bpf` loads it: %1 instructions").arg(words.size());
    return out;
  }
  const auto code = std::span(compiled->batch.images[made.image].bytes).subspan(made.entry, made.code_size);
  out.machine_code = gui::text(codegen::disassemble(code));
  const x86::PathLengths lengths = inproc::hit_instructions(made, code, longest_array(compiled->programs[0]));
  out.cost = QObject::tr("recorded %1, rejected by the filter %2; %3 bytes of code")
                 .arg(range(lengths.recorded), bound ? range(lengths.rejected) : QStringLiteral("-"))
                 .arg(made.code_size);
  return out;
}

}  // namespace kevt::gui
