// 10,000 probes in one batch, on a program of 10,000 functions (programs/crowd.c): armed by one change of the text, hit
// exactly as often as the functions are called, removed by another. What it cost is printed; the bounds only catch what
// grows with the square of the number.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>

#include "tests/process/batch_steps.h"

namespace kevt::tests {
namespace {

constexpr int kFunctions = 10'000;
constexpr std::uint64_t kRounds = 20, kThreads = 2;
constexpr double kMostMs = 60'000;  // of a slow, busy machine; one that looks at all pairs takes minutes

std::vector<std::string> definitions(const std::string& kind, const std::string& arguments) {
  std::vector<std::string> all;
  for (int i = 0; i < kFunctions; ++i) {
    const std::string number = std::to_string(i);
    all.push_back(kind + ":" + kind + number + " crowd:crowd_" + number + " " + arguments);
  }
  return all;
}

std::unique_ptr<BatchSteps> launch() {
  auto made = BatchSteps::launch({KEVT_CROWD, std::to_string(kRounds), std::to_string(kThreads)}, 2 * kFunctions + 64);
  if (!made) {
    ADD_FAILURE() << made.error().message();
    return nullptr;
  }
  return std::move(*made);
}

void print_times(const char* what, const BatchSteps& steps) {
  const BatchTimes& t = steps.times();
  const double n = static_cast<double>(steps.probes().size());
  std::printf(
      "%s: %.0f probes, %zu images of %lu bytes; prepare %.0f ms, check %.0f, compile %.0f, install %.0f, arm %.0f, "
      "disarm %.0f; per probe: arm %.1f us, disarm %.1f us\n",
      what, n, steps.images(), static_cast<unsigned long>(steps.code_bytes()), t.prepare_ms, t.check_ms, t.compile_ms,
      t.install_ms, t.arm_ms, t.disarm_ms, 1000 * t.arm_ms / n, 1000 * t.disarm_ms / n);
  EXPECT_LT(t.check_ms + t.compile_ms + t.install_ms + t.arm_ms + t.disarm_ms, kMostMs);
}

void expect_every_call(BatchSteps& steps, std::uint64_t calls) {
  std::uint64_t wrong = 0;
  for (runtime::ProbeHandle probe : steps.probes()) {
    const runtime::EventCounts c = steps.runtime().counts(probe);
    wrong += c.attempts != calls || c.missed != 0 || c.attempts != c.recorded + c.filtered + c.lost;
  }
  EXPECT_EQ(wrong, 0u) << "events whose counts are not exactly the calls";
}

void arm_and_run(const std::string& kind, const std::string& arguments) {
  auto steps = launch();
  ASSERT_TRUE(steps);
  auto done = steps->define(definitions(kind, arguments));
  ASSERT_TRUE(done.has_value()) << done.error().message();
  ASSERT_EQ(steps->probes().size(), static_cast<std::size_t>(kFunctions));
  done = steps->arm();
  ASSERT_TRUE(done.has_value()) << done.error().message();
  EXPECT_EQ(steps->runtime().arm_status(steps->probes()[kFunctions / 2]).state, runtime::ArmState::Jump);
  const int status = steps->run_to_end();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  expect_every_call(*steps, kRounds * kThreads);
  print_times(kind == "p" ? "entries" : "returns", *steps);
}

TEST(Crowd, TenThousandEntries) { arm_and_run("p", "x=%di"); }
TEST(Crowd, TenThousandReturns) { arm_and_run("r", "v=$retval"); }

TEST(Crowd, RemovedBeforeTheProgramRuns) {
  auto steps = launch();
  ASSERT_TRUE(steps);
  auto done = steps->define(definitions("p", "x=%di"));
  for (auto step : {&BatchSteps::arm, &BatchSteps::disarm})
    if (done) done = (steps.get()->*step)();
  ASSERT_TRUE(done.has_value()) << done.error().message();
  EXPECT_EQ(steps->runtime().arm_status(steps->probes().front()).state, runtime::ArmState::Off);
  const int status = steps->run_to_end();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  expect_every_call(*steps, 0);
  print_times("armed and removed", *steps);
}

}  // namespace
}  // namespace kevt::tests
