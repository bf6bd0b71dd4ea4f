// Looks up types for completion and tool tips of definitions.
//
//   p:w work k o->in->|         ->  a int, text const char *, name char[8]
//
// A table of types is valid only until the environment is asked again, so results are copies.
#include "gui/model/prototypes.h"

#include <QRegularExpression>
#include <QStringList>

#include "compiler/target/types/type_table.h"
#include "gui/model/text_forms.h"

namespace kevt::gui {
namespace {

constexpr std::uint32_t kMaxDepth = 8;  // of nested anonymous structures

std::optional<target::FunctionTypes> types_of(const target::TargetEnv& env, const PlaceWord& place) {
  if (place.symbol.isEmpty()) return std::nullopt;
  const std::string module = place.module.toStdString(), symbol = place.symbol.toStdString();
  auto types = env.function_types(module.empty() ? std::nullopt : std::optional<std::string_view>(module), symbol);
  if (!types || !types->table) return std::nullopt;
  return *types;
}

QString register_of(std::uint32_t number) {
  if (number == 0) return {};
  const target::ArgumentLocation at = target::argument_location(number);
  if (!at.in_register) return QStringLiteral("+%1(%sp)").arg(at.offset);
  for (const std::string_view name : target::register_names())
    if (target::register_offset(name) == at.offset) return QLatin1Char('%') + fromUtf8(name);
  return {};
}

target::TypeId pointed_to(const target::TypeTable& table, target::TypeId id) {
  id = table.strip(id);
  if (table.type(id).kind != target::TypeClass::Pointer) return id;
  return table.strip(table.type(id).target);
}

void collect_members(const target::TypeTable& table, target::TypeId id, std::uint32_t bits, std::uint32_t depth,
                     std::vector<StructMember>& out) {
  const target::Type& type = table.type(table.strip(id));
  if (type.kind != target::TypeClass::Struct && type.kind != target::TypeClass::Union) return;
  for (const target::Member& member : table.members(type)) {
    const std::uint32_t at = bits + member.bit_offset;
    if (const std::string_view name = table.name(member.name); !name.empty())
      out.push_back({fromUtf8(name), fromUtf8(table.type_text(member.type)), at / 8});
    else if (depth < kMaxDepth)
      collect_members(table, member.type, at, depth + 1, out);
  }
}

}  // namespace

PlaceWord placeOf(const QString& line) {
  const QStringList words = line.simplified().split(QLatin1Char(' '));
  PlaceWord place;
  QString word = words.value(1);
  if (word.startsWith(QLatin1Char('/')) || word.startsWith(QLatin1String("0x"))) return place;
  if (const qsizetype suffix = word.indexOf(QLatin1Char('%')); suffix > 0) word.truncate(suffix);  // f%return
  if (const qsizetype plus = word.indexOf(QLatin1Char('+')); plus >= 0) {
    place.is_entry = word.mid(plus + 1).toULongLong(nullptr, 0) == 0;
    word.truncate(plus);
  }
  const qsizetype colon = word.indexOf(QLatin1Char(':'));
  if (colon > 0) place.module = word.left(colon);
  place.symbol = word.mid(colon + 1);
  return place;
}

std::optional<Prototype> prototypeOf(const target::TargetEnv& env, const PlaceWord& place) {
  const auto types = types_of(env, place);
  if (!types) return std::nullopt;
  const target::TypeTable& table = *types->table;
  const target::Type& prototype = table.type(types->prototype);
  Prototype out;
  out.text = fromUtf8(table.prototype_text(types->prototype, place.symbol.toStdString()));
  out.returns = fromUtf8(table.type_text(prototype.target));
  const bool is_kernel = env.type_source() == target::TypeSource::Kernel;
  const auto members = table.members(prototype);
  for (std::uint32_t i = 0; i < types->parameters && types->first_parameter + i < members.size(); ++i) {
    const target::Member& parameter = members[types->first_parameter + i];
    out.parameters.push_back({fromUtf8(table.name(parameter.name)), fromUtf8(table.type_text(parameter.type)),
                              register_of(is_kernel ? i + 1 : parameter.bit_offset)});
  }
  return out;
}

std::vector<StructMember> membersBehind(const target::TargetEnv& env, const PlaceWord& place, const QString& path,
                                        QString* what) {
  const auto types = types_of(env, place);
  if (!types) return {};
  const target::TypeTable& table = *types->table;
  static const QRegularExpression kSteps(QStringLiteral("->|\\."));
  const QStringList steps = path.split(kSteps, Qt::SkipEmptyParts);
  if (steps.isEmpty()) return {};
  const target::Type& prototype = table.type(types->prototype);
  std::optional<target::TypeId> at;
  if (steps[0] == QLatin1String("$retval")) at = prototype.target;
  for (const target::Member& parameter : table.members(prototype))
    if (fromUtf8(table.name(parameter.name)) == steps[0]) at = parameter.type;
  if (!at) return {};
  for (qsizetype i = 1; i < steps.size(); ++i) {
    const auto member = table.find_member(pointed_to(table, *at), steps[i].toStdString());
    if (!member) return {};
    at = member->type;
  }
  if (what) *what = fromUtf8(table.type_text(*at));
  std::vector<StructMember> out;
  collect_members(table, pointed_to(table, *at), 0, 0, out);
  return out;
}

}  // namespace kevt::gui
