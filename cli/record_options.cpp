// CLI11's side of the verbs about recordings.
#include "cli/record_options.h"

#include <CLI/CLI.hpp>

#include "tracefs-compat/record/recording.h"

namespace kevt::cli {
namespace {

CLI::Validator file_format() {
  return CLI::Validator(
      [](std::string& name) {
        if (record::format_by_name(name)) return std::string();
        return "`" + name + "` is none of " + record::format_names();
      },
      "");
}

CLI::Validator one_of(std::vector<std::string> words) {
  return CLI::Validator(
      [words = std::move(words)](std::string& value) {
        std::string all;
        for (const std::string& word : words) {
          if (value == word) return std::string();
          all += (all.empty() ? "" : ", ") + word;
        }
        return "`" + value + "` is none of " + all;
      },
      "");
}

void add_footer(CLI::App& verb, const std::string& text) {
  verb.footer(text + "\n\nEvery verb also takes --color, --diagnostics and -q: `kevtrace --help`");
}

void add_input(CLI::App& verb, InputOptions& input) {
  verb.add_option("FILE", input.file, "a recording: trace.dat of kevtrace or trace-cmd, or NDJSON of kevtrace")
      ->type_name("")
      ->required();
  verb.add_option("-F,--filter", input.filters, "only these: 'EVENT: EXPRESSION', or EVENT; names may be globs")
      ->type_name("EV:EXPR")
      ->allow_extra_args(false);
  verb.add_option("--from", input.from, "from this moment on: seconds as printed, or +seconds from the beginning")
      ->type_name("TIME");
  verb.add_option("--to", input.to, "up to this moment")->type_name("TIME");
  verb.add_option("-c,--count", input.limit, "the first N records of what is left")->type_name("N");
}

void add_report(CLI::App& app, ReportOptions& report, RecordingVerb& out) {
  CLI::App* verb = app.add_subcommand("report", "print a recording as text, or in another format");
  add_input(*verb, report.input);
  verb->add_option("-f,--format", report.format, record::format_names())
      ->type_name("FORMAT")
      ->check(file_format())
      ->capture_default_str();
  verb->add_option("-o,--output", report.output, "write to FILE instead of standard output")->type_name("FILE");
  verb->add_option("--ts", report.times, "times in text: absolute, relative (to the first), delta, wall")
      ->type_name("STYLE")
      ->check(one_of({"absolute", "relative", "delta", "wall"}));
  verb->add_option("--columns", report.columns,
                   "only these columns, with tabs between: time, cpu, pid, comm, event, text, or names of fields")
      ->type_name("NAMES")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb->final_callback([&report, &out] { out.verb = report; });
  add_footer(
      *verb,
      R"(What could not be read of a damaged file is told on standard error, behind what could; the status is then 1.

examples:
  kevtrace report trace.dat
  kevtrace report trace.dat -F 'sched_switch: prev_comm ~ "ba*"' --ts delta
  kevtrace report trace.dat -F 'open*' --columns time,pid,path
  kevtrace report trace.dat -f json --from +1 --to +2.5

exit status: 0 ok, 1 the file or a part of it cannot be read, 2 usage, 3 a filter is wrong)");
}

void add_convert(CLI::App& app, ConvertOptions& convert, RecordingVerb& out) {
  CLI::App* verb = app.add_subcommand("convert", "write a recording in another format");
  add_input(*verb, convert.input);
  verb->add_option("OUTPUT", convert.output, "the file to write; its ending tells the format")
      ->type_name("")
      ->required();
  verb->add_option("-f,--format", convert.format, record::format_names())->type_name("FORMAT")->check(file_format());
  verb->final_callback([&convert, &out] { out.verb = convert; });
  add_footer(*verb, R"(examples:
  kevtrace convert trace.dat trace.json
  kevtrace convert trace.dat trace.pftrace -F 'sched*'
  kevtrace convert trace.json trace.dat)");
}

}  // namespace

CLI::Validator run_format() { return file_format(); }
std::string run_format_help() { return "of FILE, where its ending does not tell: " + record::format_names(); }

void add_recording_verbs(CLI::App& app, RecordingVerb& out) {
  // Options live as long as the process: CLI11 keeps pointers to them until it has parsed.
  static ReportOptions report;
  static ConvertOptions convert;
  add_report(app, report, out);
  add_convert(app, convert, out);
}

}  // namespace kevt::cli
