// Types of a program's functions, from its debug information (DWARF).
//
// Looked for in the file itself, then by build id under /usr/lib/debug, then, where DEBUGINFOD_URLS is set, through
// libdebuginfod. Read for the functions that are asked about, not as a whole. Not thread safe.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "common/addresses.h"
#include "compiler/target/target_env.h"

namespace kevt::target {

class DebugTypes {
 public:
  struct State;  // private to debug_types.cpp

  // Never fails: a file without debug information answers so to every question.
  explicit DebugTypes(const std::string& path);
  DebugTypes(DebugTypes&&) noexcept;
  DebugTypes& operator=(DebugTypes&&) noexcept;
  ~DebugTypes();

  // The function that begins at `address`. Views of the table are good until the next call.
  std::expected<FunctionTypes, TypesError> function_at(ImageAddr address, std::string_view name);

 private:
  std::unique_ptr<State> state_;
};

}  // namespace kevt::target
