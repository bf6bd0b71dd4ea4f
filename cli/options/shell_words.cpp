#include "cli/options/shell_words.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "cli/options/option_parts.h"

namespace kevt::cli {

namespace {

struct Word {
  std::vector<std::string> names;  // "--event", "-e"
  std::string value;               // its value, as --help names it; empty: none
  std::string description;
};

std::vector<const CLI::App*> verbs_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* verb) { return !verb->get_name().empty(); });
}

std::vector<Word> options_of(const CLI::App& app) {
  std::vector<Word> words;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional() || option->get_group().empty()) continue;
    Word& word = words.emplace_back();
    for (const std::string& name : option->get_lnames()) word.names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) word.names.push_back("-" + name);
    if (option->get_expected_max() > 0) word.value = option->get_type_name();
    if (option->get_expected_max() > 0 && word.value.empty()) word.value = "VALUE";
    word.description = option->get_description();
  }
  return words;
}

// The options of a verb, and those that every verb takes.
std::vector<Word> all_options_of(const CLI::App& app, const CLI::App& verb) {
  std::vector<Word> words = options_of(verb);
  for (Word& global : options_of(app)) {
    const auto is_same = [&](const Word& own) { return own.names == global.names; };
    if (std::ranges::none_of(words, is_same)) words.push_back(std::move(global));
  }
  return words;
}

std::string names_of(const std::vector<Word>& words) {
  std::string all;
  for (const Word& word : words) all += fmt::format("{}{}", all.empty() ? "" : " ", fmt::join(word.names, " "));
  return all;
}

std::string verb_names(const CLI::App& app) {
  std::string all;
  for (const CLI::App* verb : verbs_of(app)) all += (all.empty() ? "" : " ") + verb->get_name();
  return all;
}

// Escapes a text for a string in single quotes.
std::string quoted(std::string_view text, std::string_view quote) {
  std::string out;
  for (const char c : text) out += c == '\'' ? std::string(quote) : std::string(1, c);
  return out;
}

std::string bash(const CLI::App& app) {
  std::string cases;
  for (const CLI::App* verb : verbs_of(app))
    cases += fmt::format("    {}) words='{}' ;;\n", verb->get_name(), names_of(all_options_of(app, *verb)));
  return fmt::format(R"(# bash completion of kevtrace
# shellcheck shell=bash
_kevtrace() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} verb='' words='' i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ ${{COMP_WORDS[i]}} == -- ]] && {{ compopt -o default; return; }}
    [[ -z $verb && ${{COMP_WORDS[i]}} != -* ]] && verb=${{COMP_WORDS[i]}}
  done
  case $verb in
    '') words='{} {}' ;;
{}  esac
  if [[ $current == -* || -z $verb ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  else
    compopt -o default
  fi
}}
complete -F _kevtrace kevtrace
)",
                     verb_names(app), names_of(options_of(app)), cases);
}

std::string zsh(const CLI::App& app) {
  std::string verbs, cases;
  const auto described = [](std::string_view name, std::string_view description) {
    std::string text = quoted(description, "'\\''");
    std::ranges::replace(text, '\n', ' ');
    return fmt::format("'{}:{}' ", name, text);
  };
  for (const CLI::App* verb : verbs_of(app)) {
    verbs += described(verb->get_name(), verb->get_description());
    cases += fmt::format("    {}) names=( ", verb->get_name());
    for (const Word& word : all_options_of(app, *verb))
      for (const std::string& name : word.names) cases += described(name, word.description);
    cases += ") ;;\n";
  }
  return fmt::format(R"(#compdef kevtrace
_kevtrace() {{
  local -a verbs names
  verbs=( {})
  if (( CURRENT == 2 )); then
    _describe verb verbs
    return
  fi
  case $words[2] in
{}  esac
  if [[ $PREFIX == -* ]]; then _describe option names; else _files; fi
}}
_kevtrace "$@"
)",
                     verbs, cases);
}

std::string fish(const CLI::App& app) {
  std::string text = "# fish completion of kevtrace\n";
  const auto add = [&](const std::string& when, const Word& word) {
    text += fmt::format("complete -c kevtrace -n '{}'", when);
    for (const std::string& name : word.names)
      text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    text += fmt::format("{} -d '{}'\n", word.value.empty() ? "" : " -r", quoted(word.description, "\\'"));
  };
  for (const CLI::App* verb : verbs_of(app))
    text += fmt::format("complete -c kevtrace -n __fish_use_subcommand -a {} -d '{}'\n", verb->get_name(),
                        quoted(verb->get_description(), "\\'"));
  for (const Word& word : options_of(app)) add("true", word);
  for (const CLI::App* verb : verbs_of(app))
    for (const Word& word : options_of(*verb)) add("__fish_seen_subcommand_from " + verb->get_name(), word);
  return text;
}

// ---- man(7) ---------------------------------------------------------------------------------

std::string escaped(std::string_view text) {
  std::string out;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    begins = c == '\n';
  }
  return out;
}

