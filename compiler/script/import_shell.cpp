// Shell files of the usual kind, read as what they write to the tracing directory.
//
//   echo 'p:a vfs_read n=%dx:u64' > /sys/kernel/tracing/kprobe_events       p:a vfs_read n=%dx:u64
//   echo 'n > 4096' > /sys/kernel/tracing/events/kprobes/a/filter       →     filter n > 4096
//   echo 1 > /sys/kernel/tracing/events/kprobes/a/enable
//   sleep 10                                                            →   option duration 10
//   echo > /sys/kernel/tracing/kprobe_events
//   mkdir /sys/kernel/tracing/instances/b                               →   instance b
//
// Problem: such a file acts in time: it cleans up, sets up, waits, reads, cleans up again, but a script has one state.
// Idea: writes are applied in their order, and `>` clears as in the kernel. Commands that only remove things, behind
// the last command that sets something up *and* behind a command that uses the trace, are the end of the session and
// are dropped: kevtrace removes everything itself. Commands that are not understood are reported with their lines and
// left out: control flow, unknown variables, other files. Not here: the shell's quoting (shell_commands.cpp), what
// definitions mean.
#include "compiler/script/import_shell.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "compiler/script/event_name.h"
#include "compiler/script/shell_commands.h"
#include "compiler/script/shell_words.h"
#include "compiler/script/shell_writes.h"
#include "compiler/script/tracing_file.h"
#include "grammar/parse.h"
#include "grammar/parse_definition_text.h"
#include "grammar/parse_script.h"
#include "grammar/parse_script_values.h"

