// Checking an editor's text: every line against the ones before it, filters and triggers of scripts against their
// events.
//
// It does what `kevtrace check` does, but gives positions in the text instead of a report. Parsing takes most of the
// time, and most lines are the same as at the keystroke before, so parsed lines are cached.
#include "gui/model/definition_check.h"

#include <QElapsedTimer>
#include <QStringList>
#include <algorithm>
#include <cstdint>
#include <optional>

#include "compiler/author/prototypes.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/layout/layout.h"
#include "compiler/pipeline/front.h"
#include "compiler/pipeline/shorthand.h"
#include "compiler/script/check_triggers.h"
#include "compiler/sema/advice.h"
#include "compiler/sema/filter.h"
#include "compiler/sema/sema.h"
#include "compiler/target/fixed_target.h"
#include "grammar/parse.h"
#include "grammar/parse_script.h"
#include "gui/model/text_forms.h"

namespace kevt::gui {

struct ParsedLines::Entry {
  std::optional<model::Statement> statement;
  std::vector<diag::Diagnostic> mistakes;
};

ParsedLines::ParsedLines() = default;
ParsedLines::~ParsedLines() = default;

const ParsedLines::Entry& ParsedLines::of(const std::string& line) {
  if (const auto found = lines_.find(line); found != lines_.end()) return *found->second;
  if (lines_.size() >= kMost) lines_.clear();
  auto entry = std::make_unique<Entry>();
  diag::Sink sink;
  entry->statement = grammar::parse_line_leniently(line, grammar::EventsFile::Dynamic, sink);
  entry->mistakes = sink.take();
  return *(lines_[line] = std::move(entry));
}

namespace {

int column_of(std::string_view line, std::size_t byte) {
  return static_cast<int>(fromUtf8(line.substr(0, std::min(byte, line.size()))).size());
}

bool is_of_word(QChar c) { return c.isLetterOrNumber() || QStringLiteral("_%$@").contains(c); }

// The end of the word that begins at `begin`; a squiggle underlines the word.
int word_end(const QString& line, int begin) {
  int end = begin;
  while (end < line.size() && is_of_word(line[end])) ++end;
  return std::max(end, begin + 1);
}

// The word in backquotes that `text` names, where it is a word of what begins at `begin` and has no blanks: `opne64` of
// `libc:opne64`, whose mistake is told at `libc`.
std::optional<int> named_word(const QString& line, int begin, const QString& text) {
  const QString word = text.section(QLatin1Char('`'), 1, 1);
  const qsizetype blank = line.indexOf(QLatin1Char(' '), begin);
  const qsizetype at = word.isEmpty() ? -1 : line.indexOf(word, begin);
  const qsizetype end = at + word.size();
  if (at < 0 || end > (blank < 0 ? line.size() : blank)) return std::nullopt;
  if ((at > 0 && is_of_word(line[at - 1])) || (end < line.size() && is_of_word(line[end]))) return std::nullopt;
  return static_cast<int>(at);
}

class Checker {
 public:
  Checker(const target::TargetEnv* env, ParsedLines& parsed, const target::PlaceSides* sides)
      : parsed_(parsed), target_(env ? *env : unchecked_), sides_(sides) {}

  CheckedText run(const std::string& text) {
    std::vector<grammar::ScriptMistake> mistakes;
    script_ = grammar::parse_script(text, mistakes);
    for (grammar::ScriptMistake& mistake : mistakes)
      report(static_cast<std::size_t>(mistake.line - 1), script_line(mistake.line), 0, std::move(mistake.diagnostic));
    for (std::size_t i = 0; i < script_.lines.size(); ++i)
      if (script_.lines[i].word == model::ScriptWord::Definition) definition(i);
    for (const model::ScriptEvent& event : script_.events) options(event);
    std::ranges::stable_sort(result_.mistakes, {}, [](const Mistake& m) { return std::pair(m.line, m.begin); });
    return std::move(result_);
  }

 private:
  std::string_view script_line(int number) const {
    const auto i = static_cast<std::size_t>(number - 1);
    return i < script_.lines.size() ? std::string_view(script_.lines[i].text) : std::string_view();
  }

  // Where the line's place is looked up.
  const target::TargetEnv& env(std::size_t index) const {
    const bool is_of_kernel =
        sides_ != nullptr && sides_->of(script_.lines[index].body_text()) == target::PlaceSides::Side::Kernel;
    return is_of_kernel ? unchecked_ : target_;
  }

