// Helpers for compiling native and BPF code: modules of a few programs, on all CPUs.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

#include "common/error.h"
#include "compiler/pipeline/code_store.h"

namespace kevt::pipeline {

inline constexpr std::size_t kTogether = 16;  // programs in one module

// Calls `work(i)` for each i in [0, count), on as many threads as there are CPUs. Returns when all calls have returned.
template <class Work>
void in_parallel(std::size_t count, Work work) {
  std::atomic<std::size_t> next = 0;
  const auto take = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::jthread> helpers;
  const std::size_t cpus = std::max(1u, std::thread::hardware_concurrency());
  for (std::size_t i = 1; i < std::min(cpus, count); ++i) helpers.emplace_back(take);
  take();
}

// Adds to `error` why LLVM was needed at all, if a compiled script brought code.
inline std::unexpected<Error> failed(Error error, const CodeStore* made) {
  if (made == nullptr) return std::unexpected(std::move(error));
  return std::unexpected(std::move(error).while_doing("compiling what the compiled script has no code for"));
}

}  // namespace kevt::pipeline
