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

// A kernel command line, or what stands behind `kprobe_event=` alone. trace_event=, trace_buf_size= and trace_clock=
// are read, too; parameters of other things are left out.
ImportResult import_boot(std::string_view text);

// The parameters of a script that has no mistakes, in one line. What the boot form cannot say is a mistake at its line.
std::expected<std::string, std::vector<grammar::ScriptMistake>> write_boot(const model::Script& script);

}  // namespace kevt::script