  void definition(std::size_t index) {
    const model::ScriptLine& line = script_.lines[index];
    auto expanded = pipeline::expand_shorthand(line.body_text(), env(index), pipeline::Globs::OfNamedFiles);
    if (!expanded) return report(index, line.body_text(), line.body.begin, std::move(expanded.error()));
    if (*expanded) return short_form(index, **expanded);
    diag::Sink sink;
    const ParsedLines::Entry& known = parsed_.of(std::string(line.body_text()));
    auto statement = known.statement;
    for (const diag::Diagnostic& mistake : known.mistakes) sink.report(mistake);
    if (statement && std::holds_alternative<model::Definition>(*statement)) {
      auto laid_out = pipeline::check_and_lay_out(
          std::move(std::get<model::Definition>(*statement)), env(index), catalog_,
          {.newer_forms = sema::NewerForms::Judged, .catalog = sema::CatalogScope::Partial}, sink);
      if (laid_out && sink.empty()) take(index, *std::move(laid_out));
    }
    for (diag::Diagnostic& mistake : sink.take()) report(index, line.body_text(), line.body.begin, std::move(mistake));
  }

  // A marker, a line of the source or a glob: several probes of one event, or of several. The definitions that it means
  // are in no text, so a mistake in them is shown at the beginning of the line.
  void short_form(std::size_t index, const std::vector<std::string>& meant) {
    const model::ScriptLine& line = script_.lines[index];
    const std::size_t before = result_.right.size();
    for (const std::string& one : meant) {
      diag::Sink sink;
      auto statement = grammar::parse_line_leniently(one, grammar::EventsFile::Dynamic, sink);
      auto laid_out = statement && std::holds_alternative<model::Definition>(*statement)
                          ? pipeline::check_and_lay_out(
                                std::move(std::get<model::Definition>(*statement)), env(index), catalog_,
                                {.newer_forms = sema::NewerForms::Judged, .catalog = sema::CatalogScope::Partial}, sink)
                          : std::nullopt;
      for (diag::Diagnostic& mistake : sink.take()) {
        mistake.column = 0;
        mistake.fixits.clear();
        report(index, line.body_text(), line.body.begin, std::move(mistake));
      }
      if (!laid_out) return result_.right.resize(before);
      const model::Definition& definition = laid_out->checked.definition;
      const QString listing = fromUtf8(layout::listing(definition, env(index).possible_cpus()));
      const QString group = fromUtf8(definition.group), event = fromUtf8(definition.event);
      auto* last = result_.right.empty() ? nullptr : &result_.right.back();
      if (last != nullptr && last->line == static_cast<int>(index) && last->group == group && last->event == event) {
        last->listing += QLatin1Char('\n') + listing;
        last->written_out = last->listing;
        catalog_.add_probe(definition, laid_out->layout);
        continue;
      }
      take(index, *std::move(laid_out));
      result_.right.back().written_out = result_.right.back().listing = listing;
    }
  }

  void take(std::size_t index, pipeline::LaidOut laid_out) {
    const model::Definition& definition = laid_out.checked.definition;
    const QString line = fromUtf8(script_.lines[index].body_text());
    RightLine right{.line = static_cast<int>(index)};
    right.group = fromUtf8(definition.group);
    right.event = fromUtf8(definition.event);
    const bool needs_types = pipeline::needs_types(definition);
    right.listing = needs_types ? line : fromUtf8(layout::listing(definition, env(index).possible_cpus()));
    right.format = fromUtf8(layout::format_text(definition, laid_out.layout, 0));
    if (laid_out.uses_target_types && !needs_types) right.written_out = fromUtf8(layout::written_out(definition));
    right.inlay = inlay_of(index, definition, line);
    result_.right.push_back(std::move(right));
    catalog_.add_probe(definition, laid_out.layout);
    layouts_[index] = std::move(laid_out.layout);
  }

  // "path: const char *file, flags: int oflag": what the arguments are in C, where they are a function's own.
  QString inlay_of(std::size_t index, const model::Definition& definition, const QString& line) {
    if (definition.args.empty() || definition.probe_kind == model::ProbeKind::Return) return {};
    const author::PlaceWord place = author::place_of(line.toStdString());
    const std::string key = place.module + ':' + place.symbol;
    if (place.symbol.empty() || !place.is_entry) return {};
    auto known = prototypes_.find(key);
    if (known == prototypes_.end()) known = prototypes_.emplace(key, author::prototype_of(env(index), place)).first;
    if (!known->second) return {};
    QStringList out;
    for (const model::FetchArg& arg : definition.args) {
      std::string where;
      if (const auto* base = std::get_if<model::RegisterBase>(&arg.expr.base)) where = '%' + base->name;
      if (const auto* base = std::get_if<model::ArgumentBase>(&arg.expr.base)) {
        const auto at = base->number - 1;
        if (at < known->second->parameters.size()) where = known->second->parameters[at].where;
      }
      if (where.empty()) continue;
      for (const author::Parameter& parameter : known->second->parameters)
        if (parameter.where == where)
          out.append(
              QStringLiteral("%1: %2 %3").arg(fromUtf8(arg.name), fromUtf8(parameter.type), fromUtf8(parameter.name)));
    }
    return out.join(QStringLiteral(", "));
  }

