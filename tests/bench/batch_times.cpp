// batch_times CROWD COUNT same|different: COUNT entry probes on the functions of tests/process/programs/crowd.c, armed
// and removed once; prints what each step took, `STEP MS` a line, and what a membarrier of this process takes.
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "tests/process/batch_steps.h"

namespace kevt::tests {
namespace {

// "different": no two programs are equal, so that each is compiled.
std::vector<std::string> definitions(int count, bool are_different) {
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) {
    const std::string n = std::to_string(i);
    const std::string offset = std::to_string(are_different ? 8 * i : 0);
    all.push_back("p:e" + n + " crowd:crowd_" + n + " a=%di b=+" + offset + "(%si):u32 s=+0(%dx):string");
  }
  return all;
}

double membarrier_us() {
  constexpr int kTimes = 1000;
  syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kTimes; ++i) syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / kTimes;
}

int measure(const char* crowd, int count, bool are_different) {
  auto steps = BatchSteps::launch({crowd, "0"}, static_cast<std::uint32_t>(count + 64));
  auto done =
      steps ? (*steps)->define(definitions(count, are_different)) : Result<void>(std::unexpected(steps.error()));
  for (auto step : {&BatchSteps::arm, &BatchSteps::disarm})
    if (done) done = (steps->get()->*step)();
  if (!done) return std::fprintf(stderr, "%s\n", done.error().message().c_str()), 1;
  const BatchTimes t = (*steps)->times();
  (*steps)->run_to_end();
  std::printf("prepare %.2f\ncheck %.2f\ncompile %.2f\ninstall %.2f\narm %.2f\ndisarm %.2f\nmembarrier_us %.2f\n",
              t.prepare_ms, t.check_ms, t.compile_ms, t.install_ms, t.arm_ms, t.disarm_ms, membarrier_us());
  return 0;
}

}  // namespace
}  // namespace kevt::tests

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  return kevt::tests::measure(argv[1], std::atoi(argv[2]), std::string(argv[3]) == "different");
}
