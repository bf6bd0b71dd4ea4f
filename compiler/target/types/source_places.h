// Where lines of the source are in a file's code, and where their variables are, by debug information (DWARF).
//
// The debug information is looked for as find_debug_file() does. Not thread safe.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/target/elf/elf_image.h"
#include "compiler/target/line_places.h"
#include "compiler/target/target_env.h"

namespace kevt::target {

class SourcePlaces {
 public:
  struct State;  // private to source_places.cpp

  // Never fails: if the file has no debug information, every question gets an error that says so.
  explicit SourcePlaces(const std::string& path);
  SourcePlaces(SourcePlaces&&) noexcept;
  SourcePlaces& operator=(SourcePlaces&&) noexcept;
  ~SourcePlaces();

  // The answer of TargetEnv::find_line() for this file, which the target calls `path`; `image` is the file's.
  std::expected<LinePlaces, LookupError> find(const ElfImage& image, std::string_view path,
                                              const LineQuestion& question);
  // The answer of TargetEnv::list_lines() for this file.
  std::expected<ListedSource, LookupError> list(const ElfImage& image, const LinesWanted& wanted);

 private:
  std::unique_ptr<State> state_;
};

// The answer to a question at a function's entry that symbols alone can give. nullopt: it takes debug information.
std::optional<std::expected<LinePlaces, LookupError>> entry_by_symbols(const ElfImage& image, std::string_view path,
                                                                       const LineQuestion& question);

// The answer of TargetEnv::find_line() for a file that is opened for this question alone. `path`: where it can be read
// here; the places have the name that the question has.
std::expected<LinePlaces, LookupError> lines_of_file(const std::string& path, const LineQuestion& question);
// Likewise the answer of TargetEnv::list_lines().
std::expected<ListedSource, LookupError> list_lines_of_file(const std::string& path, const LinesWanted& wanted);

}  // namespace kevt::target
