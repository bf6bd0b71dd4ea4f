// CLI11 in one place: every option, its help, and nothing else.
#include "cli/options/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "cli/exit_status.h"
#include "cli/options/choice_options.h"
#include "cli/options/help_words.h"
#include "cli/options/option_parts.h"
#include "cli/options/shell_words.h"
#include "common/print.h"
#include "compiler/target/near_misses.h"
#include "runtime-user/runtime/runtime_names.h"

namespace kevt::cli {

namespace {

struct Parsed {
  GlobalOptions global;
  RunOptions run;
  CheckOptions check;
  ExplainOptions explain;
  CompileOptions compile;
  CostOptions cost;
  ListOptions list;
  FmtOptions fmt;
  ImportOptions import;
  RecordingVerb recording;
  MountVerbOptions mount;
  ExecOptions exec;
  FleetOptions fleet;
  ShellWords texts;
  std::string help;
};

constexpr const char* kExamples = R"(examples:
  kevtrace run -e 'p:open libc:open64 path=+0(%di):string' -- python3 -c 'open("/etc/hostname")'
  kevtrace run -e 'r:got libz:compress $retval:s32' --filter 'got: arg1 != 0' -- ./prog
  kevtrace explain -e 'p libc:malloc size=%di:u64' -- ls
  kevtrace list 'sqlite3_prep*' /usr/lib/x86_64-linux-gnu/libsqlite3.so.0
  kevtrace check events.txt

exit status: 0 ok, 1 failed, 2 usage, 3 a definition or filter is wrong, 4 something is missing here,
  5 data lost (--fail-on), 125/126/127 kevtrace failed / CMD not executable / not found;
  `run -- CMD` ends with CMD's own status (128+N for signal N))";

void add_global(CLI::App& app, GlobalOptions& global) {
  app.add_option("--color", global.color, "colour of messages: auto, always, never")
      ->transform(choice<When>({{"auto", When::Auto}, {"always", When::Always}, {"never", When::Never}}))
      ->type_name("WHEN");
  app.add_option("--escape", global.escape,
                 "control characters of what is printed as \\ooo: auto (on a terminal), always, never")
      ->transform(choice<EscapeWhen>(
          {{"auto", EscapeWhen::Auto}, {"always", EscapeWhen::Always}, {"never", EscapeWhen::Never}}))
      ->type_name("WHEN");
  app.add_option("--diagnostics", global.diagnostics,
                 "how mistakes are shown: text, kernel (as error_log), json, sarif")
      ->transform(choice<Format>(
          {{"text", Format::Text}, {"kernel", Format::Kernel}, {"json", Format::Json}, {"sarif", Format::Sarif}}))
      ->type_name("FORM");
  app.add_option_function<std::string>(
         "--messages", [](const std::string&) {},
         "append kevtrace's own messages to FILE; standard error is CMD's then")
      ->type_name("FILE");  // messages_file() has taken it
  app.add_flag("-q,--quiet", global.quiet, "only mistakes and what was lost on standard error");
}

void add_run(CLI::App& app, RunOptions& run) {
  CLI::App* verb =
      app.add_subcommand("run", "define events, start CMD or attach to processes, print the trace, remove everything");
  add_tracing(*verb, run);
  add_instances(*verb, run);
  verb->add_option("CMD", run.command, "the program to trace and its arguments, after --")->type_name("");
  verb->final_callback([&run, verb] {
    take_instances(*verb, run);
    // `run FILE.kevo [-- CMD]`
    if (!run.command.empty() && run.command.front().ends_with(".kevo") && run.definition_files.empty()) {
      run.definition_files.push_back(run.command.front());
      run.command.erase(run.command.begin());
    }
    take_process_choice(run.choice, run.command, run.pids);
    if (run.command.empty() && run.pids.empty() && run.definition_files.empty() && run.enabled.empty() &&
        !runtime::traces_whole_machine(run.runtime))
      throw CLI::RequiredError("CMD");
    if (!run.command.empty() && !run.pids.empty())
      throw CLI::ValidationError("--pid", "CMD and --pid exclude each other");
  });
  add_footer(
      *verb,
      R"(Trace lines go to standard output or -o, in the kernel's format; what was armed, the profile (hits, misses)
and one line per event (hits = recorded + filtered + lost + missed; where --hist counts, + aggregated) to standard
error. Ctrl-C stops tracing and lets CMD end; a second one ends kevtrace at once. With --pid everything is taken
out of the processes again, also when kevtrace is killed.

An instance (-B) has its own switches, filters, triggers and records of the same events. Without -o its trace lines
stand between the others, with its name in front.

examples:
  kevtrace run -e 'p:open libc:open64 path=+0(%di):string' -- python3 -c 'open("/etc/hostname")'
  kevtrace run -e 'r:got libz:compress $retval:s32' --filter 'got: arg1 != 0' -- ./prog
  kevtrace run -p script.kev -d 5 -o trace.txt -- ./server
  kevtrace run script.kevo -- ./server
  kevtrace run -e 'p:f prog:f n=%di' -o all.dat -B big --enable f --filter 'f: n > 4096' -o big.dat -- ./prog
  kevtrace run -e 'p:accept libc:accept4' -d 10 --pid 4711,4712

exit status: CMD's own, 128+N when signal N ended it; 2 usage, 3 a definition or filter is wrong, 4 something is
  missing here, 5 data lost (--fail-on), 126 CMD cannot be executed, 127 CMD is not there, 125 kevtrace failed)");
}

void add_kernel(CLI::App& verb, std::optional<dialect::Kernel>& kernel) {
  std::vector<std::pair<std::string, dialect::Kernel>> names;
  for (const dialect::Kernel one : dialect::kKernels) names.emplace_back(dialect::kernel_name(one), one);
  verb.add_option("--kernel", kernel, "answer as this kernel: 6.1, 6.12, 7.2, newest")
      ->transform(choice<dialect::Kernel>(names))
      ->type_name("VERSION");
}

void add_check(CLI::App& app, CheckOptions& check) {
  CLI::App* verb = app.add_subcommand("check", "compile definitions and filters without touching anything");
  verb->add_option("FILE", check.files, "event scripts: definitions, one a line, and more; - is standard input")
      ->type_name("");
  verb->add_option("-e,--event", check.definitions, "a definition")->type_name("DEF")->allow_extra_args(false);
  verb->add_option("--filter", check.filters, "a filter for one of them")
      ->type_name("EV:EXPR")
      ->allow_extra_args(false);
  add_kernel(*verb, check.kernel);
  verb->add_option("--btf", check.btf,
                   "the kernel's types: its /sys/kernel/btf/vmlinux, or vmlinux; again for a module's")
      ->type_name("FILE")
      ->allow_extra_args(false);
  verb->add_option("--kallsyms", check.kallsyms, "the kernel's symbols: its /proc/kallsyms, read as root")
      ->type_name("FILE");
  verb->add_flag("--running", check.running, "answer as the running kernel, with its types and symbols");
  verb->add_flag("--strict", check.strict, "status 4 when something could not be checked: symbols, types, files");
  verb->add_flag("--fix", check.fix, "correct FILE where only one thing can be meant");
  add_footer(*verb,
             R"(What is right is printed as dynamic_events would list it; every mistake goes to standard error, with its
place and the kernel's words. With --kernel the answer is that kernel's; without, all forms of all kernels are taken.
Functions and types are looked up where --btf and --kallsyms tell them; `kevtrace explain` does it in a program.

examples:
  kevtrace check script.kev
  kevtrace check -e 'p:open libc:openat path=+0(%si):string' --filter 'open: path ~ "/etc/*"'
  kevtrace check --kernel 6.1 -e 'f:a vfs_read $arg*'
  kevtrace check --btf /sys/kernel/btf/vmlinux -e 'p vfs_read $arg*'
  echo 'r:got libz:compress $retval:s32' | kevtrace check -

exit status: 0 all right, 2 usage, 3 mistakes, 4 something could not be checked (--strict))");
}

void add_explain(CLI::App& app, ExplainOptions& explain) {
  CLI::App* verb =
      app.add_subcommand("explain", "show what becomes of a definition: listing, format, IR, code, arming");
  verb->add_option("-e,--event", explain.definitions, "a definition")
      ->type_name("DEF")
      ->required()
      ->allow_extra_args(false);
  verb->add_option("--filter", explain.filters, "a filter for one of them")
      ->type_name("EV:EXPR")
      ->allow_extra_args(false);
  using Part = ExplainOptions::Part;
  verb->add_option("--only", explain.only,
                   "these parts instead of a summary: listing, format, ir, llvm, asm, arm; or all")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("PARTS")
      ->transform(choice<Part>({{"listing", Part::Listing},
                                {"format", Part::Format},
                                {"ir", Part::FetchIr},
                                {"llvm", Part::LlvmIr},
                                {"asm", Part::Code},
                                {"arm", Part::Arming},
                                {"all", Part::All}}));
  verb->add_option("--runtime", explain.runtime, "who would run it: inproc, in a program; bpf, in the running kernel")
      ->type_name("NAME")
      ->check(member({"inproc", "bpf"}))
      ->capture_default_str();
  verb->add_option("CMD", explain.command, "the program whose functions are meant, after --")->type_name("");
  add_footer(
      *verb,
      R"(CMD is started, held before its first instruction, and ended: it never runs. Without it functions are not
looked up, and how the probes would be armed stays open.

examples:
  kevtrace explain -e 'p libc:malloc size=%di:u64' -- ls
  kevtrace explain -e 'p:open libc:openat path=+0(%si):string' --only=listing,format
  kevtrace explain --runtime bpf -e 't:switch sched_switch next=next->pid')");
}

void add_compile(CLI::App& app, CompileOptions& compile) {
  CLI::App* verb = app.add_subcommand("compile", "an event script with its machine code: runs where LLVM is not");
  verb->add_option("SCRIPT", compile.script, "an event script; - is standard input")->type_name("")->required();
  verb->add_option("-o,--output", compile.output, "the compiled script, FILE.kevo")->type_name("FILE")->required();
  verb->add_option(
          "--btf", compile.btf,
          "types of a kernel it is for: its /sys/kernel/btf, or the file vmlinux of that; again for another kernel")
      ->type_name("PATH")
      ->allow_extra_args(false);
  verb->add_option("CMD", compile.command, "a program to look names of arguments up in, after --; it never runs")
      ->type_name("");
  add_footer(
      *verb,
      R"(`kevtrace run FILE.kevo` reads it, checks its definitions against what is traced, and takes the code from it. What
debug information told (names of arguments, fields) is written out: it is not needed again. In a script with `target
kernel` names stay: the kernel that runs tells where they lie. A damaged file, or one of another version, is refused.
A .kevo runs inside the traced program: run those that you trust.

examples:
  kevtrace compile opened.kev -o opened.kevo
  kevtrace compile named.kev -o named.kevo -- ./server
  kevtrace compile kernel.kev -o kernel.kevo --btf vmlinux-6.1 --btf vmlinux-6.12
  kevtrace run opened.kevo -- python3 -c 'open("/etc/hostname")'

exit status: 0 written, 1 it cannot be written, 2 usage, 3 mistakes, 4 the script asks for what is not there yet)");
}

void add_cost(CLI::App& app, CostOptions& cost) {
  CLI::App* verb =
      app.add_subcommand("cost", "tell what a hit will cost: instructions, and nanoseconds on this machine");
  verb->add_option("-e,--event", cost.definitions, "a definition")
      ->type_name("DEF")
      ->required()
      ->allow_extra_args(false);
  verb->add_option("--filter", cost.filters, "a filter for one of them")->type_name("EV:EXPR")->allow_extra_args(false);
  verb->add_option("CMD", cost.command, "the program whose functions are meant, after --")->type_name("");
  add_footer(
      *verb,
      R"(CMD is started, held before its first instruction, and ended: it never runs. Without it functions are not
looked up, and a jump is assumed. Nothing is traced: instructions are counted in the code that would run.

examples:
  kevtrace cost -e 'p libc:malloc size=%di:u64' -- ls
  kevtrace cost -e 'p:open libc:openat path=+0(%si):string' --filter 'open: path ~ "/etc/*"')");
}

void add_list(CLI::App& app, ListOptions& list) {
  CLI::App* verb = app.add_subcommand("list", "list functions of programs and libraries, or words of the language");
  using What = ListOptions::What;
  verb->add_flag_callback(
      "--functions", [&] { list.what = What::Functions; }, "functions that can be probed (default)");
  verb->add_flag_callback(
      "--usdt", [&] { list.what = What::Usdt; }, "markers (USDT): PROVIDER:NAME, places and arguments");
  verb->add_flag_callback(
      "-L,--lines", [&] { list.what = What::Lines; },
      "lines of the source with their variables: of FUNCTION, or SOURCE[:FROM[-TO]]");
  verb->add_flag_callback(
      "--events", [&] { list.what = What::Events; }, "kinds of events, and which runtime runs them");
  verb->add_flag_callback(
      "--regs", [&] { list.what = What::Registers; }, "registers a fetch-arg can name, and their role");
  verb->add_flag_callback(
      "--types", [&] { list.what = What::Types; }, "types of fetch-args");
  verb->add_option("--pid", list.pids, "a running process: its program, libraries and JIT code")
      ->type_name("PID")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->allow_extra_args(false);
  verb->add_flag("-v,--verbose", list.verbose, "how each would be armed, and why not by a jump");
  verb->add_option("GLOB|FILE", list.words, "with a `/`: a program or library; without: names to list, * and ? allowed")
      ->type_name("");
  add_footer(
      *verb,
      R"(One function a line, in the order of symbols: NAME  0xADDRESS  SIZE (of the file, as nm prints them). Of C++ and Rust
the name of the source stands behind; a definition takes either. Of what a JIT compiler has made (`jit:NAME`) the address
is that in the process, and behind it stands what the compiler calls it.

examples:
  kevtrace list /usr/bin/sqlite3
  kevtrace list 'open*' /usr/lib/x86_64-linux-gnu/libc.so.6 -v
  kevtrace list --usdt 'python:gc*' /usr/bin/python3.11
  kevtrace list --pid 4711 '*fib*'
  kevtrace list -L area_of ./shapes
  kevtrace list -L shapes.c:30-50 ./shapes
  kevtrace list --types)");
}

void add_fmt(CLI::App& app, FmtOptions& fmt) {
  CLI::App* verb = app.add_subcommand("fmt", "lay event scripts out; write them in the kernel's boot form");
  using To = FmtOptions::To;
  verb->add_option("FILE", fmt.files, "event scripts, rewritten; - is standard input, to standard output")
      ->type_name("")
      ->required();
  verb->add_flag("--check", fmt.check, "change nothing; name the files that would change, with status 1");
  verb->add_option("--to", fmt.to, "script; boot: the kernel's parameters, to standard output")
      ->type_name("FORM")
      ->transform(choice<To>({{"script", To::Script}, {"boot", To::Boot}}));
  add_footer(*verb, R"(Only blanks change. A file with mistakes stays as it is.

examples:
  kevtrace fmt script.kev
  kevtrace fmt --check *.kev
  kevtrace fmt --to=boot early.kev

exit status: 0 all well, 1 a file would change (--check) or cannot be written, 2 usage, 3 mistakes)");
}

void add_import(CLI::App& app, ImportOptions& import) {
  CLI::App* verb = app.add_subcommand("import", "turn a shell file, or boot parameters, into an event script");
  verb->add_option("FILE", import.file, "what to read; - is standard input")->type_name("")->required();
  using From = ImportOptions::From;
  verb->add_flag_callback(
      "--boot", [&] { import.from = From::Boot; }, "FILE holds boot parameters: kprobe_event=p:ev,sym,args;...");
  add_footer(
      *verb,
      R"(Nothing of FILE is executed. The script goes to standard output; what is not understood is reported with its line.

examples:
  kevtrace import trace-reads.sh > reads.kev
  kevtrace import --boot /proc/cmdline

exit status: 0 all understood, 2 usage, 3 a definition is wrong, 4 something was not understood and left out)");
}

void add_doctor(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("doctor", "what works on this machine, what is missing and how to get it");
  add_footer(*verb, "exit status: 0 programs can be traced here, 4 they cannot");
}

// The first word that is not an option.
std::string first_word(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (argv[i][0] != '-') return argv[i];
  return "";
}

// Suggests the word that was meant, or lists what there is.
std::string verbs_for(const CLI::App& app, const std::string& word) {
  std::vector<std::string> all;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    all.push_back(verb->get_name());
  if (word.empty()) return fmt::format("a verb is missing: {}", fmt::join(all, ", "));
  std::vector<std::string> near;
  unsigned best = word.size() < 4 ? 1 : 2;
  for (const std::string& verb : all) {
    const unsigned distance = target::edit_distance(word, verb, best);
    if (distance < best) near.clear();
    best = std::min(best, distance);
    if (distance == best) near.push_back("`" + verb + "`");
  }
  if (!near.empty()) return fmt::format("`{}` is no verb; near it: {}", word, fmt::join(near, ", "));
  return fmt::format("`{}` is no verb: {}", word, fmt::join(all, ", "));
}

// Prints a mistake as one line to standard error; help and version go to standard output.
int finish(const CLI::App& app, const CLI::ParseError& error, const std::string& word) {
  if (error.get_exit_code() == 0) {
    app.exit(error);
    return kOk;
  }
  if (dynamic_cast<const CLI::RuntimeError*>(&error)) {  // the command line is right
    print_to(messages(), "kevtrace: error: {}\n", error.what());
    return error.get_exit_code();
  }
  const auto verbs = app.get_subcommands();
  std::string text = error.what();
  const CLI::App* const verb = verbs.empty() ? nullptr : verbs.front();
  if (!verb && dynamic_cast<const CLI::RequiredError*>(&error)) text = verbs_for(app, word);
  if (dynamic_cast<const CLI::ExtrasError*>(&error))
    if (const auto dashes = text.find("--"); dashes != std::string::npos) {
      const std::string unknown = text.substr(dashes, text.find_first_of(" =\n", dashes) - dashes);
      if (const auto nearest = nearest_option(app, verb, unknown))
        text = fmt::format("there is no option `{}`; near it: `{}`", unknown, *nearest);
    }
  std::ranges::replace(text, '\n', ' ');
  while (text.ends_with(' ') || text.ends_with('.')) text.pop_back();
  const bool is_name = text.size() > 1 && std::isupper(static_cast<unsigned char>(text[1]));  // CMD, SHELL
  if (!text.empty() && !is_name) text[0] = static_cast<char>(std::tolower(text[0]));
  print_to(messages(), "kevtrace: error: {}; see `kevtrace{} --help`\n", text,
           verbs.empty() ? "" : " " + verbs.front()->get_name());
  return kUsage;
}

}  // namespace

// `run FILE.kevo -- CMD`: a positional before "--" would end the verb's own words, so the file becomes an option.
static std::vector<char*> with_script_named(int argc, char** argv) {
  static char option[] = "-p";
  std::vector<char*> words(argv, argv + argc);
  const auto text = [](const char* word) { return std::string_view(word); };
  const auto end = std::ranges::find(words, std::string_view("--"), text);
  if (end == words.end() || end - words.begin() < 3 || text(words[1]) != "run") return words;
  const auto is_script = [](std::string_view word) { return word.ends_with(".kevo"); };
  const auto script = std::ranges::find_if(words.begin() + 2, end, is_script, text);
  if (script == end || text(*(script - 1)) == "-p" || text(*(script - 1)) == "--probes") return words;
  words.insert(script, option);
  return words;
}

const char* messages_file(int argc, char** argv) {
  constexpr std::string_view kOption = "--messages", kWithValue = "--messages=";
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string_view word = argv[i];
    if (word == kOption) return argv[i + 1];  // argv ends with a null pointer
    if (word.starts_with(kWithValue)) return argv[i] + kWithValue.size();
  }
  return nullptr;
}

