// kevtrace import: shell files and boot parameters, as an event script on standard output.
//
//   kevtrace import reads.sh > reads.kev
//
// Lines that were left out are reported on standard error: status 4. A wrong definition: status 3.
#include <algorithm>

#include "cli/definitions/fix_files.h"
#include "cli/definitions/script_texts.h"
#include "cli/exit_status.h"
#include "cli/reporter.h"
#include "cli/verbs/commands.h"
#include "common/print.h"
#include "compiler/script/boot.h"
#include "compiler/script/import_shell.h"

namespace kevt::cli {
namespace {

// Line `number` of `text`, 1-based.
std::string line_of(std::string_view text, int number) {
  for (int i = 1; i < number && !text.empty(); ++i) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace

int import_events(const ImportOptions& options, const GlobalOptions& global) {
  const Reporter report(global);
  const auto text = read_whole(options.file);
  if (!text) {
    report.error(text.error());
    return kUsage;
  }
  const bool boot = options.from == ImportOptions::From::Boot;
  script::ImportResult result = boot ? script::import_boot(*text) : script::import_shell(*text);
  print("{}", Lines{result.script});
  const std::string origin = options.file == "-" ? "<stdin>" : options.file;
  int status = kOk;
  std::vector<diag::Located> located;
  for (script::ImportMistake& one : result.mistakes) {
    const bool left_out = one.diagnostic.kind == diag::Kind::ImportNotUnderstood;
    if (status != kNotCompiled) status = left_out ? kMissing : kNotCompiled;
    located.push_back(locate(std::move(one.diagnostic), {line_of(*text, one.line), origin, one.line}));
  }
  if (!located.empty()) show_mistakes(report, std::move(located), 0);
  for (const script::ImportNote& note : result.notes) report.note({"", origin, note.line}, note.text);
  return status;
}

}  // namespace kevt::cli
