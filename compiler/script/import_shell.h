// Shell files that set up events with echo, turned into event scripts. Text only: nothing is executed.
#pragma once

#include <string_view>

#include "compiler/script/imported.h"

namespace kevt::script {

ImportResult import_shell(std::string_view text);

}  // namespace kevt::script
