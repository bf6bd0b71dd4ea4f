// kevtrace fmt: event scripts in canonical layout, or in the kernel's boot form.
//
//   kevtrace fmt a.kev               a.kev is rewritten where that changes it
//   kevtrace fmt --check a.kev       says so, status 1
//   kevtrace fmt --to=boot a.kev     kprobe_event=p:a,vfs_read to standard output
//
// A script with a mistake outside its definitions is not touched. Definitions are not checked here; `check` does that.
#include "cli/definitions/fix_files.h"
#include "cli/definitions/script_texts.h"
#include "cli/exit_status.h"
#include "cli/reporter.h"
#include "cli/verbs/commands.h"
#include "common/print.h"
#include "compiler/script/boot.h"
#include "compiler/script/format.h"
#include "grammar/parse.h"
#include "grammar/parse_script.h"

namespace kevt::cli {
namespace {

class Fmt {
 public:
  Fmt(const FmtOptions& options, const GlobalOptions& global) : options_(options), report_(global) {}

  int go() {
    int status = kOk;
    for (const std::string& name : options_.files) {
      const int one = format(name);
      if (one != kOk && (status == kOk || status == kFailed)) status = one;
    }
    return status;
  }

 private:
  int format(const std::string& name) const;
  int mistakes(const std::vector<grammar::ScriptMistake>& found, const model::Script& script,
               const std::string& origin) const;
  int write(const std::string& name, const std::string& before, const std::string& after) const;

  const FmtOptions& options_;
  Reporter report_;
};

// Lines that the kernel refuses unread cannot be laid out.
void find_unreadable(const std::string& text, std::vector<grammar::ScriptMistake>& found) {
  for (const grammar::Line& line : grammar::split_lines(text)) {
    const bool refused = line.text.contains('\0') || line.text.ends_with('\n') || line.text.size() > 4094;
    if (!refused) continue;
    diag::Sink sink;
    grammar::parse_line(line.text, grammar::EventsFile::Dynamic, sink);
    for (diag::Diagnostic& mistake : sink.take()) found.push_back({line.number, std::move(mistake)});
  }
}

int Fmt::mistakes(const std::vector<grammar::ScriptMistake>& found, const model::Script& script,
                  const std::string& origin) const {
  std::vector<diag::Located> located;
  for (const grammar::ScriptMistake& one : found) {
    const std::string& line = script.lines[static_cast<std::size_t>(one.line) - 1].text;
    located.push_back(locate(one.diagnostic, {line, origin, one.line}));
  }
  show_mistakes(report_, std::move(located), 0);
  return kNotCompiled;
}

int Fmt::write(const std::string& name, const std::string& before, const std::string& after) const {
  if (options_.check) {
    if (before == after) return kOk;
    report_.status(name + ": would change");
    return kFailed;
  }
  if (name == "-") {
    print("{}", Lines{after});
    return kOk;
  }
  if (before == after) return kOk;
  if (auto written = replace_file(name, after); !written) {
    report_.error(written.error());
    return kFailed;
  }
  report_.status(name + ": laid out");
  return kOk;
}

int Fmt::format(const std::string& name) const {
  const auto text = read_whole(name);
  if (!text) {
    report_.error(text.error());
    return kUsage;
  }
  const std::string origin = name == "-" ? "<stdin>" : name;
  std::vector<grammar::ScriptMistake> found;
  const model::Script script = grammar::parse_script(*text, found);
  find_unreadable(*text, found);
  if (!found.empty()) return mistakes(found, script, origin);
  if (options_.to == FmtOptions::To::Script) return write(name, *text, script::format_script(script));
  const auto boot = script::write_boot(script);
  if (!boot) return mistakes(boot.error(), script, origin);
  print("{}\n", Lines{*boot});
  return kOk;
}

}  // namespace

int format_scripts(const FmtOptions& options, const GlobalOptions& global) { return Fmt(options, global).go(); }

}  // namespace kevt::cli
