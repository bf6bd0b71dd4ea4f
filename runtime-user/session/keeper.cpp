#include "runtime-user/session/keeper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <utility>

#include "common/print.h"
#include "common/unique_fd.h"
#include "runtime-user/session/exit_status.h"
#include "runtime-user/session/supervisor.h"

namespace kevt::session {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kSeldom{100};
constexpr int kShare = 100, kUrgentShare = 10;  // of the time: at most a hundredth, of other code a tenth

// What the user asks for is the tracer's business. Destructors are not run: what they would undo is the tracer's.
// `begun` is closed when the copy has begun.
[[noreturn]] void keep(const Keeper::Work& work, UniqueFd begun) {
  prctl(PR_SET_NAME, "kevtrace-keeper");
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_IGN);
  try {
    work.begin();
    begun.reset();
    if (!wait_for_tracers_end()) _exit(kOk);
    work.take_over();
    while (!are_probes_out()) work.read();
    work.finish();
    std::fflush(nullptr);
  } catch (const std::exception& thrown) {
    print_to(messages(), "kevtrace: error: finishing the trace: {}\n", thrown.what());
    _exit(kOurFailure);
  }
  _exit(kOk);
}

}  // namespace

bool Keeper::is_due(const Version& now) {
  if (!has_supervisor()) return false;
  if (copy_ && waitpid(copy_, nullptr, WNOHANG) == copy_) {  // something has ended it
    copy_ = 0;
    has_failed_ = true;
  }
  const auto age = Clock::now() - made_;
  const bool is_urgent = !has_failed_ && (!copy_ || now.code != version_.code);
  if (is_urgent) return age >= kUrgentShare * cost_;
  return (has_failed_ || now.counts != version_.counts) && age >= std::max<Clock::duration>(kSeldom, kShare * cost_);
}

// There is always one, and for a moment there are two: whoever reads the supervisor's byte is the keeper.
void Keeper::renew(const Version& now) {
  if (!has_supervisor()) return;
  const auto begin = Clock::now();
  version_ = now;
  std::fflush(nullptr);  // else the copy writes it, too
  int begun[2] = {-1, -1};
  const bool can_wait = pipe2(begun, O_CLOEXEC) == 0;
  UniqueFd wait(begun[0]), tell(begun[1]);
  const pid_t copy = can_wait ? fork() : -1;
  if (copy == 0) keep(work_, std::move(tell));
  tell.reset();
  char nothing = 0;
  while (read(wait.get(), &nothing, 1) < 0 && errno == EINTR) {
  }
  end();
  has_failed_ = copy < 0;
  if (copy > 0) copy_ = copy;
  note_keeper(copy_);
  made_ = Clock::now();
  cost_ = made_ - begin;
}

void Keeper::end() {
  if (!copy_) return;
  kill(copy_, SIGKILL);
  while (waitpid(copy_, nullptr, 0) < 0 && errno == EINTR) {
  }
  copy_ = 0;
  note_keeper(0);
}

}  // namespace kevt::session
