// A marker as a place is short for uprobes at all of the marker's places, in the kernel's own language:
//
//   p:ev python3.11:python:gc__start gen=$arg1
//   ─►  p:ev /usr/bin/python3.11:0x2b8f3(0x5a0c02) gen=%bx:s32
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/model/histogram.h"
#include "compiler/target/target_env.h"

namespace kevt::pipeline {

// FILE:PROVIDER:NAME.
struct UsdtName {
  std::string_view file, provider, name;
};
std::optional<UsdtName> usdt_name(std::string_view place);
// Of a definition's place.
std::optional<UsdtName> usdt_in(std::string_view line);

// The name of a marker's event where none is written; nullopt: one is, or it is no marker.
std::optional<model::EventName> nameless_usdt(std::string_view line);

// One line for each place. nullopt: `line` names no marker of this target, and is what it is. What is wrong with the
// definition of a marker is one mistake.
std::expected<std::optional<std::vector<std::string>>, diag::Diagnostic> expand_usdt(std::string_view line,
                                                                                     const target::TargetEnv& env);

}  // namespace kevt::pipeline
