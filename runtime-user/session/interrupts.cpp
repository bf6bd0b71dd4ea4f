// A handler may do no more than note that it ran.
#include "runtime-user/session/interrupts.h"

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdio>

#include "common/print.h"

namespace kevt::session {
namespace {

std::atomic<int> interrupted = 0;  // by this signal, the first one

std::atomic<int> watched_pipe = -1;

void on_interrupt(int signal) {
  int none = 0;
  interrupted.compare_exchange_strong(none, signal);
}

bool is_pipe(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
}

// A pipe that nobody reads any more says so to who holds it for writing.
bool has_lost_its_reader(int pipe) {
  pollfd end = {.fd = pipe, .events = 0, .revents = 0};
  return pipe >= 0 && poll(&end, 1, 0) > 0 && (end.revents & POLLERR) != 0;
}

}  // namespace

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
  if (messages() != stderr && is_pipe(fileno(messages()))) watched_pipe = fileno(messages());
}

bool is_interrupted() {
  if (interrupted == 0 && has_lost_its_reader(watched_pipe)) on_interrupt(SIGHUP);
  return interrupted != 0;
}

void forget_interrupt() { interrupted = 0; }

bool is_told_to_leave() { return interrupted == SIGTERM || interrupted == SIGHUP; }

}  // namespace kevt::session
