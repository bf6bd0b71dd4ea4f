// A handler may do no more than note that it ran.
#include "cli/interrupts.h"

#include <signal.h>

#include <atomic>

namespace kevt::cli {
namespace {

std::atomic<bool> interrupted = false;

void on_interrupt(int) { interrupted = true; }

}  // namespace

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

bool is_interrupted() { return interrupted; }

}  // namespace kevt::cli
