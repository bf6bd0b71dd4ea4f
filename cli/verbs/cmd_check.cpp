// kevtrace check: checks definitions and filters by their text alone.
//
//   kevtrace check -e 'p:open libc:openat path=+0(%si):string' --filter 'open: path ~ "/etc/*"'
//   p:kprobes/open libc:openat path=+0(%si):string
//
// Every mistake of every definition and filter is shown; correct definitions are printed as `dynamic_events` would list
// them, after checks up to the fetch IR and its verifier. With --kernel the answer is that of this kernel. Functions,
// types and data symbols are looked up in the files of --btf and --kallsyms, and in the running kernel only with
// --running. One note names what could not be checked, and --strict makes that status 4. Correct forms that no runtime
// runs yet get a note.
#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/definitions/check_pass.h"
#include "cli/definitions/fix_files.h"
#include "cli/definitions/script_texts.h"
#include "cli/exit_status.h"
#include "cli/reporter.h"
#include "cli/verbs/commands.h"
#include "common/assert.h"
#include "common/print.h"
#include "compiler/codegen/native.h"
#include "compiler/ir/verify.h"
#include "compiler/lower/lower.h"
#include "compiler/target/kernel/kernel_types.h"

namespace kevt::cli {

namespace {

std::string_view rule_name(sema::UncheckedRule rule) {
  switch (rule) {
    case sema::UncheckedRule::Function:
      return "function";
    case sema::UncheckedRule::Address:
      return "address";
    case sema::UncheckedRule::File:
      return "file";
    case sema::UncheckedRule::Tracepoint:
      return "tracepoint";
    case sema::UncheckedRule::Event:
      return "event";
    case sema::UncheckedRule::Data:
      return "data symbol";
    case sema::UncheckedRule::Types:
      return "types of";
  }
  return "";
}

std::string unchecked_text(const sema::Unchecked& unchecked) {
  return unchecked.what.empty() ? std::string(rule_name(unchecked.rule))
                                : fmt::format("{} `{}`", rule_name(unchecked.rule), unchecked.what);
}

class Check {
 public:
  Check(const CheckOptions& options, const GlobalOptions& global) : options_(options), report_(global) {}
  int go();

 private:
  bool open_kernel();
  bool read();
  bool fix();
  void judge();
  void note_runtimes();
  void show();
  void show_summary();
  void show_unchecked() const;
  diag::Report whole_report() const;
  int status() const;

