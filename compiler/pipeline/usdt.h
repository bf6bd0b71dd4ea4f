// A definition whose place is a marker stands for uprobes at all places of the marker, in the kernel's own language:
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

// The parts of FILE:PROVIDER:NAME.
struct UsdtName {
  std::string_view file, provider, name;
};
std::optional<UsdtName> usdt_name(std::string_view place);
// The marker that is the place of the definition `line`; nullopt: the place is no marker.
std::optional<UsdtName> usdt_in(std::string_view line);

// The default event name of a definition with a marker; nullopt: a name is written, or the place is no marker.
std::optional<model::EventName> nameless_usdt(std::string_view line);

// One line for each place of the marker. nullopt: `line` names no marker, or the target cannot tell, and the line stays
// as it is. An error: a mistake in the definition, or a marker that the target does not have.
std::expected<std::optional<std::vector<std::string>>, diag::Diagnostic> expand_usdt(std::string_view line,
                                                                                     const target::TargetEnv& env);

}  // namespace kevt::pipeline