std::string option_list(const std::vector<Word>& words) {
  std::string text;
  for (const Word& word : words) {
    std::string names;
    for (const std::string& name : word.names)
      names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", escaped(name));
    text += fmt::format(".TP\n{}{}\n{}\n", names, word.value.empty() ? "" : " \\fI" + escaped(word.value) + "\\fR",
                        escaped(word.description.empty() ? "see --help" : word.description));
  }
  return text;
}

// The text below the options: paragraphs, `examples:` and `exit status:`.
std::string footer_text(std::string_view footer) {
  std::string text = ".SH DESCRIPTION\n";
  bool is_example = false, ends_paragraph = false;
  while (!footer.empty()) {
    const std::size_t end = std::min(footer.find('\n'), footer.size());
    const std::string_view line = footer.substr(0, end);
    footer.remove_prefix(std::min(end + 1, footer.size()));
    if (line == "examples:") {
      ends_paragraph = false;
      text += ".SH EXAMPLES\n.nf\n";
      is_example = true;
    } else if (line.starts_with("exit status: ")) {
      ends_paragraph = false;
      text += fmt::format("{}.SH EXIT STATUS\n{}\n", is_example ? ".fi\n" : "", escaped(line.substr(13)));
      is_example = false;
    } else if (line.empty()) {
      ends_paragraph = !is_example;
    } else {
      text += (ends_paragraph ? ".PP\n" : "") + escaped(line) + "\n";
      ends_paragraph = false;
    }
  }
  return text + (is_example ? ".fi\n" : "");
}

}  // namespace

void add_shell_texts(CLI::App& app, ShellWords& words) {
  std::vector<std::string> verbs;
  for (const CLI::App* verb : verbs_of(app)) verbs.push_back(verb->get_name());
  verbs.insert(verbs.end(), {"completion", "manual"});
  CLI::App* completion = app.add_subcommand("completion", "what completes kevtrace's words in a shell");
  completion->add_option("SHELL", words.shell, "bash, zsh or fish")
      ->type_name("")
      ->required()
      ->check(CLI::IsMember(std::vector<std::string>{"bash", "zsh", "fish"}));
  add_footer(*completion, R"(The package has it where the shell looks; without it:

examples:
  source <(kevtrace completion bash)
  kevtrace completion fish > ~/.config/fish/completions/kevtrace.fish)");
  CLI::App* manual = app.add_subcommand("manual", "the manual page of a verb, for man(1)");
  manual->add_option("VERB", words.verb, "absent: of kevtrace itself")->type_name("")->check(CLI::IsMember(verbs));
  add_footer(*manual, R"(It is made of what --help says.

examples:
  kevtrace manual run | man -l -)");
}

std::string shell_text(const CLI::App& app, const ShellWords& words) {
  if (!app.got_subcommand("completion"))
    return manual_page(app, words.verb.empty() ? nullptr : app.get_subcommand(words.verb));
  const Shell shell = words.shell == "zsh" ? Shell::Zsh : words.shell == "fish" ? Shell::Fish : Shell::Bash;
  return completion_script(app, shell);
}

std::string completion_script(const CLI::App& app, Shell shell) {
  switch (shell) {
    case Shell::Bash:
      return bash(app);
    case Shell::Zsh:
      return zsh(app);
    case Shell::Fish:
      return fish(app);
  }
  return "";
}

std::string manual_page(const CLI::App& app, const CLI::App* verb) {
  const CLI::App& about = verb ? *verb : app;
  const std::string name = verb ? "kevtrace-" + verb->get_name() : "kevtrace";
  std::string upper = name;
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string text =
      fmt::format(".TH {} 1 {} \"kevtrace {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n", escaped(upper),
                  KEVT_DATE, KEVT_VERSION, escaped(name), escaped(about.get_description()));
  if (verb) {
    text += fmt::format(".B kevtrace {}\n[\\fIOPTIONS\\fR]", escaped(verb->get_name()));
    for (const CLI::Option* option : verb->get_options())
      if (option->get_positional()) text += fmt::format(" [\\fI{}\\fR]", escaped(option->get_name()));
    text += "\n";
  } else {
    text += ".B kevtrace\n\\fIVERB\\fR [\\fIOPTIONS\\fR]\n.SH VERBS\n";
    for (const CLI::App* one : verbs_of(app))
      text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", escaped(one->get_name()), escaped(one->get_description()));
  }
  text += ".SH OPTIONS\n" + option_list(options_of(about));
  if (verb) text += ".PP\nOptions of every verb: \\fBkevtrace\\fR(1).\n";
  text += footer_text(about.get_footer());
  text += ".SH SEE ALSO\n";
  std::string others;
  if (verb) others = "\\fBkevtrace\\fR(1)";
  if (!verb)
    for (const CLI::App* one : verbs_of(app))
      others += fmt::format("{}\\fBkevtrace\\-{}\\fR(1)", others.empty() ? "" : ", ", escaped(one->get_name()));
  return text + others + "\n";
}

}  // namespace kevt::cli