  void options(const model::ScriptEvent& event) {
    const auto right = std::ranges::find(result_.right, static_cast<int>(event.line), &RightLine::line);
    if (right == result_.right.end()) return;
    right->is_on = event.enabled;
    if (event.instance) {  // Apply writes the top instance's files
      const model::ScriptLine& line = script_.lines[script_.instances[*event.instance].line];
      diag::Diagnostic mistake =
          grammar::script_mistake(diag::Kind::NotSupportedByRuntime, line.body_text(), 0,
                                  "the editor is for the top instance: `kevtrace run -p FILE` has the others, too");
      report(script_.instances[*event.instance].line, line.body_text(), line.body.begin, std::move(mistake));
    }
    if (event.injection) {  // Apply writes files, and no file injects
      const model::ScriptLine& line = script_.lines[*event.injection];
      diag::Diagnostic mistake =
          grammar::script_mistake(diag::Kind::NotSupportedByRuntime, line.body_text(), 0,
                                  "an injection is given when tracing begins: `kevtrace run --unsafe -p FILE`");
      report(*event.injection, line.body_text(), line.body.begin, std::move(mistake));
    }
    if (event.filter) {
      const model::ScriptLine& line = script_.lines[*event.filter];
      diag::Sink sink;
      if (sema::compile_filter(line.body_text(), layouts_[event.line], sink))
        right->filter = fromUtf8(line.body_text());
      for (diag::Diagnostic& mistake : sink.take())
        report(*event.filter, line.body_text(), line.body.begin, std::move(mistake));
    }
    for (const std::size_t index : event.triggers) {
      const model::ScriptLine& line = script_.lines[index];
      const script::TriggerText text{{right->group.toStdString(), right->event.toStdString()},
                                     std::string(line.body_text())};
      auto triggers = script::check_triggers(std::span(&text, 1), catalog_, sema::CatalogScope::Partial);
      if (triggers.mistakes.empty()) right->triggers.push_back(fromUtf8(line.body_text()));
      for (script::TriggerMistake& mistake : triggers.mistakes)
        report(index, line.body_text(), line.body.begin, std::move(mistake.diagnostic));
    }
  }

  // `part` begins at byte `shift` of line `index`.
  void report(std::size_t index, std::string_view part, std::size_t shift, diag::Diagnostic diagnostic) {
    sema::advise(diagnostic);
    const std::string_view whole = script_line(static_cast<int>(index) + 1);
    const QString line = fromUtf8(whole);
    const auto place = [&](std::uint32_t at) {
      return column_of(whole, shift + grammar::source_column(part, diagnostic.command, at));
    };
    Mistake mistake{.line = static_cast<int>(index)};
    mistake.begin = diagnostic.column ? place(*diagnostic.column) : column_of(whole, shift);
    mistake.end = diagnostic.column ? word_end(line, mistake.begin) : static_cast<int>(line.size());
    mistake.text = fromUtf8(diag::kernel_text(diagnostic.kind));
    mistake.id = fromUtf8(diag::kernel_id(diagnostic.kind));
    if (!diagnostic.detail.empty()) mistake.text += QStringLiteral(": ") + fromUtf8(diagnostic.detail);
    mistake.word = mistake.begin;
    if (const auto named = diagnostic.column ? named_word(line, mistake.begin, mistake.text) : std::nullopt) {
      mistake.word = *named;
      mistake.end = word_end(line, *named);
    }
    QStringList help;
    for (const diag::Note& note : diagnostic.notes) help.append(fromUtf8(note.text));
    if (const auto general = diag::help_text(diagnostic.kind); !general.empty() && help.isEmpty())
      help.append(fromUtf8(general));
    mistake.help = help.join(QLatin1Char('\n'));
    for (const diag::FixIt& fix : diagnostic.fixits)
      mistake.fixes.push_back({place(fix.begin), place(fix.end), fromUtf8(fix.replacement),
                               fromUtf8(diag::fix_text(fix, diagnostic.command))});
    result_.mistakes.push_back(std::move(mistake));
  }

  ParsedLines& parsed_;
  target::UncheckedTargetEnv unchecked_;
  const target::TargetEnv& target_;
  const target::PlaceSides* const sides_;
  model::Script script_;
  target::FixedCatalog catalog_;
  std::map<std::size_t, model::RecordLayout> layouts_;
  std::map<std::string, std::optional<author::Prototype>> prototypes_;
  CheckedText result_;
};

}  // namespace

CheckedText checkDefinitions(const QString& text, const target::TargetEnv* env, ParsedLines* parsed,
                             const target::PlaceSides* sides) {
  QElapsedTimer timer;
  timer.start();
  ParsedLines own;
  CheckedText checked = Checker(env, parsed ? *parsed : own, sides).run(text.toStdString());
  checked.took_us = timer.nsecsElapsed() / 1000;
  return checked;
}

QString withFix(const QString& text, int line, const TextFix& fix) {
  QStringList lines = text.split(QLatin1Char('\n'));
  if (line < 0 || line >= lines.size() || fix.end > lines[line].size() || fix.begin > fix.end) return text;
  lines[line].replace(fix.begin, fix.end - fix.begin, fix.replacement);
  return lines.join(QLatin1Char('\n'));
}

}  // namespace kevt::gui
