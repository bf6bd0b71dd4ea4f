// CLI11's side of the verbs about recordings.
#include "cli/options/record_options.h"

#include <CLI/CLI.hpp>

#include "cli/options/choice_options.h"
#include "cli/options/option_parts.h"
#include "tracefs-compat/record/analysis/query.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::cli {
namespace {

CLI::Validator file_format() {
  return CLI::Validator(
      [](std::string& name) {
        if (record::format_by_name(name)) return std::string();
        return std::string("`").append(name).append(kNoneOf).append(record::format_names());
      },
      "", kOneOf);
}

CLI::Validator moment_range() {
  return CLI::Validator(
      [](std::string& text) {
        if (record::parse_range(text)) return std::string();
        return "`" + text + "` is no FROM,TO: " + std::string(record::kRangeHelp);
      },
      "");
}

void add_input(CLI::App& verb, InputOptions& input) {
  verb.add_option("FILE", input.file,
                  "a recording: trace.dat of kevtrace or trace-cmd, or NDJSON of kevtrace; FILE,FILE: several beside "
                  "one another")
      ->type_name("")
      ->required();
  verb.add_option("-F,--filter", input.filters, "only these: 'EVENT: EXPRESSION', or EVENT; names may be globs")
      ->type_name("EV:EXPR")
      ->allow_extra_args(false);
  verb.add_option("--from", input.from, "from this moment on: seconds as printed, or +seconds from the beginning")
      ->type_name("TIME");
  verb.add_option("--to", input.to, "up to this moment")->type_name("TIME");
  verb.add_option("-B,--instance", input.instance, "only records of this instance; `top` is the one without a name")
      ->type_name("NAME");
  verb.add_option("-c,--count", input.limit, "the first N records of what is left")->type_name("N");
}

// -f of verbs that print an answer.
void add_answer_format(CLI::App& verb, std::string& format) {
  verb.add_option("-f,--format", format, "of the answer: text or json; the ending of -o FILE tells it, too")
      ->type_name("FORMAT")
      ->check(member({"text", "json"}));
}

void add_answer(CLI::App& verb, std::string& format, std::string& output) {
  add_answer_format(verb, format);
  verb.add_option("-o,--output", output, "write the answer to FILE instead of standard output")->type_name("FILE");
}

void add_report(CLI::App& app, ReportOptions& report, RecordingVerb& out) {
  CLI::App* verb = app.add_subcommand("report", "print a recording as text, or in another format");
  add_input(*verb, report.input);
  verb->add_option("-f,--format", report.format, run_format_help())->type_name("FORMAT")->check(file_format());
  verb->add_option("-o,--output", report.output, "write to FILE instead of standard output")->type_name("FILE");
  verb->add_option("--ts", report.times, "times in text: absolute, relative (to the first), delta, wall")
      ->type_name("STYLE")
      ->check(member({"absolute", "relative", "delta", "wall"}));
  verb->add_option("--columns", report.columns,
                   "only these columns, with tabs between: time, cpu, pid, comm, event, text, or names of fields")
      ->type_name("NAMES")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb->add_flag("--raw-format", report.raw_format,
                 "text by print fmt, as in the kernel's trace, also where a plugin of libtraceevent has other words");
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

void add_flame(CLI::App& app, FlameOptions& flame, RecordingVerb& out) {
  CLI::App* verb = app.add_subcommand("flame", "a recording's stacks or calls as a call tree, or as a flame graph");
  add_input(*verb, flame.input);
  verb->add_option("--before", flame.before, "compare with this recording: what has become heavier, what lighter")
      ->type_name("FILE");
  verb->add_option("--before-range", flame.before_range,
                   "only this part of the recording of --before, instead of --from and --to")
      ->type_name("FROM,TO")
      ->check(moment_range())
      ->needs("--before");
  verb->add_option(
          "--weight", flame.weight,
          "what a path weighs: hits, time (ns in calls of p and r probes), or the sum of FIELD or EVENT.FIELD; "
          "without, hits of stacks, else time, else hits")
      ->type_name("WEIGHT");
  verb->add_flag("--bottom-up", flame.bottom_up, "callees with their callers inside");
  verb->add_option("--least", flame.least, "the tree leaves out what has less than this part of the whole")
      ->type_name("PERCENT")
      ->check(CLI::Range(0.0, 100.0).description(""))
      ->capture_default_str();
  verb->add_option("-f,--format", flame.format,
                   "tree (text), svg (flame graph), folded or json; the ending of -o FILE tells it, too")
      ->type_name("FORMAT")
      ->check(member({"tree", "svg", "folded", "json"}));
  verb->add_option("-o,--output", flame.output, "write to FILE instead of standard output")->type_name("FILE");
  verb->final_callback([&flame, &out] { out.verb = flame; });
  add_footer(
      *verb,
      R"(Stacks are there where a recording was made with --stack. A box of the flame graph is as wide as its weight; compared,
it is red where it has become heavier, blue where lighter, each as part of its own recording.

examples:
  kevtrace run --stack -e 'p:malloc libc:malloc bytes=%di:u64' -o trace.dat -- ls
  kevtrace flame trace.dat
  kevtrace flame trace.dat --weight malloc.bytes -o bytes.svg
  kevtrace flame after.dat --before before.dat -o diff.svg
  kevtrace flame trace.dat --from +5 --to +6 --before trace.dat --before-range +1,+2

exit status: 0 ok, 1 the file or a part of it cannot be read, 2 usage, 3 a filter or field is wrong)");
}

void add_stat(CLI::App& app, StatOptions& stat, RecordingVerb& out) {
  CLI::App* verb =
      app.add_subcommand("stat", "what a recording holds: events, rates, lost, CPUs, tasks, frequent values");
  verb->add_option("FILE", stat.file, "a recording")->type_name("")->required();
  verb->add_option("-F,--filter", stat.filters, "only these: 'EVENT: EXPRESSION', or EVENT")
      ->type_name("EV:EXPR")
      ->allow_extra_args(false);
  verb->add_option("--top", stat.top, "rows of tasks and values")->type_name("N")->capture_default_str();
  add_answer(*verb, stat.format, stat.output);
  verb->final_callback([&stat, &out] { out.verb = stat; });
  add_footer(*verb, "examples:\n  kevtrace stat trace.dat\n  kevtrace stat trace.dat -F 'sched*' --top 3");
}

void add_diff(CLI::App& app, DiffOptions& diff, RecordingVerb& out) {
  CLI::App* verb = app.add_subcommand("diff", "compare two recordings: counts, rates, percentiles");
  verb->add_option("A", diff.a, "a recording")->type_name("")->required();
  verb->add_option("B", diff.b, "another")->type_name("")->required();
  verb->add_option("-F,--filter", diff.filters, "only these, in both")->type_name("EV:EXPR")->allow_extra_args(false);
  verb->add_option("--field", diff.fields, "percentiles of a field")->type_name("EVENT.FIELD")->allow_extra_args(false);
  verb->add_option("--lat", diff.latencies, "percentiles of the time between two events of a thread")
      ->type_name("START,END")
      ->allow_extra_args(false);
  verb->add_option(
          "--align", diff.align,
          "compare both from their first record of this event on, as long as both go on (--filter must keep it)")
      ->type_name("EVENT");
  verb->add_option("--range-a", diff.range_a, "only this part of A: seconds as printed, or +seconds from the beginning")
      ->type_name("FROM,TO")
      ->check(moment_range());
  verb->add_option("--range-b", diff.range_b, "only this part of B, which may be A")
      ->type_name("FROM,TO")
      ->check(moment_range());
  verb->add_option("-f,--format", diff.format,
                   "of the answer: text, json, or html, a page to send; the ending of -o FILE tells it, too")
      ->type_name("FORMAT")
      ->check(member({"text", "json", "html"}));
  verb->add_option("-o,--output", diff.output, "write the answer to FILE instead of standard output")
      ->type_name("FILE");
  verb->final_callback([&diff, &out] { out.verb = diff; });
  add_footer(
      *verb,
      R"(html has the tables of text, what threads and paths of calls are new or gone, distributions as pictures, and a flame graph
of what has changed. It is one file that needs nothing beside it. Rates of a part are of its whole length, as far as
the recording goes.

examples:
  kevtrace diff before.dat after.dat --lat read_in,read_out --field read_out.count
  kevtrace diff before.dat after.dat --align serve_begin
  kevtrace diff trace.dat trace.dat --range-a ,+5 --range-b +5,
  kevtrace diff before.dat after.dat --lat read_in,read_out -o diff.html)");
}

// Adds `-i FILE` and the options of tracing; a command stands behind `--`.
void add_source(CLI::App& verb, QuestionOptions& source) {
  verb.add_option("-i,--input", source.input, "ask a recording instead of a program that runs")->type_name("FILE");
  add_tracing(verb, source.run);
}

// What a question needs seldom is named in its help, and told of in that of `run`.
void name_alone(CLI::App& verb) {
  for (const char* name : {"--trigger", "--hist", "--enable", "--event-pid", "--inject", "--unsafe", "--interval",
                           "--hist-output", "--hist-format", "--max-bytes", "--stack", "--overwrite", "--buffer",
                           "--fail-on", "--keep-going", "--follow-forks"})
    verb.get_option(name)->group(kOptionsOfRun);
}

void add_question(CLI::App& verb, QuestionOptions& source) {
  add_source(verb, source);
  verb.remove_option(verb.get_option("--format"));
  add_answer_format(verb, source.run.format);
  verb.get_option("--output")->description("write the answer to FILE instead of standard output");
  name_alone(verb);
}

void require_source(QuestionOptions& source) {
  take_process_choice(source.run.choice, source.run.command, source.run.pids);
  const RunOptions& run = source.run;
  const bool is_live =
      !run.command.empty() || !run.pids.empty() || !run.definition_files.empty() || !run.definitions.empty();
  if (!source.input.empty() && (!run.command.empty() || !run.pids.empty()))
    throw CLI::ValidationError("-i", "a recording and something to trace exclude each other");
  if (source.input.empty() && !is_live) throw CLI::RequiredError("-i FILE, or -e DEF and -- CMD");
}

constexpr const char* kAsked =
    R"(Records come from a file (-i FILE), or from a program that is traced meanwhile: -e DEF … -- CMD, or --pid, as `run`
takes them. The answer goes to standard output or -o when it ends.
)";

void add_count(CLI::App& app, CountOptions& count, RecordingVerb& out) {
  CLI::App* verb = app.add_subcommand("count", "how often events happened: hits, and which of them were recorded");
  verb->add_option("GLOB", count.events, "events; all when there is none")->type_name("");
  add_question(*verb, count.source);
  verb->final_callback([&count, &out] {
    require_source(count.source);
    out.verb = count;
  });
  add_footer(
      *verb,
      std::string(kAsked) +
          R"(HITS is the probe's counter: what was lost for want of room, or missed, is in it and named beside it. Of a part of a
recording (--filter, -c), and of recordings without counters, records are counted.

examples:
  kevtrace count 'sched_*' -i trace.dat
  kevtrace count -e 'p:malloc libc:malloc' -e 'p:free libc:free' -- ls)");
}

void add_hist(CLI::App& app, HistOptions& hist, RecordingVerb& out) {
  CLI::App* verb = app.add_subcommand("hist", "a histogram of a field: powers of two, or the most frequent texts");
  verb->add_option("EVENT.FIELD", hist.words,
                   "the field (or pid, comm, cpu, event), then `by` and another, to have one each")
      ->type_name("")
      ->required();
  add_question(*verb, hist.source);
  verb->final_callback([&hist, &out] {
    require_source(hist.source);
    out.verb = hist;
  });
  add_footer(*verb, std::string(kAsked) + R"(
examples:
  kevtrace hist sched_stat_runtime.runtime by comm -i trace.dat
  kevtrace hist malloc.bytes -e 'p:malloc libc:malloc bytes=%di:u64' -- ls)");
}

void add_lat(CLI::App& app, LatOptions& lat, RecordingVerb& out) {
  CLI::App* verb = app.add_subcommand("lat", "the time from one event to another, as percentiles");
  verb->add_option(
          "START", lat.words,
          "two events, or live two definitions ('p libc:read', 'r libc:read'); then `by` and a field of the first")
      ->type_name("END")
      ->required();
  verb->add_option("--key", lat.key,
                   "what a start and its end have in common, instead of the thread: a field, or FIELD=FIELD where the "
                   "end calls it another name")
      ->type_name("FIELD");
  verb->add_option("--slower", lat.slower_ns, "leave out what took less; 300us, 5ms, 2s")
      ->type_name("TIME")
      ->transform(CLI::AsNumberWithUnit(std::map<std::string, double>{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}},
                                        CLI::AsNumberWithUnit::UNIT_REQUIRED, "")
                      .description(""));
  verb->add_option("--sort", lat.order, "rows by count, p50, p99, max or total; the greatest first")
      ->type_name("WHAT=count")
      ->check(member({"count", "p50", "p99", "max", "total"}));
  verb->add_flag("--bars", lat.has_bars, "draw each row's times as a histogram");
  add_question(*verb, lat.source);
  verb->final_callback([&lat, &out] {
    const bool defines = lat.words.size() > 1 && lat.words[0].find(' ') != std::string::npos;
    if (!defines) require_source(lat.source);
    out.verb = lat;
  });
  add_footer(*verb, std::string(kAsked) + R"(
examples:
  kevtrace lat sys_enter_read sys_exit_read by comm -i trace.dat
  kevtrace lat request_begin request_end --key id --slower 5ms --bars -i trace.dat
  kevtrace lat 'p libc:malloc' 'r libc:malloc' -- ls)");
}

