// The kernel's boot form of event definitions: `kprobe_event=p:ev,sym,args;…` (language.md H).
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/model/script.h"
#include "compiler/script/imported.h"
#include "grammar/parse_script.h"

namespace kevt::script {

// `text`: a kernel command line, or only the text behind `kprobe_event=`. trace_event=, trace_buf_size= and
// trace_clock= are read, too; all other parameters are left out.
ImportResult import_boot(std::string_view text);

// The boot parameters for a script without mistakes, in one line. A script's line that the boot form cannot express is
// a mistake.
std::expected<std::string, std::vector<grammar::ScriptMistake>> write_boot(const model::Script& script);

}  // namespace kevt::script
