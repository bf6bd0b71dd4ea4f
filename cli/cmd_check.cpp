// kevtrace check: definitions and filters compiled as far as that needs nothing but their text.
//
//   kevtrace check -e 'p:open libc:openat path=+0(%si):string' --filter 'open: path ~ "/etc/*"'
//   p:kprobes/open libc:openat path=+0(%si):string
//
// Every mistake of every definition and filter is shown; what is right is printed as `dynamic_events`
// would list it, up to the fetch IR and its verifier. Functions, files and data symbols are not looked
// up: there is no process to look in (`kevtrace explain` has one). Forms that are right but that no
// runtime runs yet get a note, those that cannot even be judged yet status 4.
#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/print.h"
#include "cli/report.h"
#include "common/assert.h"
#include "compiler/codegen/native.h"
#include "compiler/ir/verify.h"
#include "compiler/lower/lower.h"
#include "compiler/target/fixed_target.h"
#include "runtime-user/engine/draft.h"

namespace kevt::cli {

namespace {

// What a problem means here.
enum class Verdict : std::uint8_t {
  Mistake,
  NotJudged,  // a form this version reads no further
  NotKnown,   // it is about an event that only a kernel knows
  Deletion,   // right, but it defines nothing
};

Verdict judge(const engine::Problem& problem, const std::string& text) {
  switch (problem.diagnostic.kind) {
    case diag::Kind::UnsupportedForm:
      return text.starts_with('-') || text.starts_with('!') ? Verdict::Deletion : Verdict::NotJudged;
    case diag::Kind::BadAttachEvent:
      return problem.diagnostic.detail.empty() ? Verdict::NotKnown : Verdict::Mistake;
    default:  // all other kinds, some 200
      return Verdict::Mistake;
  }
}

class Check {
 public:
  Check(const CheckOptions& options, const GlobalOptions& global) : options_(options), report_(global) {}
  int go();

 private:
  void sort_problems(std::vector<engine::Problem> problems);
  void show(engine::Draft::Entry& entry);

  const CheckOptions& options_;
  Reporter report_;
  std::vector<Source> definitions_;
  Filters filters_;
  std::vector<engine::Problem> mistakes_;
  bool not_judged_ = false;
};

void Check::sort_problems(std::vector<engine::Problem> problems) {
  for (engine::Problem& problem : problems) {
    if (problem.kind == engine::Problem::Kind::Filter) {
      mistakes_.push_back(std::move(problem));
      continue;
    }
    const Source& source = definitions_[problem.index];
    switch (judge(problem, source.text)) {
      case Verdict::Mistake:
        mistakes_.push_back(std::move(problem));
        break;
      case Verdict::NotJudged:
        not_judged_ = true;
        report_.note(source,
                     fmt::format("`{}` is newer than Linux 6.1 and not supported by a runtime yet; the text was "
                                 "not judged",
                                 source.text.substr(0, 1)));
        break;
      case Verdict::NotKnown:
        report_.note(source,
                     "the event it attaches to is none of these definitions: its fields were not checked, and "
                     "event probes are not supported by a runtime yet");
        break;
      case Verdict::Deletion:
        report_.note(source, "a deletion: it is read, and defines nothing");
        break;
    }
  }
}

void Check::show(engine::Draft::Entry& entry) {
  const model::Definition& definition = entry.event.definition;
  print("{}\n", entry.event.listing);
  if (!lower::lowerable(definition)) {
    report_.note(definitions_[entry.index], "this kind of event is not supported by a runtime yet; the text is right");
    return;
  }
  const ir::Program program = lower::lower_event(definition, entry.event.layout, {std::move(entry.filter)});
  const auto broken = ir::verify(program);
  KEVT_ASSERT(!broken);
  if (const std::string why = codegen::native_refusal(program); !why.empty())
    report_.note(definitions_[entry.index], "right, but not supported by the inproc runtime yet: " + why);
}

int Check::go() {
  auto definitions = collect_definitions(options_.definitions, options_.files);
  if (!definitions) {
    report_.error(definitions.error());
    return kUsage;
  }
  definitions_ = std::move(*definitions);
  if (definitions_.empty()) {
    report_.error("nothing to check; give -e DEF, a FILE, or - for standard input");
    return kUsage;
  }
  auto filters = collect_filters(options_.filters);
  if (!filters) {
    report_.error(filters.error());
    return kUsage;
  }
  filters_ = std::move(*filters);

  engine::Draft draft({});
  std::vector<engine::Problem> problems;
  draft.check(texts_of(definitions_), filters_.filters, target::UncheckedTargetEnv(), pipeline::Forms::All, problems);
  sort_problems(std::move(problems));
  if (!mistakes_.empty()) {
    report_.problems(mistakes_, definitions_, filters_.sources);
    return kNotCompiled;
  }
  for (engine::Draft::Entry& entry : draft.entries()) show(entry);
  if (std::ranges::any_of(draft.entries(), [](const auto& e) { return lower::lowerable(e.event.definition); }))
    report_.status("functions, files and data symbols were not looked up; `kevtrace explain -e DEF -- PROGRAM` does");
  return not_judged_ ? kMissing : kOk;
}

}  // namespace

int check(const CheckOptions& options, const GlobalOptions& global) { return Check(options, global).go(); }

}  // namespace kevt::cli
