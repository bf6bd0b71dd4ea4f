// The same events for other tools, from the parsed definition.
//
//   p:op libc:open64 path=+0(%di):string, filter path ~ "/etc/*"
//     perf probe -x /lib/libc.so.6 -a 'kprobes:op=open64 path=+0(%di):string'
//     uprobe:/lib/libc.so.6:open64 { printf("op: path=\"%s\"\n", str(reg("di"))); }
//
// perf hands what it does not know to the kernel, so its arguments are the kernel's; bpftrace's are written anew: a
// dereference is `*(uint64 *)(address + offset)`. A comment names what a tool cannot express. Neither tool has
// triggers.
#include <QObject>
#include <optional>
#include <variant>

#include "compiler/diag/diagnostic.h"
#include "compiler/model/filter.h"
#include "grammar/parse.h"
#include "gui/model/export_as.h"

namespace kevt::gui {
namespace {

QString text(const std::string& part) { return QString::fromStdString(part); }

std::optional<model::Definition> parsed(const QString& line) {
  diag::Sink sink;
  const auto statement = grammar::parse_line(line.toStdString(), grammar::EventsFile::Dynamic, sink);
  if (!statement || !std::holds_alternative<model::Definition>(*statement)) return std::nullopt;
  return std::get<model::Definition>(*statement);
}

bool isProgram(const WrittenTarget& target) { return target.pid != 0 || !target.command.isEmpty(); }

QString fileOf(const std::string& module, const WrittenTarget& target) {
  const auto found = target.files.find(text(module));
  return found == target.files.end() ? text(module) : found.value();
}

QString offsetOf(std::uint64_t offset) {
  return offset ? QStringLiteral("+0x%1").arg(QString::number(offset, 16)) : QString();
}

// ---- bpftrace

using Words = std::optional<QString>;  // nullopt: bpftrace cannot say it

Words baseOf(const model::FetchBase& base) {
  if (const auto* at = std::get_if<model::RegisterBase>(&base))
    return QStringLiteral("reg(\"%1\")").arg(text(at->name));
  if (std::holds_alternative<model::StackPointerBase>(base)) return QStringLiteral("reg(\"sp\")");
  if (const auto* at = std::get_if<model::StackSlotBase>(&base))
    return QStringLiteral("*(uint64 *)(reg(\"sp\") + %1)").arg(8ull * at->index);
  if (std::holds_alternative<model::ReturnValueBase>(base)) return QStringLiteral("retval");
  if (const auto* at = std::get_if<model::ArgumentBase>(&base))
    return at->number <= 6 ? Words(QStringLiteral("arg%1").arg(at->number - 1)) : std::nullopt;
  if (std::holds_alternative<model::CommBase>(base)) return QStringLiteral("comm");
  if (const auto* at = std::get_if<model::MemoryBase>(&base))
    return QStringLiteral("*(uint64 *)0x%1").arg(QString::number(at->address, 16));
  if (const auto* at = std::get_if<model::ImmediateBase>(&base)) return QString::number(at->value);
  return std::nullopt;
}

struct Printed {
  QString format, value;
};

Words castOf(const model::TypeSpec& type) {
  return QStringLiteral("(%1int%2)").arg(model::is_signed_number(type.kind) ? "" : "u").arg(8 * type.bytes);
}

// How many bytes a text has, as an expression; nullopt: no such tool can say it.
Words lengthOf(const model::Length& length) {
  const auto base = baseOf(length.expr.base);
  if (!base) return std::nullopt;
  const auto& reads = length.expr.dereferences;
  QString value = reads.empty() && length.type.bytes != 8 ? *castOf(length.type) + *base : *base;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const bool is_last = i + 1 == reads.size();
    const QString type = QStringLiteral("%1int%2")
                             .arg(is_last && model::is_signed_number(length.type.kind) ? "" : "u")
                             .arg(is_last ? 8 * length.type.bytes : 64);
    const bool is_user = reads[i].space == model::AddressSpace::User;
    value =
        QStringLiteral("*(%1 *)%2(%3 + %4)").arg(type, is_user ? "uptr" : "", value, QString::number(reads[i].offset));
  }
  return value;
}

std::optional<Printed> printed(const model::FetchArg& arg) {
  const model::TypeSpec& type = arg.type;
  auto value = baseOf(arg.expr.base);
  if (!value || arg.needs_types || type.array_count != 0) return std::nullopt;
  if (std::holds_alternative<model::CommBase>(arg.expr.base)) return Printed{QStringLiteral("\"%s\""), *value};
  const bool is_text = type.kind == model::TypeKind::String || type.kind == model::TypeKind::UserString;
  const auto& reads = arg.expr.dereferences;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const bool is_user = reads[i].space == model::AddressSpace::User || type.kind == model::TypeKind::UserString;
    const std::int64_t offset = reads[i].offset;
    if (offset)
      value = QStringLiteral("%1 %2 %3")
                  .arg(*value, offset < 0 ? "-" : "+", QString::number(offset < 0 ? -offset : offset));
    const bool is_last = i + 1 == reads.size();
    if (is_last && is_text) {
      const QString place = is_user ? QStringLiteral("uptr(%1)").arg(*value) : *value;
      if (!arg.length) return Printed{QStringLiteral("\"%s\""), QStringLiteral("str(%1)").arg(place)};
      const auto bytes = lengthOf(*arg.length);  // str() counts a NUL
      if (!bytes) return std::nullopt;
      return Printed{QStringLiteral("\"%s\""), QStringLiteral("str(%1, %2 + 1)").arg(place, *bytes)};
    }
    const QString read = QStringLiteral("%1int%2")
                             .arg(is_last && model::is_signed_number(type.kind) ? "" : "u")
                             .arg(is_last ? 8 * type.bytes : 64);
    value =
        is_user ? QStringLiteral("*(%1 *)uptr(%2)").arg(read, *value) : QStringLiteral("*(%1 *)(%2)").arg(read, *value);
  }
  if (type.kind == model::TypeKind::Float) return std::nullopt;  // no such tool has floating point
  const QString cast = reads.empty() && type.bytes != 8 ? *castOf(type) : QString();
  switch (type.kind) {
    case model::TypeKind::Unsigned:
      return Printed{QStringLiteral("%lu"), cast + *value};
    case model::TypeKind::BigEndian:
      return Printed{QStringLiteral("%lu"), QStringLiteral("bswap(%1)").arg(cast + *value)};
    case model::TypeKind::Enum:
    case model::TypeKind::Signed:
      return Printed{QStringLiteral("%ld"), cast + *value};
    case model::TypeKind::Hex:
      return Printed{QStringLiteral("0x%lx"), cast + *value};
    case model::TypeKind::Char:
      return Printed{QStringLiteral("'%c'"), cast + *value};
    case model::TypeKind::Symbol:
    case model::TypeKind::SymbolString:
      return Printed{QStringLiteral("%s"), QStringLiteral("ksym(%1)").arg(*value)};
    case model::TypeKind::Bitfield:
      return Printed{QStringLiteral("%lu"), QStringLiteral("(%1 >> %2) & 0x%3")
                                                .arg(cast + *value)
                                                .arg(type.bit_offset)
                                                .arg(QString::number((1ull << type.bit_width) - 1, 16))};
    case model::TypeKind::String:
    case model::TypeKind::UserString:
      return Printed{QStringLiteral("\"%s\""), QStringLiteral("str(%1)").arg(*value)};
    default:
      break;  // no such tool has it
  }
  return std::nullopt;
}

