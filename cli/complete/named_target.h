// The target that an unfinished command line names, as far as it can be known without starting anything.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/asked_word.h"
#include "compiler/author/symbol_index.h"
#include "compiler/target/target_env.h"

namespace kevt::cli {

class NamedTarget {
 public:
  explicit NamedTarget(const AskedWord& line);
  // Functions and markers: of the process, of the files that CMD is linked with, of the running kernel.
  const author::SymbolIndex& symbols();
  // For types; nullptr: nothing is known.
  const target::TargetEnv* env();

 private:
  std::vector<pid_t> pids_;
  std::string program_;  // of CMD; empty: none
  bool is_kernel_ = false;
  std::optional<author::SymbolIndex> symbols_;
  std::unique_ptr<target::TargetEnv> env_;
};

}  // namespace kevt::cli
