// Code that compiled scripts bring.
#pragma once

#include <optional>
#include <vector>

#include "compiler/pipeline/code_store.h"
#include "compiler/script/compiled_script.h"

namespace kevt::session {

// The code of all scripts in one store; nullopt: there are no compiled scripts.
std::optional<pipeline::CodeStore> stored_code(const std::vector<script::CompiledScript>& scripts);

}  // namespace kevt::session