Words placeOf(const model::Definition& event, const WrittenTarget& target) {
  const auto* at = std::get_if<model::SymbolPlace>(&event.place);
  const bool is_probe = event.kind == model::EventKind::Kprobe || event.kind == model::EventKind::Fprobe;
  if (!at || !is_probe) return std::nullopt;
  const bool returns = event.probe_kind == model::ProbeKind::Return;
  QString out = isProgram(target) ? QStringLiteral("uprobe:") : QStringLiteral("kprobe:");
  if (returns) out.insert(1, QStringLiteral("ret"));
  if (returns && !isProgram(target)) out = QStringLiteral("kretprobe:");
  if (at->module) out += (isProgram(target) ? fileOf(*at->module, target) : text(*at->module)) + QLatin1Char(':');
  return out + text(at->symbol) + offsetOf(at->offset);
}

Words fieldOf(const model::FilterPredicate& predicate, const model::Definition& event) {
  const QString name = text(predicate.field_name);
  if (name == QLatin1String("common_pid")) return QStringLiteral("tid");
  if (name.toLower() == QLatin1String("comm")) return QStringLiteral("comm");
  if (name.toLower() == QLatin1String("cpu") || name == QLatin1String("common_cpu")) return QStringLiteral("cpu");
  for (const model::FetchArg& arg : event.args)
    if (arg.name == predicate.field_name)
      if (const auto value = printed(arg)) return value->value;
  return std::nullopt;
}

Words filterOf(const model::FilterExpr& filter, const model::Definition& event) {
  if (filter.node == model::FilterNode::Predicate) {
    static const char* const kOps[] = {"==", "!=", "<", "<=", ">", ">=", "&"};
    const auto field = fieldOf(filter.predicate, event);
    if (!field || filter.predicate.op == model::CompareOp::Glob || filter.predicate.operand_cpus) return std::nullopt;
    const QString operand = text(filter.predicate.operand);
    return QStringLiteral("%1 %2 %3")
        .arg(*field, QString::fromLatin1(kOps[static_cast<int>(filter.predicate.op)]),
             filter.predicate.operand_quoted ? QStringLiteral("\"%1\"").arg(operand) : operand);
  }
  QStringList parts;
  for (const model::FilterExpr& child : filter.children) {
    const auto part = filterOf(child, event);
    if (!part) return std::nullopt;
    parts.append(child.node == model::FilterNode::Predicate ? *part : QStringLiteral("(%1)").arg(*part));
  }
  if (filter.node == model::FilterNode::Not) return QStringLiteral("!(%1)").arg(parts.value(0));
  return parts.join(filter.node == model::FilterNode::And ? QStringLiteral(" && ") : QStringLiteral(" || "));
}

