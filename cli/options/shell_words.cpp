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

// The scripts ask kevtrace itself (cli/complete), so that all shells know the same.
constexpr std::string_view kBash = R"(# bash completion of kevtrace
# shellcheck shell=bash
_kevtrace() {
  local found files one program=$1 behind=${COMP_LINE:COMP_POINT} current=${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=()
  [[ $behind == [!$' \t\'"']* ]] && return # within a word
  type "$program" >/dev/null 2>&1 || program=kevtrace
  found=$("$program" completion --before="${COMP_LINE:0:COMP_POINT}" ${behind:+--behind="$behind"} \
    --replaced="${#current}" 2>/dev/null)
  files=$?
  # Names are somebody else's: without quotes around them each gets its own, else those that would end these are left out.
  while IFS=$'\t' read -r one _; do
    case $current in
      \'*) [[ $one == *\'* ]] && continue ;;
      \"*) [[ $one == *[\"\$\`\\!]* ]] && continue ;;
      *) printf -v one %q "$one" ;;
    esac
    [[ -n $found ]] && COMPREPLY+=("$one")
  done <<<"$found"
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[:=\(,./\>] ]]; then compopt -o nospace; fi
  if [[ $files -ne 0 ]]; then compopt -o default -o bashdefault; fi
}
complete -F _kevtrace kevtrace
)";

constexpr std::string_view kZsh = R"(#compdef kevtrace
_kevtrace() {
  local line found files
  local -a whole shown begun begun_shown
  local program=${(Q)words[1]}
  (( $+commands[$program] )) || [[ -x $program ]] || program=kevtrace
  found=$("$program" completion --before="${(j: :)words[1,CURRENT-1]} $QIPREFIX$PREFIX" \
    --behind="$SUFFIX$QISUFFIX ${(j: :)words[CURRENT+1,-1]} " 2>/dev/null)
  files=$?
  for line in "${(@f)found}"; do
    [[ -z $line ]] && continue
    if [[ ${line%%$'\t'*} == *[:=\(,./\>] ]]; then
      begun+=("${line%%$'\t'*}") begun_shown+=("${line/$'\t'/  -- }")
    else
      whole+=("${line%%$'\t'*}") shown+=("${line/$'\t'/  -- }")
    fi
  done
  (( $#whole )) && compadd -l -d shown -a whole
  (( $#begun )) && compadd -l -S '' -d begun_shown -a begun
  (( files )) && _files
  (( $#whole + $#begun ))
}
if [[ $funcstack[1] == _kevtrace ]]; then _kevtrace "$@"; else compdef _kevtrace kevtrace; fi
)";

constexpr std::string_view kFish = R"(# fish completion of kevtrace
function __kevtrace_complete
    set -l program (commandline -opc)[1]
    type -q "$program"; or set program kevtrace
    set -l before (commandline -cp | string collect)
    set -l line (commandline -p | string collect)
    set -l behind (string sub -s (math (string length -- "$before") + 1) -- "$line" | string collect)
    $program completion --before="$before" --behind="$behind " 2>/dev/null
    or __fish_complete_path (commandline -ct)
end
complete -c kevtrace -f -a '(__kevtrace_complete)'
)";

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
  completion->add_option("SHELL", words.shell, "bash, zsh or fish: prints the script that this shell reads")
      ->type_name("")
      ->check(member({"bash", "zsh", "fish"}));
  completion->add_option("--before", words.line.before, "complete this line instead: what is before the cursor")
      ->type_name("LINE");
  completion->add_option("--behind", words.line.behind, "what is behind the cursor")->type_name("LINE");
  completion
      ->add_option("--replaced", words.line.replaced,
                   "characters before the cursor that the shell replaces, if that is not the whole word")
      ->type_name("N");
  completion->final_callback([completion] {
    if (!completion->count("SHELL") && !completion->count("--before")) throw CLI::RequiredError("SHELL");
  });
  add_footer(*completion, R"(The package has the script where the shell looks; without it:

  source <(kevtrace completion bash)

--before prints what could stand at the cursor: a line each, behind a tab what it is. Nothing is started for it.

examples:
  kevtrace completion fish > ~/.config/fish/completions/kevtrace.fish
  kevtrace completion --before "kevtrace run -e 'p:open libc:open" --behind " -- ls"

exit status: 0, or 1 where names of files could stand, too)");
  CLI::App* manual = app.add_subcommand("manual", "the manual page of a verb, for man(1)");
  manual->add_option("VERB", words.verb, "absent: of kevtrace itself")->type_name("")->check(member(verbs));
  add_footer(*manual, R"(It is made of what --help says.

examples:
  kevtrace manual run | man -l -)");
}

std::string shell_text(const CLI::App& app, const ShellWords& words) {
  if (!app.got_subcommand("completion"))
    return manual_page(app, words.verb.empty() ? nullptr : app.get_subcommand(words.verb));
  const Shell shell = words.shell == "zsh" ? Shell::Zsh : words.shell == "fish" ? Shell::Fish : Shell::Bash;
  return std::string(completion_script(shell));
}

std::string_view completion_script(Shell shell) {
  switch (shell) {
    case Shell::Bash:
      return kBash;
    case Shell::Zsh:
      return kZsh;
    case Shell::Fish:
      return kFish;
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
