// A handler may do no more than note that it ran.
#include "runtime-user/session/interrupts.h"

#include <signal.h>

#include <atomic>

namespace kevt::session {
namespace {

std::atomic<int> interrupted = 0;  // by this signal, the first one

void on_interrupt(int signal) {
  int none = 0;
  interrupted.compare_exchange_strong(none, signal);
}

}  // namespace

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

bool is_interrupted() { return interrupted != 0; }

bool is_told_to_leave() { return interrupted == SIGTERM || interrupted == SIGHUP; }

}  // namespace kevt::session
