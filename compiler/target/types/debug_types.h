// Types of a program's functions, from its debug information (DWARF).
//
// The debug information is looked for as find_debug_file() does: in the file itself, under /usr/lib/debug, and through
// libdebuginfod if DEBUGINFOD_URLS is set. Only the types of functions that are asked about are read. Not thread safe.
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

  // Never fails: if the file has no debug information, every question gets an error that says so.
  explicit DebugTypes(const std::string& path);
  DebugTypes(DebugTypes&&) noexcept;
  DebugTypes& operator=(DebugTypes&&) noexcept;
  ~DebugTypes();

  // Types of the function that begins at `address`; `name` is used in the error. Views of the table are valid until the
  // next call.
  std::expected<FunctionTypes, TypesError> function_at(ImageAddr address, std::string_view name);

 private:
  std::unique_ptr<State> state_;
};

}  // namespace kevt::target
