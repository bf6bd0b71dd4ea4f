// Completion of definitions.
//
//   p:open libc:op|            functions          a=%d|      registers      b=$re|      $ words      c=%di:str| types
//   p:open libc:open64 fi|     argument names     o->in->|   members
//
// What stands before the cursor decides: the first word is the event, the second the place, the others are arguments.
#include "gui/model/completion.h"

#include <QObject>
#include <algorithm>

#include "gui/model/prototypes.h"

namespace kevt::gui {
namespace {

constexpr std::size_t kMaxSuggestions = 200;

struct Word {
  const char* text;
  const char* note;
};
constexpr Word kVariables[] = {{"$retval", "what the function returned"}, {"$stack", "the stack pointer's value"},
                               {"$stack0", "word N of the stack"},        {"$comm", "the task's name"},
                               {"$arg1", "argument N of the function"},   {"$arg2", "argument N of the function"},
                               {"$arg3", "argument N of the function"},   {"$arg4", "argument N of the function"}};
constexpr Word kTypes[] = {
#define KEVT_TYPE(name, kind, bytes, where, note, ...) {name, note},
#include "compiler/model/type.def"
#undef KEVT_TYPE
};

template <typename Words>
void add_words(Completion& out, const Words& words, const QString& typed) {
  for (const Word& word : words) {
    const QString text = QString::fromLatin1(word.text);
    if (text.startsWith(typed, Qt::CaseInsensitive)) out.suggestions.push_back({text, QObject::tr(word.note)});
  }
}

void add_registers(Completion& out, const QString& typed) {
  static constexpr const char* kArguments[] = {"di", "si", "dx", "cx", "r8", "r9"};
  for (int i = 0; i < 6; ++i) {
    const QString text = QStringLiteral("%") + QLatin1String(kArguments[i]);
    if (text.startsWith(typed)) out.suggestions.push_back({text, QObject::tr("argument %1").arg(i + 1)});
  }
  auto names = target::register_names();
  std::ranges::sort(names);
  for (const std::string_view name : names) {
    const QString text = QLatin1Char('%') + QString::fromLatin1(name.data(), static_cast<qsizetype>(name.size()));
    const auto is_there = [&](const Suggestion& s) { return s.text == text; };
    if (text.startsWith(typed) && std::ranges::none_of(out.suggestions, is_there))
      out.suggestions.push_back({text, name == "ax" ? QObject::tr("return value") : QString()});
  }
}

int word_begin(const QString& line, int column, const QString& stops) {
  int begin = column;
  while (begin > 0 && !stops.contains(line[begin - 1])) --begin;
  return begin;
}

void complete_place(Completion& out, const QString& line, int column, const SymbolIndex& symbols) {
  out.begin = word_begin(line, column, QStringLiteral(" \t"));
  const QString typed = line.mid(out.begin, column - out.begin);
  for (const SymbolName* symbol : symbols.find(typed.toStdString(), kMaxSuggestions)) {
    const QString module = QString::fromStdString(symbol->module);
    const QString name = QString::fromStdString(symbol->name);
    out.suggestions.push_back({module.isEmpty() ? name : module + QLatin1Char(':') + name,
                               symbol->note.empty() ? module : QString::fromStdString(symbol->note)});
  }
}

// Names of the probed function's arguments, and `$arg*` for all of them.
void add_parameters(Completion& out, const PlaceWord& place, const target::TargetEnv& env, const QString& typed) {
  const auto prototype = prototypeOf(env, place);
  if (!prototype) return;
  std::vector<Suggestion> names;
  for (const Parameter& parameter : prototype->parameters)
    if (!parameter.name.isEmpty() && parameter.name.startsWith(typed, Qt::CaseInsensitive))
      names.push_back({parameter.name, parameter.where.isEmpty()
                                           ? parameter.type
                                           : QObject::tr("%1 in %2").arg(parameter.type, parameter.where)});
  out.suggestions.insert(out.suggestions.begin(), names.begin(), names.end());
  if (!prototype->parameters.empty() && typed.isEmpty())
    out.suggestions.push_back({QStringLiteral("$arg*"), QObject::tr("all arguments, by name")});
}

// Behind the last `->` or `.`.
void add_members(Completion& out, const PlaceWord& place, const target::TargetEnv& env, const QString& typed,
                 qsizetype path_end, qsizetype step) {
  const QString prefix = typed.mid(path_end + step);
  out.begin += static_cast<int>(path_end + step);
  for (const StructMember& member : membersBehind(env, place, typed.left(path_end)))
    if (member.name.startsWith(prefix, Qt::CaseInsensitive) && out.suggestions.size() < kMaxSuggestions)
      out.suggestions.push_back({member.name, QObject::tr("%1 at +%2").arg(member.type).arg(member.byte_offset)});
}

void complete_argument(Completion& out, const QString& line, int column, const target::TargetEnv* env) {
  out.begin = word_begin(line, column, QStringLiteral(" \t=(:,"));
  const QString typed = line.mid(out.begin, column - out.begin);
  const QChar before = out.begin > 0 ? line[out.begin - 1] : QChar();
  const PlaceWord place = placeOf(line);
  const qsizetype arrow = typed.lastIndexOf(QLatin1String("->")), dot = typed.lastIndexOf(QLatin1Char('.'));
  const bool is_return = line.trimmed().startsWith(QLatin1Char('r'));
  if (before == u':') {
    add_words(out, kTypes, typed);
  } else if (typed.startsWith(u'%')) {
    add_registers(out, typed);
  } else if (env && std::max(arrow, dot) > 0) {
    add_members(out, place, *env, typed, std::max(arrow, dot), arrow > dot ? 2 : 1);
  } else if (typed.startsWith(u'$')) {
    add_words(out, kVariables, typed);
  } else {
    const bool is_value = before == u'=' || before == u'(';
    if (typed.isEmpty() && is_value) {
      add_registers(out, QStringLiteral("%"));
      out.suggestions.resize(std::min<std::size_t>(out.suggestions.size(), 6));
      add_words(out, kVariables, QString());
      out.suggestions.push_back({QStringLiteral("+0("), QObject::tr("what an address points to")});
    }
    if (env && place.is_entry && !is_return) add_parameters(out, place, *env, typed);
  }
}

}  // namespace

Completion completeDefinition(const QString& line, int column, const SymbolIndex& symbols,
                              const target::TargetEnv* env) {
  Completion out{.begin = column, .suggestions = {}};
  column = std::clamp(column, 0, static_cast<int>(line.size()));
  const QString before = line.left(column);
  if (before.contains(QLatin1Char('#'))) return out;
  const qsizetype words =
      before.trimmed().isEmpty() ? 0 : before.simplified().count(QLatin1Char(' ')) + (before.back().isSpace() ? 1 : 0);
  if (words == 0) {
    static constexpr Word kBegins[] = {{"p:", "a place is reached"},
                                       {"r:", "a function returns"},
                                       {"e:", "another event happens"},
                                       {"f:", "a kernel function is entered or left"},
                                       {"t:", "a tracepoint is passed"}};
    out.begin = word_begin(line, column, QStringLiteral(" \t"));
    add_words(out, kBegins, line.mid(out.begin, column - out.begin));
  } else if (words == 1) {
    complete_place(out, line, column, symbols);
  } else {
    complete_argument(out, line, column, env);
  }
  return out;
}

Completion completeFilter(const QString& text, int column, const std::vector<QString>& fields) {
  Completion out;
  out.begin = word_begin(text, column, QStringLiteral(" \t()!&|=<>~\""));
  const QString typed = text.mid(out.begin, column - out.begin);
  for (const QString& field : fields)
    if (field.startsWith(typed, Qt::CaseInsensitive)) out.suggestions.push_back({field, {}});
  for (const char* common : {"common_pid", "common_type", "COMM", "CPU"})
    if (const QString name = QString::fromLatin1(common); name.startsWith(typed, Qt::CaseInsensitive))
      out.suggestions.push_back({name, QObject::tr("every event has it")});
  return out;
}

}  // namespace kevt::gui