void add_stream(CLI::App& app, StreamOptions& stream, RecordingVerb& out) {
  CLI::App* verb = app.add_subcommand("stream", "print records while they come, as text or NDJSON (-f json)");
  add_source(*verb, stream.source);
  verb->final_callback([&stream, &out] {
    require_source(stream.source);
    out.verb = stream;
  });
  add_footer(*verb, R"(examples:
  kevtrace stream -f json -e 'p:open libc:open64 path=+0(%di):string' -- python3 -S -c 'open("/etc/passwd")')");
}

void add_top(CLI::App& app, TopOptions& top, RecordingVerb& out) {
  CLI::App* verb = app.add_subcommand("top", "a table of events and tasks by their rate, every second");
  verb->add_option("--rows", top.rows, "rows of each")->type_name("N")->capture_default_str();
  add_question(*verb, top.source);
  verb->final_callback([&top, &out] {
    require_source(top.source);
    out.verb = top;
  });
  add_footer(*verb, std::string(kAsked) + R"(
examples:
  kevtrace top -e 'p:malloc libc:malloc' --pid 4711)");
}

}  // namespace

CLI::Validator run_format() { return file_format(); }
std::string run_format_help() { return "of FILE, where its ending does not tell: " + record::format_names(); }

std::vector<std::string> take_command(int& argc, char** argv) {
  bool wanted = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--color" || word == "--escape" || word == "--diagnostics" ||
        word == "--messages") {  // skip the value, which is not the verb
      ++i;
      continue;
    }
    for (std::string_view verb : {"count", "hist", "lat", "top", "stream"}) wanted = wanted || word == verb;
    if (word != "--") {
      if (!word.starts_with("-") && !wanted) return {};  // another verb
      continue;
    }
    std::vector<std::string> command(argv + i + 1, argv + argc);
    argc = i;
    return command;
  }
  return {};
}

void add_recording_verbs(CLI::App& app, RecordingVerb& out, const std::vector<std::string>& command) {
  // Options live as long as the process: CLI11 keeps pointers to them until it has parsed.
  static ReportOptions report;
  static ConvertOptions convert;
  static FlameOptions flame;
  static StatOptions stat;
  static DiffOptions diff;
  static CountOptions count;
  static HistOptions hist;
  static LatOptions lat;
  static TopOptions top;
  static StreamOptions stream;
  add_report(app, report, out);
  add_convert(app, convert, out);
  add_flame(app, flame, out);
  add_stat(app, stat, out);
  add_diff(app, diff, out);
  add_count(app, count, out);
  add_hist(app, hist, out);
  add_lat(app, lat, out);
  add_stream(app, stream, out);
  add_top(app, top, out);
  for (QuestionOptions* one : {&count.source, &hist.source, &lat.source, &stream.source, &top.source})
    one->run.command = command;
}

}  // namespace kevt::cli
