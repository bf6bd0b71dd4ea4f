// The problem: scripts, shell files and boot parameters come from anywhere.
//
// The idea: any bytes are read as each of the three. A mistake has an errno, a line that is there and a column within
// it. A script without mistakes can be laid out; that says the same, and laying it out again changes nothing. What is
// imported is a script without mistakes of its own.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "compiler/script/boot.h"
#include "compiler/script/format.h"
#include "compiler/script/import_shell.h"
#include "grammar/parse_script.h"
#include "tests/fuzz/fuzz_entry.h"

namespace {

using kevt::grammar::ScriptMistake;
using kevt::model::Script;

void require(bool promise) {
  if (!promise) std::abort();
}

// Lines longer than the kernel takes, and NUL bytes, are refused by the definition parser, not laid out.
bool is_readable(std::string_view text) { return !text.contains('\0') && text.size() < 4000; }

void check_script(std::string_view text) {
  std::vector<ScriptMistake> mistakes;
  const Script script = kevt::grammar::parse_script(text, mistakes);
  for (const ScriptMistake& one : mistakes) {
    require(one.line >= 1 && static_cast<std::size_t>(one.line) <= script.lines.size());
    require(one.diagnostic.errno_value > 0 && one.diagnostic.column.value() <= one.diagnostic.command.size());
  }
  if (!mistakes.empty() || !is_readable(text)) return;
  const std::string once = kevt::script::format_script(script);
  const Script again = kevt::grammar::parse_script(once, mistakes);
  require(mistakes.empty() && again.events.size() == script.events.size());
  require(kevt::script::format_script(again) == once);
  const auto boot = kevt::script::write_boot(script);
  require(boot.has_value() || !boot.error().empty());
}

void check_import(const kevt::script::ImportResult& result) {
  for (const auto& one : result.mistakes) require(one.line >= 1 && one.diagnostic.errno_value > 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_script(text);
  check_import(kevt::script::import_shell(text));
  check_import(kevt::script::import_boot(text));
  return 0;
}

std::vector<std::string> kevt::fuzz::seeds() {
  return {"target program ls '-l' \"a b\"\noption count 5 # c\np:g/a f x=%di:u8 # c\n  filter x > 3 && s ~ \"#*\"\n",
          "target kernel\noption buffer 8M\noption duration 5ms\nevent sched/sched_switch\n  trigger traceoff:1 if a "
          "== 1\n",
          "target pid 1,2\np:a f\n\n\n# c\n  enable 0\nr10:b f\n",
          "T=/t\necho 'p:a f %di' > $T/kprobe_events\necho 'x > 3' > $T/events/kprobes/a/filter\necho 1 > enable\n",
          "cat <<'E' >> dynamic_events\np:a f\ne:b sched.c x=$y\nE\nsleep 1; echo -:a >> kprobe_events\n",
          "sudo sh -c \"echo 'p:a f' >> kprobe_events\" && echo '!hist:keys=x' | tee -a events/g/e/trigger\n",
          "for i in $(ls); do\nif x; then echo \"$i\" >> ${T:-/x}/kprobe_events; fi\ndone\nf() { :; }\n",
          "kprobe_event=p:a,f,$arg1;r:b,f trace_buf_size=8M trace_event=a:b,c:d \"x y\"\n"};
}