namespace kevt::script {
namespace {

enum class Deed : std::uint8_t { Sets, TakesAway, Neutral };

std::string trimmed(std::string_view text) {
  while (!text.empty() && (grammar::is_blank(text.front()) || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (grammar::is_blank(text.back()) || text.back() == '\n')) text.remove_suffix(1);
  return std::string(text);
}

// A trigger's command without parameters: what `!` looks for.
std::string_view trigger_kind(std::string_view text) { return text.substr(0, text.find_first_of(": \t")); }

class Importer {
 public:
  explicit Importer(std::string_view text) : text_(text) {}

  ImportResult import() {
    commands_ = read_shell(text_);
    find_end_of_session();
    for (std::size_t i = 0; i < commands_.size(); i = next_) {
      next_ = i + 1;
      run(commands_[i], i);
    }
    if (cleanup_line_ != 0)
      note(cleanup_line_, "what is taken away from here on is left out: kevtrace removes everything by itself");
    if (!any_enabled_ && !events_.all().empty()) note(1, "no event is enabled here; in the script all are");
    std::ranges::stable_sort(result_.notes, {}, &ImportNote::line);
    result_.script = events_.script();
    return std::move(result_);
  }

 private:
  void find_end_of_session();
  bool uses_trace(const ShellCommand& command) const;
  Deed deed_of(const ShellCommand& command) const;

  void run(const ShellCommand& command, std::size_t index);
  void run_plain(const ShellCommand& command, Words words);
  void run_nested(const ShellCommand& command, std::string_view text);
  void skip_construct(std::size_t index);
  void perform(const Write& write);
  void write_definitions(const TracingFile& file, const Write& write);
  void write_filter(const TracingFile& file, const Write& write);
  void write_trigger(const TracingFile& file, const Write& write);
  void write_enable(const TracingFile& file, const Write& write);
  void write_set_event(const TracingFile& file, const Write& write);
  void write_option(std::string_view name, const Write& write);
  ImportedEvents::Event& event_of(const TracingFile& file) { return events_.event(file.event, file.instance); }
  bool run_of_instances(const ShellCommand& command, Words words, bool is_over);

  void note(int line, std::string text) { result_.notes.push_back({line, std::move(text)}); }
  void not_understood(int line, std::string why) {
    result_.mistakes.push_back(
        {line, grammar::script_mistake(diag::Kind::ImportNotUnderstood, source_line(line), 0, std::move(why))});
    result_.mistakes.back().diagnostic.column.reset();
  }
  std::string source_line(int line) const;

  std::string_view text_;
  std::vector<ShellCommand> commands_;
  std::size_t next_ = 0;
  std::size_t end_of_session_ = 0;  // commands from here on only clean up
  int cleanup_line_ = 0;
  int shift_ = 0;  // added to line numbers, for text inside `sh -c`
  bool any_enabled_ = false;
  ImportedEvents events_;
  ImportResult result_;
};

std::string Importer::source_line(int line) const {
  std::string_view rest = text_;
  for (int i = 1; i < line && !rest.empty(); ++i) rest.remove_prefix(std::min(rest.find('\n') + 1, rest.size()));
  return trimmed(rest.substr(0, rest.find('\n')));
}

// ---- when the session ends ----------------------------------------------------------------------

bool Importer::uses_trace(const ShellCommand& command) const {
  const Words words = without_sudo(command);
  if (command.comment || words.empty()) return false;
  const std::string& name = words[0].text;
  if (name == "echo" || name == "printf" || is_one_of(name, kWithoutEffect) || is_one_of(name, kClosers)) return false;
  if (name == "mkdir" || name == "rmdir") return false;
  const bool assignment = name.contains('=') && words.size() == 1;
  return !assignment && !write_of(command, nullptr);
}

Deed Importer::deed_of(const ShellCommand& command) const {
  const bool piped = command.after == AfterCommand::Pipe;
  const auto index = static_cast<std::size_t>(&command - commands_.data());
  const auto write = write_of(command, piped && index + 1 < commands_.size() ? &commands_[index + 1] : nullptr);
  const auto file = write ? tracing_file(write->file->text) : std::nullopt;
  if (!file) return Deed::Neutral;
  const std::string text = trimmed(write->text);
  switch (file->kind) {
    case TracingFileKind::Definitions:
    case TracingFileKind::SetEvent:
    case TracingFileKind::EventTrigger:
      return text.empty() || text[0] == '-' || text[0] == '!' ? Deed::TakesAway : Deed::Sets;
    case TracingFileKind::EventEnable:
    case TracingFileKind::GroupEnable:
    case TracingFileKind::EventFilter:
      return text == "0" || text.empty() ? Deed::TakesAway : Deed::Sets;
    case TracingFileKind::TraceClock:
    case TracingFileKind::BufferSize:
    case TracingFileKind::Trace:
    case TracingFileKind::Switch:
      return Deed::Neutral;
  }
  return Deed::Neutral;
}

void Importer::find_end_of_session() {
  std::size_t set_up = 0;
  for (std::size_t i = 0; i < commands_.size(); ++i)
    if (deed_of(commands_[i]) == Deed::Sets) set_up = i + 1;
  end_of_session_ = commands_.size();
  for (std::size_t i = set_up; i < commands_.size() && set_up > 0; ++i) {
    if (!uses_trace(commands_[i])) continue;
    end_of_session_ = i;
    return;
  }
}

// ---- commands -----------------------------------------------------------------------------------

void Importer::run(const ShellCommand& command, std::size_t index) {
  if (command.comment) {
    if (!command.comment->starts_with("#!")) events_.add_comment(*command.comment);
    return;
  }
  const int line = command.line + shift_;
  if (!command.broken.empty()) return not_understood(line, command.broken);
  const Words words = without_sudo(command);
  if (!words.empty() && is_one_of(words[0].text, kOpeners)) return skip_construct(index);
  const bool function = words.size() == 1 && next_ + 1 < commands_.size() && !commands_[next_].words.empty() &&
                        commands_[next_].words[0].text == "(" && commands_[next_ + 1].words.size() == 1 &&
                        commands_[next_ + 1].words[0].text == ")";
  if (function) return skip_construct(index + 3);
  const ShellCommand* after =
      command.after == AfterCommand::Pipe && next_ < commands_.size() ? &commands_[next_] : nullptr;
  if (const auto write = write_of(command, after)) {
    if (after != nullptr && write->file >= after->words.data() &&
        write->file < after->words.data() + after->words.size())
      ++next_;
    if (index >= end_of_session_ && deed_of(command) == Deed::TakesAway) {
      if (cleanup_line_ == 0) cleanup_line_ = line;
      return;
    }
    return perform(*write);
  }
  run_plain(command, words);
}

void Importer::run_plain(const ShellCommand& command, Words words) {
  const int line = command.line + shift_;
  if (words.empty() || is_one_of(words[0].text, kWithoutEffect)) return;
  const std::string& name = words[0].text;
  const bool is_over = static_cast<std::size_t>(&command - commands_.data()) >= end_of_session_;
  if (run_of_instances(command, words, is_over)) return;
  const bool assignments = std::ranges::all_of(words, [](const ShellWord& word) { return word.text.contains('='); });
  if (assignments) return;
  if (name == "sleep" && words.size() == 2) {
    if (!grammar::parse_option("duration " + words[1].text, events_.options))
      not_understood(line, "how long, or a second time");
    return;
  }
  if ((name == "sh" || name == "bash") && words.size() == 3 && words[1].text == "-c")
    return run_nested(command, words[2].text);
  bool trace = false;
  std::string instance;
  for (const ShellWord& word : words) {
    const auto file = tracing_file(word.text);
    if (!file || file->kind != TracingFileKind::Trace) continue;
    trace = true;
    instance = file->instance;
  }
  if (!trace || !is_one_of(name, kReaders)) {
    const bool prints = name == "echo" || name == "printf";
    if (prints && command.redirects.empty() && command.after == AfterCommand::End) return;  // to the user
    return not_understood(
        line, prints ? "nothing of the tracing directory is written"
                     : fmt::format("`{}` is not run; `kevtrace run -p SCRIPT -- CMD` runs a program", name));
  }
  for (const ShellRedirect& redirect : command.redirects)
    if (redirect.kind == RedirectKind::Truncate && redirect.descriptor == 1 && !redirect.target.unknown &&
        redirect.target.text != "/dev/null")
      (instance.empty() ? events_.options.output : events_.instance(instance).output) = redirect.target.text;
}

// mkdir and rmdir in `instances`. False: it is another command.
bool Importer::run_of_instances(const ShellCommand& command, Words words, bool is_over) {
  const bool makes = words[0].text == "mkdir";
  if (!makes && words[0].text != "rmdir") return false;
  for (const ShellWord& word : words.subspan(1)) {
    if (word.text.starts_with('-')) continue;
    const auto name = instance_folder(word.text);
    if (!name) return false;
    if (makes)
      (void)events_.instance(*name);
    else if (!is_over)
      events_.remove_instance(*name);
    else if (cleanup_line_ == 0)
      cleanup_line_ = command.line + shift_;
  }
  return words.size() > 1;
}

void Importer::run_nested(const ShellCommand& command, std::string_view text) {
  std::vector<ShellCommand> inner = read_shell(text);
  for (ShellCommand& one : inner) one.line = command.line;
  const std::size_t after = next_;
  std::swap(commands_, inner);
  const std::size_t end = std::exchange(end_of_session_, after > end_of_session_ ? 0 : commands_.size());
  for (std::size_t i = 0; i < commands_.size(); i = next_) {
    next_ = i + 1;
    const Words words = without_sudo(commands_[i]);
    const bool nested = words.size() == 3 && words[1].text == "-c";
    if (nested)
      not_understood(commands_[i].line, "a shell in a shell in a shell");
    else
      run(commands_[i], i);
  }
  std::swap(commands_, inner);
  end_of_session_ = end;
  next_ = after;
}

void Importer::skip_construct(std::size_t index) {
  int depth = 0;
  int parentheses = 0;  // `case` has closing ones alone
  std::size_t i = index;
  for (; i < commands_.size(); ++i) {
    Words words = without_sudo(commands_[i]);
    while (!words.empty() && is_one_of(words[0].text, kInner)) words = words.subspan(1);
    if (words.empty()) continue;
    const std::string& word = words[0].text;
    if (word == ")" && parentheses == 0) continue;
    if (word == "(") ++parentheses;
    if (word == ")") --parentheses;
    if (is_one_of(word, kOpeners)) ++depth;
    if (is_one_of(word, kClosers)) --depth;
    if (depth <= 0) break;
  }
  const int first = commands_[std::min(index, commands_.size() - 1)].line + shift_;
  const int last = commands_[std::min(i, commands_.size() - 1)].line + shift_;
  not_understood(first, first == last ? "a shell's construct" : fmt::format("a shell's construct up to line {}", last));
  next_ = i + 1;
}

// ---- writes -------------------------------------------------------------------------------------

void Importer::perform(const Write& write) {
  const int line = write.line + shift_;
  const auto file = tracing_file(write.file->text);
  if (!file) {
    if (write.file->text.starts_with("/dev/")) return;
    return not_understood(line, fmt::format("`{}` is no file that a script can set", write.file->text));
  }
  if (write.unknown)
    return not_understood(line, fmt::format("the shell would replace `{}`; write the text in '...'", *write.unknown));
  switch (file->kind) {
    case TracingFileKind::Definitions:
      return write_definitions(*file, write);
    case TracingFileKind::EventFilter:
      return write_filter(*file, write);
    case TracingFileKind::EventTrigger:
      return write_trigger(*file, write);
    case TracingFileKind::EventEnable:
    case TracingFileKind::GroupEnable:
      return write_enable(*file, write);
    case TracingFileKind::SetEvent:
      return write_set_event(*file, write);
    case TracingFileKind::TraceClock:
    case TracingFileKind::BufferSize:
      if (!file->instance.empty())
        return not_understood(line, "clock and size of the buffers are those of the whole script");
      return write_option(file->kind == TracingFileKind::TraceClock ? "clock" : "buffer", write);
    case TracingFileKind::Trace:
    case TracingFileKind::Switch:
      return;  // a session of kevtrace begins empty and ends by itself
  }
}

void Importer::write_definitions(const TracingFile& file, const Write& write) {
  if (write.mode == RedirectKind::Truncate) events_.clear(file.definitions);
  for (const grammar::Line& line : grammar::split_lines(write.text))
    events_.write_line(file.definitions, line.text, write.line + shift_, result_);
}

void Importer::write_filter(const TracingFile& file, const Write& write) {
  const std::string text = trimmed(write.text);
  if (text.contains('\n')) return not_understood(write.line + shift_, "a filter is one line");
  std::optional<std::string>& filter = event_of(file).filter;
  if (text.empty() || text == "0")
    filter.reset();
  else
    filter = text;
}

void Importer::write_trigger(const TracingFile& file, const Write& write) {
  std::vector<std::string>& triggers = event_of(file).triggers;
  if (write.mode == RedirectKind::Truncate) {  // as the kernel does: histograms and switches go, others stay
    std::erase_if(triggers, [](const std::string& one) {
      const std::string_view kind = trigger_kind(one);
      return kind == "hist" || kind.ends_with("able_hist") || kind.ends_with("able_event");
    });
  }
  for (std::string_view rest = write.text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string text = trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (text.empty()) continue;
    if (text[0] != '!') {
      triggers.push_back(text);
      continue;
    }
    const std::string wanted = trimmed(std::string_view(text).substr(1));
    const bool exact = trigger_kind(wanted) == "hist" || trigger_kind(wanted).contains("able_");
    const auto gone = std::erase_if(triggers, [&](const std::string& one) {
      return exact ? one == wanted : trigger_kind(one) == trigger_kind(wanted);
    });
    if (gone == 0) note(write.line + shift_, "takes a trigger away that is not set here; left out");
  }
}

void Importer::write_enable(const TracingFile& file, const Write& write) {
  const std::string text = trimmed(write.text);
  if (text != "0" && text != "1") return not_understood(write.line + shift_, "0 or 1 is written to `enable`");
  const bool on = text == "1";
  any_enabled_ = any_enabled_ || on;
  if (file.kind == TracingFileKind::EventEnable) {
    if (on || events_.find(file.event, file.instance) != nullptr) event_of(file).enabled = on;
    return;
  }
  const std::vector<model::EventName> group = events_.names_of(file.event.system);
  for (const model::EventName& name : group) events_.event(name, file.instance).enabled = on;
  if (group.empty() && on)
    not_understood(write.line + shift_,
                   fmt::format("the events of `{}` are not defined here; name each", file.event.system));
}

void Importer::write_set_event(const TracingFile& file, const Write& write) {
  if (write.mode == RedirectKind::Truncate)
    for (ImportedEvents::Event& event : events_.all())
      if (event.instance == file.instance) event.enabled = false;
  const grammar::Words words(write.text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    const bool off = word.starts_with('!');
    if (off) word.remove_prefix(1);
    model::EventName name = split_event_name(word);
    const bool one = !name.event.empty() && !word.contains('*') && !name.event.contains(':');
    const ImportedEvents::Event* defined = events_.find(name);
    if (!one || (name.system.empty() && defined == nullptr)) {
      not_understood(write.line + shift_, fmt::format("`{}` is no single GROUP:EVENT", word));
      continue;
    }
    if (defined != nullptr) name = defined->name;
    events_.event(name, file.instance).enabled = !off;
    any_enabled_ = any_enabled_ || !off;
  }
}

void Importer::write_option(std::string_view name, const Write& write) {
  model::ScriptOptions fresh;
  if (!grammar::parse_option(fmt::format("{} {}", name, trimmed(write.text)), fresh))
    return not_understood(write.line + shift_, fmt::format("no value of `option {}`", name));
  if (fresh.buffer_kb) events_.options.buffer_kb = fresh.buffer_kb;
  if (fresh.clock) events_.options.clock = fresh.clock;
}

}  // namespace

ImportResult import_shell(std::string_view text) { return Importer(text).import(); }

}  // namespace kevt::script
