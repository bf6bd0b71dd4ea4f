// Boot parameters: probes that are there before the first program runs.
//
//   kprobe_event=p:myev,vfs_read,$arg1;r,vfs_read trace_buf_size=4096K
//     ↔
//   target kernel
//   option buffer 4096
//   p:myev vfs_read $arg1
//   r vfs_read
//
// Problem: a comma stands for a blank and a semicolon for the end of a line, so neither can occur in a definition, and
// every event is enabled. Idea: read by replacing commas and semicolons; write only scripts that survive that. If a
// parameter is given twice, kernels up to 6.12 keep the last one, 7.x joins them: here they are joined, with a note.
// Mirrors setup_boot_kprobe_events() of kernel/trace/trace_kprobe.c and set_buf_size(), set_trace_boot_clock() of
// trace.c.
#include "compiler/script/boot.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/script/event_name.h"
#include "grammar/parse_definition_text.h"
#include "grammar/parse_script_values.h"

namespace kevt::script {
namespace {

using diag::Kind;
using model::ScriptLine;

constexpr std::string_view kKprobeEvent = "kprobe_event=";
constexpr std::size_t kCommandLineBytes = 2048;  // COMMAND_LINE_SIZE of x86

// Words of the command line; a quote keeps blanks and is dropped, as next_arg() of lib/cmdline.c does.
std::vector<std::string> parameters(std::string_view text) {
  std::vector<std::string> out;
  bool quoted = false;
  bool inside = false;
  for (const char c : text) {
    const bool blank = grammar::is_blank(c) && !quoted;
    if (!blank && !inside) out.emplace_back();
    inside = !blank;
    if (c == '"' && !(inside && out.back().ends_with('\\'))) {
      quoted = !quoted;
    } else if (!blank) {
      out.back() += c;
    }
  }
  return out;
}

std::vector<std::string_view> pieces(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    if (end > at) out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// `option buffer` counts KiB, trace_buf_size= bytes.
std::string buffer_value(std::string_view bytes) {
  const grammar::LooseNumber number = grammar::parse_leading(bytes);
  const std::string_view unit = bytes.substr(number.used);
  if (unit.empty()) return std::to_string(number.value / 1024);
  if (unit == "K" || unit == "k") return std::to_string(number.value);
  return unit == "M" || unit == "m" ? fmt::format("{}M", number.value) : std::string(bytes);
}

class Boot {
 public:
  ImportResult read(std::string_view text) {
    const bool bare = text.find(kKprobeEvent) == std::string_view::npos && text.find('=') > text.find(',');
    if (bare) {
      read_probes(text.substr(0, text.find_last_not_of(" \t\r\n") + 1));
    } else {
      for (const std::string& parameter : parameters(text)) read_parameter(parameter);
    }
    for (ImportedEvents::Event& event : events_.all()) event.enabled = true;
    result_.script = events_.script();
    return std::move(result_);
  }

 private:
  void read_parameter(std::string_view parameter);
  void read_probes(std::string_view list);
  void read_setting(std::string_view name, std::string_view value);
  void note(std::string text) { result_.notes.push_back({1, std::move(text)}); }

  ImportedEvents events_;
  ImportResult result_;
  int lists_ = 0;
};

void Boot::read_parameter(std::string_view parameter) {
  const std::size_t equals = std::min(parameter.find('='), parameter.size());
  const std::string_view name = parameter.substr(0, equals);
  const std::string_view value = parameter.substr(std::min(equals + 1, parameter.size()));
  if (name == "kprobe_event") {
    if (++lists_ == 2)
      note("`kprobe_event=` is there more than once: joined, as 7.x does; up to 6.12 the last one counts");
    read_probes(value);
  } else if (name == "trace_event") {
    for (const std::string_view one : pieces(value, ',')) {
      const model::EventName event = split_event_name(one);
      if (event.system.empty() || event.event.empty() || event.event == "*")
        note(fmt::format("`trace_event={}` is left out: it names no single GROUP:EVENT", one));
      else
        events_.event(event);
    }
  } else if (name == "trace_buf_size" || name == "trace_clock") {
    read_setting(name, value);
  } else {
    note(fmt::format("`{}` is left out: nothing about events", parameter));
  }
}

void Boot::read_probes(std::string_view list) {
  for (const std::string_view piece : pieces(list, ';')) {
    std::string text(piece);
    std::ranges::replace(text, ',', ' ');
    events_.write_line(DefinitionsFile::Kprobe, text, 1, result_);
  }
}

void Boot::read_setting(std::string_view name, std::string_view value) {
  const std::string text = name == "trace_clock" ? std::string(value) : buffer_value(value);
  const std::string option = (name == "trace_clock" ? "clock " : "buffer ") + text;
  if (!grammar::parse_option(option, events_.options))
    note(fmt::format("`{}={}` is left out: its value is not one of `option {}`", name, value,
                     option.substr(0, option.find(' '))));
}

// ---- writing ------------------------------------------------------------------------------------

class Writer {
 public:
  explicit Writer(const model::Script& script) : script_(script) {}

  std::expected<std::string, std::vector<grammar::ScriptMistake>> write() {
    if (script_.target && !std::holds_alternative<model::KernelTarget>(*script_.target))
      refuse(script_.lines[script_.target_line], "its probes are the kernel's");
    for (const model::ScriptEvent& event : script_.events) add(event);
    refuse_deletions();
    refuse_instances();
    refuse_options();
    std::string all =
        probes_.empty() ? text_ : std::string(kKprobeEvent) + probes_ + (text_.empty() ? "" : " ") + text_;
    if (all.size() >= kCommandLineBytes && mistakes_.empty())
      refuse(script_.lines.front(), fmt::format("{} bytes, and a command line has {}", all.size(), kCommandLineBytes));
    if (mistakes_.empty()) return all;
    std::ranges::stable_sort(mistakes_, {}, &grammar::ScriptMistake::line);
    return std::unexpected(std::move(mistakes_));
  }

 private:
  void add(const model::ScriptEvent& event);
  void add_definition(const ScriptLine& line);
  void refuse_deletions();
  void refuse_instances();
  void refuse_options();
  void refuse(const ScriptLine& line, std::string why) {
    mistakes_.push_back(
        {line.number, grammar::script_mistake(Kind::ScriptNotBoot, line.text, line.body.begin, std::move(why))});
  }
  void set(std::string_view name, const std::string& value) {
    text_ += fmt::format("{}{}={}", text_.empty() ? "" : " ", name, value);
  }

  const model::Script& script_;
  std::vector<grammar::ScriptMistake> mistakes_;
  std::string probes_;
  std::string text_;
};

void Writer::add(const model::ScriptEvent& event) {
  const ScriptLine& line = script_.lines[event.line];
  if (event.injection) refuse(script_.lines[*event.injection], "the kernel is never changed");
  if (line.word == model::ScriptWord::Event) {
    refuse(line, "only what `p` and `r` define is there at boot");
  } else {
    add_definition(line);
  }
  if (event.filter) refuse(script_.lines[*event.filter], "filters are set after boot");
  for (const std::size_t trigger : event.triggers) refuse(script_.lines[trigger], "triggers are set after boot");
  if (event.enable && !event.enabled) refuse(script_.lines[*event.enable], "every event is enabled at boot");
}

void Writer::add_definition(const ScriptLine& line) {
  const std::string_view body = line.body_text();
  const auto named = name_definition(body);
  const bool kprobe = named && named->definition.kind == model::EventKind::Kprobe;
  if (!kprobe) return refuse(line, "only right `p` and `r` definitions of kernel functions");
  if (const std::size_t at = body.find_first_of(",;\""); at != std::string_view::npos)
    return refuse(line, fmt::format("`{}` has another meaning there", body[at]));
  std::string text = grammar::Words(body).command();
  std::ranges::replace(text, ' ', ',');
  probes_ += (probes_.empty() ? "" : ";") + text;
}

void Writer::refuse_deletions() {
  for (const ScriptLine& line : script_.lines) {
    const std::string_view body = line.body_text();
    if (line.word == model::ScriptWord::Definition && (body.starts_with('-') || body.starts_with('!')))
      refuse(line, "there is nothing to delete");
  }
}

void Writer::refuse_instances() {
  for (const model::ScriptInstance& one : script_.instances)
    refuse(script_.lines[one.line], "its events are the top instance's");
}

void Writer::refuse_options() {
  if (script_.options.buffer_kb) set("trace_buf_size", fmt::format("{}K", *script_.options.buffer_kb));
  if (script_.options.clock) set("trace_clock", *script_.options.clock);
  for (const std::size_t index : script_.option_lines) {
    const std::string_view body = script_.lines[index].body_text();
    if (!body.starts_with("buffer") && !body.starts_with("clock"))
      refuse(script_.lines[index], "only `buffer` and `clock` have boot parameters");
  }
}

}  // namespace

ImportResult import_boot(std::string_view text) { return Boot().read(text); }

std::expected<std::string, std::vector<grammar::ScriptMistake>> write_boot(const model::Script& script) {
  return Writer(script).write();
}

}  // namespace kevt::script
