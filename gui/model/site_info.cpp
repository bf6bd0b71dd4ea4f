// What hovering over a definition tells. For a process the plan is the runtime's own (x86::plan_site). A kernel decides
// by itself, so only certain facts are told: a function's entry with an ftrace call, or int3 that may become a jump.
#include "gui/model/site_info.h"

#include <QObject>

#include "compiler/target/types/source_lines.h"
#include "gui/model/text_forms.h"
#include "runtime-user/runtime/inproc/x86/site_plan.h"

namespace kevt::gui {
namespace {

QString arming_of(const target::ProcessEnv& process, std::uint64_t address, bool returns) {
  const auto place = process.place(RemoteAddr{address});
  if (!place) return QObject::tr("not at all: the address belongs to no program or library");
  const x86::SitePlan plan = x86::plan_site(*place->image, place->address);
  QString out;
  switch (plan.kind) {
    case x86::ArmKind::Jump:
      out = QObject::tr("by a jump of %1 bytes").arg(x86::kJumpLength);
      break;
    case x86::ArmKind::Breakpoint:
      out = QObject::tr("by int3, not by a jump: %1").arg(fromUtf8(plan.reason));
      break;
    case x86::ArmKind::Refused:
      return QObject::tr("not at all: %1").arg(fromUtf8(plan.reason));
  }
  if (!returns) return out;
  const auto symbol = place->image->symbol_covering(place->address);
  if (const auto refusal = x86::return_probe_refusal(*place->image, symbol ? symbol->name : std::string_view()))
    return QObject::tr("not at all: %1").arg(fromUtf8(*refusal));
  return out + QObject::tr("; the return address is taken at the entry");
}

QString kernel_arming(const author::PlaceWord& place, bool returns) {
  if (returns) return QObject::tr("by the kernel: rethook at the function's return");
  return place.is_entry
             ? QObject::tr("by the kernel: ftrace's call at the entry where there is one, else int3 or a jump")
             : QObject::tr("by the kernel: int3, which becomes a jump where its optimizer can");
}

QString why_not(const target::LookupError& error) {
  QString out;
  switch (error.failure) {
    case target::LookupFailure::NotFound:
      out = QObject::tr("there is no such function");
      break;
    case target::LookupFailure::NotUnique:
      out = QObject::tr("several functions have this name");
      break;
    case target::LookupFailure::ModuleMissing:
      out = QObject::tr("the library is not loaded: a probe waits for it");
      break;
    case target::LookupFailure::NotChecked:
      return QObject::tr("no target is known: start one or attach");
  }
  for (const std::string& candidate : error.candidates)
    out +=
        (&candidate == &error.candidates.front() ? QStringLiteral(": ") : QStringLiteral(", ")) + fromUtf8(candidate);
  return out;
}

}  // namespace

std::optional<PlaceFacts> placeFacts(TargetContext& world, const QString& line) {
  const author::PlaceWord place = author::place_of(line.toStdString());
  const target::TargetEnv* env = world.env();
  if (place.symbol.empty()) return std::nullopt;
  PlaceFacts facts;
  facts.symbol = fromUtf8(place.symbol);
  if (!env) {
    facts.why_not = QObject::tr("no target is known: start one or attach");
    return facts;
  }
  const auto found = env->find_function(
      place.module.empty() ? std::nullopt : std::optional<std::string_view>(place.module), place.symbol);
  facts.prototype = author::prototype_of(*env, place);
  if (!found) {
    facts.why_not = why_not(found.error());
    return facts;
  }
  facts.symbol = fromUtf8(found->name);
  facts.module = fromUtf8(found->module);
  facts.address = found->address;
  facts.size = found->size;
  const QString begin = line.trimmed();
  const bool returns = begin.startsWith(QLatin1Char('r')) || begin.contains(QLatin1String("%return"));
  const QString offset = line.simplified().section(QLatin1Char(' '), 1, 1).section(QLatin1Char('+'), 1, 1);
  const std::uint64_t address = found->address + offset.toULongLong(nullptr, 0);
  if (const target::ProcessEnv* process = world.process()) {
    facts.arming = arming_of(*process, address, returns);
    if (const auto at = process->place(RemoteAddr{address}))
      if (const auto source = target::source_line(at->image->path(), at->address))
        facts.source = QStringLiteral("%1:%2").arg(fromUtf8(source->file)).arg(source->line);
  } else {
    facts.arming = kernel_arming(place, returns);
  }
  return facts;
}

QString factsHtml(const PlaceFacts& facts, const QString& word) {
  QString out;
  if (facts.prototype) {
    const std::string pointed = word.toStdString();
    for (const author::Parameter& parameter : facts.prototype->parameters)
      if (!pointed.empty() && (pointed == parameter.name || pointed == parameter.where))
        out += QObject::tr("<p><b>%1</b>: argument <code>%2 %3</code></p>")
                   .arg(word.toHtmlEscaped(), fromUtf8(parameter.type).toHtmlEscaped(),
                        fromUtf8(parameter.name).toHtmlEscaped());
    if (word == QLatin1String("$retval"))
      out +=
          QObject::tr("<p><b>$retval</b>: <code>%1</code></p>").arg(fromUtf8(facts.prototype->returns).toHtmlEscaped());
    out += QStringLiteral("<p><code>%1</code></p>").arg(fromUtf8(facts.prototype->text).toHtmlEscaped());
  } else {
    out += QObject::tr("<p><code>%1</code> (no types are known of it)</p>").arg(facts.symbol.toHtmlEscaped());
  }
  if (!facts.why_not.isEmpty()) return out + QStringLiteral("<p>⚠ %1</p>").arg(facts.why_not.toHtmlEscaped());
  out += QStringLiteral("<p>%1 %2 0x%3")
             .arg(facts.symbol.toHtmlEscaped(),
                  facts.module.isEmpty() ? QString() : QStringLiteral("[%1]").arg(facts.module.toHtmlEscaped()),
                  QString::number(facts.address, 16));
  if (facts.size) out += QObject::tr(", %1 bytes").arg(facts.size);
  if (!facts.source.isEmpty()) out += QObject::tr("<br>source %1").arg(facts.source.toHtmlEscaped());
  return out + QObject::tr("<br>armed %1</p>").arg(facts.arming.toHtmlEscaped());
}

}  // namespace kevt::gui