  CheckOptions options_;
  Reporter report_;
  std::unique_ptr<const target::TargetEnv> env_ = std::make_unique<target::UncheckedTargetEnv>();
  Texts texts_;
  CheckResult result_;
};

// Finds the kernel to check for: named by files, or the running one, whose version is rounded down to a known one.
// False: it failed, and the reason has been reported.
bool Check::open_kernel() {
  target::KernelFiles files{.kallsyms = options_.kallsyms, .btf = options_.btf};
  if (options_.running) {
    utsname name{};
    dialect::Version version;
    if (options_.kernel || uname(&name) != 0 ||
        std::sscanf(name.release, "%hhu.%hhu", &version.major, &version.minor) != 2) {
      report_.error("--running is a kernel of its own: leave --kernel out");
      return false;
    }
    options_.kernel = dialect::Kernel::Linux6_1;
    for (const dialect::Kernel one : dialect::kKernels)
      if (dialect::version_of(one) <= version) options_.kernel = one;
    report_.status(fmt::format("Linux {}: answered as {}", name.release, kernel_name(*options_.kernel)));
    if (files.btf.empty()) files.btf = {"/sys/kernel/btf/vmlinux"};
    if (files.kallsyms.empty()) files.kallsyms = "/proc/kallsyms";
  }
  if (files.btf.empty() && files.kallsyms.empty()) return true;
  auto kernel = target::TypedKernel::open(files);
  if (!kernel) {
    report_.error(kernel.error());
    return false;
  }
  env_ = std::make_unique<target::TypedKernel>(*std::move(kernel));
  return true;
}

// False: it failed, and the reason has been reported.
bool Check::read() {
  const auto fail = [&](const Error& error) {
    report_.error(error);
    return false;
  };
  auto texts = collect_texts(
      {.definitions = options_.definitions,
       .files = options_.files,
       .filters = options_.filters,
       .dialect = options_.kernel ? dialect::Dialect::of(*options_.kernel) : dialect::Dialect::superset()});
  if (!texts) return fail(texts.error());
  texts_ = std::move(*texts);
  if (texts_.is_empty()) return fail(Error("nothing to check; give -e DEF, a FILE, or - for standard input"));
  return true;
}

// False: a file could not be read or written.
bool Check::fix() {
  bool changed = false;
  for (const std::string& name : options_.files) {
    auto text = read_whole(name);
    const FixedText fixed = text ? apply_fixes(*text, name, result_.mistakes) : FixedText{};
    if (text && fixed.applied.empty()) continue;
    const auto written = text ? replace_file(name, fixed.text) : Result<void>(std::unexpected(text.error()));
    if (!written) {
      report_.error(written.error());
      return false;
    }
    for (const diag::Located* mistake : fixed.applied)
      for (const diag::FixIt& one : mistake->fixits)
        report_.status(
            fmt::format("{}:{}:{}: fixed: {}", name, mistake->line, one.begin + 1, fix_text(one, mistake->source)));
    changed = true;
  }
  if (!changed) report_.status("nothing that can be fixed without a guess");
  return true;
}

// Checks definitions and filters, then the scripts' other lines.
void Check::judge() {
  result_ = check_texts(texts_.definitions, texts_.filters, options_.kernel, *env_);
  target::FixedCatalog catalog = result_.catalog;
  for (const RightDefinition& right : result_.right)
    if (right.needs_types) catalog.remove(right.definition.group, right.definition.event);
  const bool process = texts_.target && !std::holds_alternative<model::KernelTarget>(*texts_.target);
  script::TriggerResult triggers = script::check_triggers(
      texts_.triggers, catalog, process ? sema::CatalogScope::Whole : sema::CatalogScope::Partial,
      options_.kernel ? dialect::Dialect::of(*options_.kernel) : dialect::Dialect::superset());
  for (script::TriggerMistake& one : triggers.mistakes)
    result_.mistakes.push_back(locate(std::move(one.diagnostic), texts_.trigger_sources[one.trigger]));
  for (const ForeignEvent& event : texts_.foreign_events)
    result_.unchecked.push_back({sema::UncheckedRule::Event, event.name.system + "/" + event.name.event});
  for (const sema::Unchecked& one : triggers.unchecked) {
    const auto same = [&](const sema::Unchecked& other) { return other.rule == one.rule && other.what == one.what; };
    if (std::ranges::none_of(result_.unchecked, same)) result_.unchecked.push_back(one);
  }
  if (texts_.mistakes.empty() && triggers.mistakes.empty()) return;
  result_.mistakes.insert(result_.mistakes.begin(), texts_.mistakes.begin(), texts_.mistakes.end());
  sort_mistakes(result_.mistakes, options_.files);
}

namespace {

// The runtimes for a kind of event that not every runtime supports.
std::string where_alone(const model::Definition& definition) {
  const auto* event = std::get_if<model::EventPlace>(&definition.place);
  if (event && event->system == "synthetic") return "its records are made from those of " + event->event;
  switch (definition.kind) {
    case model::EventKind::Kprobe:
    case model::EventKind::Uprobe:
      return "";
    case model::EventKind::Fprobe:
    case model::EventKind::Tprobe:
    case model::EventKind::Watchpoint:
    case model::EventKind::Eprobe:
      return "this kind of event runs over the kernel, by `--runtime bpf`";
    case model::EventKind::Synthetic:
      return "its records are made by `trace()` actions of `hist` triggers";
  }
  return "";
}

// The current task and variables of each CPU, which are judged alone.
bool reads_what_none_runs(const model::FetchArg& arg) {
  return any_expression(arg, [](const model::FetchExpr& expr) {
    const auto* variable = std::get_if<model::VariableBase>(&expr.base);
    if (variable == nullptr) return false;
    return variable->kind == model::VariableKind::CurrentTask || variable->kind == model::VariableKind::PerCpuAddress ||
           variable->kind == model::VariableKind::PerCpuValue;
  });
}

}  // namespace

// Notes about correct events that not every runtime runs; not for --kernel, which has its own rules.
void Check::note_runtimes() {
  for (RightDefinition& right : result_.right) {
    const Source& source = texts_.definitions[right.source];
    const auto remark = [&](std::string text) {
      result_.remarks.push_back({.origin = source.origin, .line = source.line, .text = std::move(text)});
    };
    const model::Definition& definition = right.definition;
    if (std::string where = where_alone(definition); !where.empty()) {
      remark("right; " + where);
      continue;
    }
    if (std::ranges::any_of(definition.args, reads_what_none_runs)) {
      remark("right, but no runtime runs it yet");
      continue;
    }
    if (right.needs_types) {
      remark("right; it runs where its types are known: over the kernel, and in programs with debug information");
      continue;
    }
    const bool saved = definition.probe_kind == model::ProbeKind::Return &&
                       std::ranges::any_of(definition.args, [](const model::FetchArg& arg) {
                         return any_expression(arg, [](const model::FetchExpr& expr) {
                           return std::holds_alternative<model::ArgumentBase>(expr.base);
                         });
                       });
    if (saved || !lower::lowerable(definition)) continue;
    const ir::Program program = lower::lower_event(definition, right.layout, {std::move(right.filter)});
    const auto broken = ir::verify(program);
    KEVT_ASSERT(!broken);
    if (const std::string why = codegen::native_refusal(program); !why.empty())
      remark("right, but not supported by the inproc runtime yet: " + why);
  }
}

void Check::show() {
  // error_log has the first mistake of each text.
  const diag::Located* before = nullptr;
  for (const diag::Located& mistake : result_.mistakes) {
    const bool again = before != nullptr && before->origin == mistake.origin && before->line == mistake.line;
    before = &mistake;
    if (!again || report_.shows_all()) report_.diagnostic(mistake);
  }
  for (const diag::Remark& remark : result_.remarks) {
    if (result_.mistakes.empty()) report_.note({.text = "", .origin = remark.origin, .line = remark.line}, remark.text);
  }
  if (result_.mistakes.empty()) {
    for (const RightDefinition& right : result_.right) print("{}\n", right.listing);
    show_unchecked();
  } else {
    show_summary();
  }
}

void Check::show_summary() {
  if (!report_.shows_all() || result_.mistakes.size() < 2) return;
  if (!texts_.mistakes.empty()) {
    print_to(messages(), "{} errors.\n", result_.mistakes.size());
  } else if (texts_.definitions.size() == 1) {
    print_to(messages(), "{} errors; the kernel would report only the first.\n", result_.mistakes.size());
  } else {
    print_to(messages(), "{} errors; {} of {} definitions are wrong.\n", result_.mistakes.size(),
             result_.wrong_definitions, texts_.definitions.size());
  }
}

void Check::show_unchecked() const {
  if (result_.unchecked.empty()) return;
  const bool plain = std::ranges::all_of(result_.unchecked, [](const sema::Unchecked& unchecked) {
    return unchecked.rule != sema::UncheckedRule::Types && unchecked.rule != sema::UncheckedRule::Event &&
           unchecked.rule != sema::UncheckedRule::Tracepoint;
  });
  if (plain && !options_.kernel) {
    return report_.status(
        "functions, files and data symbols were not looked up; `kevtrace explain -e DEF -- PROGRAM` does");
  }
  constexpr std::size_t kShown = 6;
  std::string list;
  for (std::size_t i = 0; i < result_.unchecked.size() && i < kShown; ++i)
    list += (i == 0 ? "" : ", ") + unchecked_text(result_.unchecked[i]);
  if (result_.unchecked.size() > kShown) list += fmt::format(" and {} more", result_.unchecked.size() - kShown);
  const std::string whom = options_.kernel ? fmt::format(" for Linux {}", kernel_name(*options_.kernel)) : "";
  report_.status(fmt::format("not checked{}, whose symbols and types are not here: {}", whom, list));
}

diag::Report Check::whole_report() const {
  diag::Report report{.tool_version = KEVT_VERSION,
                      .kernel = options_.kernel ? std::string(kernel_name(*options_.kernel)) : "",
                      .definitions = static_cast<std::uint32_t>(texts_.definitions.size()),
                      .mistakes = result_.mistakes,
                      .remarks = result_.remarks};
  for (const sema::Unchecked& unchecked : result_.unchecked) report.not_checked.push_back(unchecked_text(unchecked));
  for (const RightDefinition& right : result_.right) report.listing.push_back(right.listing);
  return report;
}

int Check::status() const {
  if (!result_.mistakes.empty()) return kNotCompiled;
  const bool open = result_.not_judged || (options_.strict && !result_.unchecked.empty());
  return open ? kMissing : kOk;
}

int Check::go() {
  if (options_.fix && (options_.files.empty() || std::ranges::find(options_.files, "-") != options_.files.end())) {
    report_.error("--fix rewrites files; give it a FILE");
    return kUsage;
  }
  if (!open_kernel() || !read()) return kUsage;
  judge();
  if (options_.fix) {
    if (!fix()) return kFailed;
    if (!read()) return kUsage;
    judge();
  }
  if (!options_.kernel) note_runtimes();
  if (report_.is_object()) {
    report_.object(whole_report(), stdout);
  } else {
    show();
  }
  return status();
}

}  // namespace

int check(const CheckOptions& options, const GlobalOptions& global) { return Check(options, global).go(); }

}  // namespace kevt::cli
