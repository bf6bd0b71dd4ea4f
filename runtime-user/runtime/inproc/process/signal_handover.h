// SignalHandover: SIGTRAP, SIGSEGV and SIGBUS go from the program to the agent, and back.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/error.h"
#include "runtime-user/runtime/inproc/process/agent_threads.h"
#include "runtime-user/runtime/inproc/process/remote_mapper.h"
#include "runtime-user/runtime/inproc/process/signal_frames.h"

namespace kevt::inproc {

class SignalHandover {
 public:
  explicit SignalHandover(RemoteMapper& mapper) : tracee_(mapper.tracee()), mapper_(mapper) {}

  // All need the target stopped. The agent takes the three signals: no thread blocks them any more, no handler's mask
  // has them; what the program had is noted where the agent looks it up.
  Result<void> take();
  // For a process in which some or all signals may have been taken before: a forked child, or a dead tracer's target.
  void adopt() { taken_ = true; }
  // Gives handlers and masks back to the program. Signals that the agent kept for threads that block them wait in the
  // kernel then.
  Result<void> give_back(std::uint32_t check_offset);

  // The frames of a thread's handlers that have not returned yet, told by the handlers and maps that look() has found.
  Result<std::vector<SignalFrame>> frames_of(pid_t tid);
  // Asks anew which handlers are installed and what is mapped; before frames_of(), once per stop.
  Result<void> look();
  bool is_taken() const { return taken_; }

 private:
  Result<AlternateStack> ask_alternate_stack(pid_t tid);

  Result<void> take_masks_of_handlers();
  Result<void> take_three();
  Result<void> take_masks_of_threads();
  Result<void> give_three_back();
  Result<void> give_masks_of_handlers_back(bool owned);
  Result<void> give_masks_of_threads_back(std::uint32_t check_offset, bool owned);
  Result<void> give_mask_back(pid_t tid, std::uint64_t blocked);
  Result<void> send_pending(const ThreadNote& note);
  Result<kevt_disposition> disposition(int signal);
  Result<void> set_disposition(int signal, const kevt_disposition& wanted);
  RemoteAddr note_at(int signal) const;  // kevt_private.dispositions[signal]
  RemoteAddr mask_note_at(int signal) const;
  RemoteAddr handler_note_at(int signal) const;

  Tracee& tracee_;
  RemoteMapper& mapper_;
  std::vector<std::uint64_t> restorers_;
  std::vector<target::Mapping> maps_;
  bool taken_ = false;
};

}  // namespace kevt::inproc
