// CLI11 in one place: every option, its help, and nothing else.
#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>

#include "cli/exit_status.h"

namespace kevt::cli {

namespace {

struct Parsed {
  GlobalOptions global;
  RunOptions run;
  CheckOptions check;
  ExplainOptions explain;
  ListOptions list;
};

constexpr const char* kExamples = R"(
examples:
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
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, When>{{"auto", When::Auto}, {"always", When::Always}, {"never", When::Never}}))
      ->type_name("WHEN");
  app.add_option("--diagnostics", global.diagnostics, "how mistakes are shown: text, kernel (as error_log)")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, Format>{{"text", Format::Text}, {"kernel", Format::Kernel}}))
      ->type_name("FORM");
  app.add_flag("-q,--quiet", global.quiet, "no status lines on standard error");
}

void add_run(CLI::App& app, RunOptions& run) {
  CLI::App* verb = app.add_subcommand("run", "define events, start CMD, print its trace, remove everything");
  verb->add_option("-e,--event", run.definitions, "a definition, e.g. 'p:open libc:open64 path=+0(%di):string'")
      ->type_name("DEF")->allow_extra_args(false);
  verb->add_option("-p,--probes", run.definition_files, "a file of definitions, one a line")
      ->type_name("FILE")->allow_extra_args(false);
  verb->add_option("--filter", run.filters, "record only what matches, e.g. 'open: path ~ \"/etc/*\"'")
      ->type_name("EV:EXPR")->allow_extra_args(false);
  verb->add_option("-d,--duration", run.seconds, "stop tracing after SEC seconds (CMD goes on)")
      ->type_name("SEC")->check(CLI::PositiveNumber);
  verb->add_option("-c,--count", run.events, "stop tracing after N events (CMD goes on)")
      ->type_name("N")->check(CLI::PositiveNumber);
  verb->add_option("-o,--output", run.output, "write the trace to FILE instead of standard output")->type_name("FILE");
  verb->add_option("--buffer", run.buffer_kb, "ring size per CPU in KiB, rounded up to a power of two")
      ->type_name("KIB")->check(CLI::Range(64, 1 << 20))->capture_default_str();
  verb->add_option("--fail-on", run.fail_on, "end with status 5 when records were lost or hits missed")
      ->type_name("lost,missed")->delimiter(',')->check(CLI::IsMember({"lost", "missed"}));
  verb->add_option("--runtime", run.runtime, "auto, inproc (bpf and kmod: not there yet)")
      ->check(CLI::IsMember({"auto", "inproc", "bpf", "kmod"}))->capture_default_str();
  verb->add_option("command", run.command, "the program to trace and its arguments, after --")->required();
}

void add_check(CLI::App& app, CheckOptions& check) {
  CLI::App* verb = app.add_subcommand("check", "compile definitions and filters without touching anything");
  verb->add_option("files", check.files, "files of definitions, - for standard input")->type_name("FILE");
  verb->add_option("-e,--event", check.definitions, "a definition")->type_name("DEF")->allow_extra_args(false);
  verb->add_option("--filter", check.filters, "a filter for one of them")->type_name("EV:EXPR")->allow_extra_args(false);
}

void add_explain(CLI::App& app, ExplainOptions& explain) {
  CLI::App* verb = app.add_subcommand("explain", "show what becomes of a definition: listing, format, IR, code, arming");
  verb->add_option("-e,--event", explain.definitions, "a definition")->type_name("DEF")->required()->allow_extra_args(false);
  verb->add_option("--filter", explain.filters, "a filter for one of them")->type_name("EV:EXPR")->allow_extra_args(false);
  verb->add_option("command", explain.command, "the program whose functions are meant, after --; it is started and ended "
                                               "before its first instruction")->required();
}

void add_list(CLI::App& app, ListOptions& list) {
  CLI::App* verb = app.add_subcommand("list", "list functions of programs and libraries, or words of the language");
  using What = ListOptions::What;
  verb->add_flag_callback("--functions", [&] { list.what = What::Functions; }, "functions that can be probed (default)");
  verb->add_flag_callback("--events", [&] { list.what = What::Events; }, "kinds of events");
  verb->add_flag_callback("--regs", [&] { list.what = What::Registers; }, "registers a fetch-arg can name");
  verb->add_flag_callback("--types", [&] { list.what = What::Types; }, "types of fetch-args");
  verb->add_flag("-v,--verbose", list.verbose, "how each would be armed, and why not by a jump");
  verb->add_option("pattern", list.pattern, "names to list, * and ? allowed")->type_name("GLOB");
  verb->add_option("files", list.files, "programs or libraries to look into")->type_name("FILE");
}

}  // namespace

CommandLine parse_command_line(int argc, char** argv) {
  Parsed parsed;
  CLI::App app("kevtrace: the kernel's event language, compiled, for any process", "kevtrace");
  app.footer(kExamples);
  app.set_version_flag("--version", std::string("kevtrace ") + KEVT_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  add_global(app, parsed.global);
  add_run(app, parsed.run);
  add_check(app, parsed.check);
  add_explain(app, parsed.explain);
  add_list(app, parsed.list);
  app.add_subcommand("doctor", "what works on this machine, what is missing and how to get it");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? kOk : kUsage);
  }
  CommandLine line{parsed.global, DoctorOptions{}};
  if (app.got_subcommand("run")) line.verb = parsed.run;
  if (app.got_subcommand("check")) line.verb = parsed.check;
  if (app.got_subcommand("explain")) line.verb = parsed.explain;
  if (app.got_subcommand("list")) line.verb = parsed.list;
  return line;
}

}  // namespace kevt::cli