CommandLine parse_command_line(int argc, char** argv) {
  Parsed parsed;
  CLI::App app("kevtrace: the kernel's event language, compiled, for any process", "kevtrace");
  app.footer(kExamples);
  app.set_help_flag("-h,--help", "print this help");
  app.set_version_flag("--version", std::string("kevtrace ") + KEVT_VERSION, "print the version");
  app.require_subcommand(1);
  app.fallthrough();
  app.formatter(std::make_shared<HelpFormatter>());
  add_global(app, parsed.global);
  add_run(app, parsed.run);
  add_check(app, parsed.check);
  add_explain(app, parsed.explain);
  add_compile(app, parsed.compile);
  add_cost(app, parsed.cost);
  add_list(app, parsed.list);
  add_fmt(app, parsed.fmt);
  add_import(app, parsed.import);
  add_doctor(app);
  const std::vector<std::string> command = take_command(argc, argv);
  add_recording_verbs(app, parsed.recording, command);
  add_mount(app, parsed.mount);
  add_exec(app, parsed.exec);
  add_fleet(app, parsed.fleet);
  add_help(app, parsed.help);
  add_shell_texts(app, parsed.texts);
  try {
    const std::vector<char*> words = with_script_named(argc, argv);
    app.parse(static_cast<int>(words.size()), words.data());
    if (app.got_subcommand("completion") && parsed.texts.shell.empty())
      return {parsed.global, CompleteOptions{.word = asked_word(app, parsed.texts.line)}};
    if (app.got_subcommand("completion") || app.got_subcommand("manual"))
      return {parsed.global, ShellTextOptions{.text = shell_text(app, parsed.texts)}};
    if (app.got_subcommand("help")) {
      auto text = help_text(app, parsed.help);
      if (!text) throw CLI::ValidationError(text.error());
      return {parsed.global, ShellTextOptions{.text = *std::move(text)}};
    }
  } catch (const CLI::ParseError& error) {
    std::exit(finish(app, error, first_word(argc, argv)));
  }
  CommandLine line{parsed.global, DoctorOptions{}};
  if (app.got_subcommand("run")) line.verb = parsed.run;
  if (app.got_subcommand("check")) line.verb = parsed.check;
  if (app.got_subcommand("explain")) line.verb = parsed.explain;
  if (app.got_subcommand("compile")) line.verb = parsed.compile;
  if (app.got_subcommand("cost")) line.verb = parsed.cost;
  if (app.got_subcommand("list")) line.verb = parsed.list;
  if (app.got_subcommand("fmt")) line.verb = parsed.fmt;
  if (app.got_subcommand("import")) line.verb = parsed.import;
  if (parsed.recording.verb.index() != 0) line.verb = parsed.recording;
  if (app.got_subcommand("mount")) line.verb = parsed.mount;
  if (app.got_subcommand("exec")) line.verb = parsed.exec;
  if (app.got_subcommand("fleet")) line.verb = parsed.fleet;
  return line;
}

}  // namespace kevt::cli
