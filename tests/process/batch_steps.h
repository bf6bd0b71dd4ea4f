// A batch of probes in a held program, step by step with the time that each takes.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "compiler/target/process/process_env.h"
#include "runtime-user/runtime/inproc/inproc_runtime.h"

namespace kevt::tests {

struct BatchTimes {
  double prepare_ms = 0;  // from the fork to the held program with our memory in it
  double check_ms = 0;    // definitions against the program
  double compile_ms = 0;
  double install_ms = 0;  // placing code and data
  double arm_ms = 0;
  double disarm_ms = 0;
};

class BatchSteps {
 public:
  // Starts the program and prepares it; an error says what failed.
  static Result<std::unique_ptr<BatchSteps>> launch(const std::vector<std::string>& command, std::uint32_t rows);
  Result<void> define(const std::vector<std::string>& definitions);
  Result<void> arm();
  Result<void> disarm();
  // Lets it run to its end and reads its records away; the wait status.
  int run_to_end();

  inproc::InprocRuntime& runtime() { return *runtime_; }
  const std::vector<runtime::ProbeHandle>& probes() const { return probes_; }
  const BatchTimes& times() const { return times_; }
  std::uint64_t code_bytes() const { return code_bytes_; }  // compiled, before copies are made
  std::size_t images() const { return images_; }

 private:
  BatchSteps() = default;
  std::unique_ptr<inproc::InprocRuntime> runtime_;
  std::unique_ptr<target::ProcessEnv> env_;
  std::vector<runtime::ProbeHandle> probes_;
  BatchTimes times_;
  std::uint64_t code_bytes_ = 0;
  std::size_t images_ = 0;
};

}  // namespace kevt::tests
