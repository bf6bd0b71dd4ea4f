// The keys of a histogram's entry as readers see them: numbers, texts, names of addresses and threads.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/model/histogram.h"
#include "compiler/target/target_env.h"
#include "runtime-user/engine/histograms/hist_table.h"

namespace kevt::engine {

struct HistCell {
  std::uint64_t number = 0;              // of a key that is no text and no stack: as it is counted
  std::string text;                      // the key's text; of a number the name that its modifier asks for
  std::vector<std::string> frames;       // of a stack, innermost first
  std::vector<std::uint64_t> addresses;  // of these
  friend auto operator<=>(const HistCell&, const HistCell&) = default;
};

// One cell for each key, in the order of keys. `envs`: the targets' environments; the first that knows an address names
// it.
std::vector<HistCell> hist_cells(const model::Histogram& histogram, const HistEntry& entry,
                                 std::span<const target::TargetEnv* const> envs);

}  // namespace kevt::engine
