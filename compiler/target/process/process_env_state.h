// What a ProcessEnv knows. Private to process_env.cpp and process_sources.cpp.
#pragma once

#include <fmt/format.h>

#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/target/process/process_env.h"
#include "compiler/target/process/process_modules.h"
#include "compiler/target/types/debug_types.h"
#include "compiler/target/types/source_places.h"

namespace kevt::target {

struct Found {
  Loaded* loaded;
  ElfSymbol symbol;
  RemoteAddr address() const { return {symbol.address.value + loaded->module.bias}; }
};

struct ProcessEnv::State {
  pid_t pid = 0;  // 0: files
  ProcessEnvOptions options;
  std::vector<Mapping> maps;
  std::vector<Loaded> objects;
  std::map<const Loaded*, DebugTypes> debug;
  std::map<const Loaded*, SourcePlaces> lines;
  std::string why_no_jit;                    // why there is no module `jit` though there is a perf map; or empty
  std::optional<FileVersion> jit_version;    // of the perf map that the module `jit` is made from
  std::map<RemoteAddr, RemoteAddr> choices;  // resolver of an indirect function → the address it chose

  // The path of the file here that the target calls `path`.
  std::string path_of(std::string_view path) const {
    return (pid ? fmt::format("/proc/{}/root", pid) : std::string()) + std::string(path);
  }
  // Of variables of a library that the program has a copy of (copy relocations): the library uses the copy, too.
  void refuse_copied(LinePlaces& line);
  std::vector<Loaded*> matching(std::string_view module);
  void add_jit(std::vector<Loaded> known);
  Loaded* covering(RemoteAddr address);
  std::expected<Symbol, LookupError> finish_function(const Found& found, std::string_view name);
  std::optional<RemoteAddr> choice_of(RemoteAddr resolver);
  std::expected<Symbol, LookupError> place_of(const Loaded& loaded, const ThreadLocalVariable& variable) const;
};

inline std::unexpected<LookupError> failure(LookupFailure why, std::vector<std::string> candidates = {},
                                            std::string reason = {}) {
  return std::unexpected(LookupError{why, std::move(candidates), std::move(reason)});
}

}  // namespace kevt::target