QString bpftraceOf(const WrittenEvent& event, const WrittenTarget& target) {
  const auto definition = parsed(event.definition);
  const auto place = definition ? placeOf(*definition, target) : std::nullopt;
  if (!place) return QObject::tr("// bpftrace has no form of: %1\n").arg(event.definition);
  QString format = event.event + QLatin1Char(':'), values, remarks;
  for (const model::FetchArg& arg : definition->args) {
    const auto one = printed(arg);
    if (!one) {
      remarks += QObject::tr("  // bpftrace has no form of: %1=%2\n").arg(text(arg.name), text(arg.text));
      continue;
    }
    format += QStringLiteral(" %1=%2").arg(text(arg.name), one->format);
    values += QStringLiteral(", ") + one->value;
  }
  QString predicate;
  if (!event.filter.isEmpty()) {
    diag::Sink sink;
    const auto filter = grammar::parse_filter(event.filter.toStdString(), sink);
    const auto words = filter ? filterOf(*filter, *definition) : std::nullopt;
    if (words)
      predicate = QStringLiteral("\n/%1/").arg(*words);
    else
      remarks += QObject::tr("  // bpftrace has no form of the filter: %1\n").arg(event.filter);
  }
  format.replace(QLatin1Char('"'), QLatin1String("\\\""));
  return QStringLiteral("%1%2\n{\n%3  printf(\"%4\\n\"%5);\n}\n").arg(*place, predicate, remarks, format, values);
}

// ---- perf

QString perfProbeOf(const WrittenEvent& event, const WrittenTarget& target) {
  const auto definition = parsed(event.definition);
  const auto* place = definition ? std::get_if<model::SymbolPlace>(&definition->place) : nullptr;
  const bool is_probe =
      definition && (definition->kind == model::EventKind::Kprobe || definition->kind == model::EventKind::Fprobe);
  if (!place || !is_probe) return QObject::tr("# perf probe has no form of: %1\n").arg(event.definition);
  QString options;
  if (place->module && isProgram(target))
    options = QStringLiteral("-x %1 ").arg(shellWord(fileOf(*place->module, target)));
  else if (place->module)
    options = QStringLiteral("-m %1 ").arg(shellWord(text(*place->module)));
  QString words =
      QStringLiteral("%1:%2=%3%4").arg(event.group, event.event, text(place->symbol), offsetOf(place->offset));
  if (definition->probe_kind == model::ProbeKind::Return) words += QStringLiteral("%return");
  for (const model::FetchArg& arg : definition->args)
    words += QStringLiteral(" %1=%2").arg(text(arg.name), text(arg.text));
  QString out = QStringLiteral("perf probe %1-a %2\n").arg(options, shellWord(words));
  if (definition->maxactive) out.prepend(QObject::tr("# perf probe has no form of r%1\n").arg(*definition->maxactive));
  return out;
}

}  // namespace

QString asPerfProbe(const std::vector<WrittenEvent>& events, const WrittenTarget& target) {
  QString probes, record;
  for (const WrittenEvent& event : events) {
    if (!event.definition.isEmpty()) probes += perfProbeOf(event, target);
    for (const QString& trigger : event.triggers) probes += QObject::tr("# perf has no triggers: %1\n").arg(trigger);
    if (!event.is_on) continue;
    record += QStringLiteral(" -e %1:%2").arg(event.group, event.event);
    if (!event.filter.isEmpty()) record += QStringLiteral(" --filter ") + shellWord(event.filter);
  }
  if (record.isEmpty()) return probes;
  QString whom = QStringLiteral("-a");
  if (target.pid != 0) whom = QStringLiteral("-p %1").arg(target.pid);
  if (!target.command.isEmpty()) {
    QStringList words;
    for (const QString& word : target.command) words.append(shellWord(word));
    whom = QStringLiteral("-- ") + words.join(QLatin1Char(' '));
  }
  return probes + QStringLiteral("perf record%1 %2\nperf script\n").arg(record, whom);
}

QString asBpftrace(const std::vector<WrittenEvent>& events, const WrittenTarget& target) {
  QString out = QStringLiteral("#!/usr/bin/env bpftrace\n");
  if (target.pid != 0) out += QObject::tr("// bpftrace -p %1 FILE\n").arg(target.pid);
  if (!target.command.isEmpty())
    out += QObject::tr("// bpftrace -c %1 FILE\n").arg(shellWord(target.command.join(QLatin1Char(' '))));
  for (const WrittenEvent& event : events) {
    if (!event.is_on) continue;
    out += event.definition.isEmpty()
               ? QStringLiteral("tracepoint:%1:%2\n{\n  printf(\"%2: %s-%d\\n\", comm, tid);\n}\n")
                     .arg(event.group, event.event)
               : bpftraceOf(event, target);
    for (const QString& trigger : event.triggers) out += QObject::tr("// bpftrace has no triggers: %1\n").arg(trigger);
  }
  return out;
}

}  // namespace kevt::gui
