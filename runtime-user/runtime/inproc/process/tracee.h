// Tracee: a process held by ptrace. Everything that happens to a target while it stands still:
// reading and writing its memory, system calls on its behalf, letting it run to a place.
//
// ptrace belongs to the thread that attached: use a Tracee from one thread only. Destroying it lets the
// process go.
#pragma once

#include <signal.h>
#include <sys/types.h>
#include <sys/user.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/addresses.h"
#include "common/error.h"
#include "common/unique_fd.h"

namespace kevt::inproc {

class Tracee {
 public:
  // Starts `argv` (searched in PATH) and holds it right after exec, before its first instruction.
  // Error::errno_value is exec's when that failed.
  static Result<Tracee> spawn(const std::vector<std::string>& argv);
  // Seizes a running process, which stands still when this returns. The error says in words what is in the way.
  static Result<Tracee> attach(pid_t pid);
  // Takes over a process that this thread traces and that has stopped right after exec.
  static Result<Tracee> adopt(pid_t pid);
  Tracee(Tracee&&) noexcept;
  Tracee& operator=(Tracee&&) = delete;
  ~Tracee();

  pid_t pid() const { return pid_; }

  // Stops every thread; fails when the process is gone. No-op while stopped. A thread that was in a blocking system
  // call starts it again when it is let go, and the program sees nothing of it.
  Result<void> stop();
  // `work` is called again and again while stop() waits for threads, to serve what those threads may be waiting for.
  void set_while_stopping(std::function<void()> work) { while_stopping_ = std::move(work); }
  // Lets every thread go on, untraced.
  void release();
  bool is_stopped() const { return !threads_.empty(); }
  // wait(2) status once the process has ended; 0 where it is not our child and its status is unknown. Never blocks.
  std::optional<int> poll_exit();
  // From now on the process counts as ended here: another Tracee has it.
  void give_up() { exit_status_ = 0; }

  Result<void> read(RemoteAddr at, std::span<std::uint8_t> out) const;
  // The same, and false where not all of it is mapped: a read also fails where the kernel is short of memory.
  Result<bool> read_if_mapped(RemoteAddr at, std::span<std::uint8_t> out) const;
  // Reads up to where readable memory ends; returns how many bytes. Fails where it reads nothing of what is mapped.
  Result<std::size_t> read_some(RemoteAddr at, std::span<std::uint8_t> out) const;
  Result<void> write(RemoteAddr at, std::span<const std::uint8_t> bytes) const;

  // The following need a stopped process.
  Result<std::int64_t> syscall(std::int64_t number, std::array<std::uint64_t, 6> arguments);
  // The same by a thread of choice.
  Result<std::int64_t> syscall_of(pid_t tid, std::int64_t number, std::array<std::uint64_t, 6> arguments);
  // Calls function(words, count) on a copy of `words` in the target, and reads the copy back into `words`.
  Result<void> call(RemoteAddr function, std::span<std::uint64_t> words);
  // The thread's signal mask during call(): all signals that can be blocked, except SIGTRAP, SIGBUS and SIGSEGV.
  static constexpr std::uint64_t kMaskOfCalls = ~(1ull << (SIGTRAP - 1) | 1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1) |
                                                  1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1));
  // Executes one instruction of the thread that works for us.
  Result<void> step();
  // Lets the process run (it must have one thread) until it executes `at`.
  Result<void> run_to(RemoteAddr at);
  // Lets it run (one thread) to the next entry or exit of a system call; at an entry rax is -ENOSYS.
  Result<user_regs_struct> run_to_system_call();

  const std::vector<pid_t>& threads() const { return threads_; }
  Result<user_regs_struct> registers(pid_t tid) const;
  Result<void> set_registers(pid_t tid, const user_regs_struct& registers);
  // The signals a thread blocks: bit signo - 1.
  Result<std::uint64_t> signal_mask(pid_t tid) const;
  Result<void> set_signal_mask(pid_t tid, std::uint64_t mask);
  // Whether a thread has a seccomp filter that we do not have.
  bool has_own_filter(pid_t tid) const;
  std::uint64_t pid_in_its_namespace() const;
  bool is_strict(pid_t tid) const;  // SECCOMP_MODE_STRICT
  // Whether such a filter stays in force while we hold the process: then we can make no system call in it.
  bool refuses_calls() const { return refuses_calls_; }
  // Signals the process ignored when we came; a step resets an ignored SIGTRAP.
  std::uint64_t ignored_at_start() const { return ignored_at_start_; }
  // Where the code is that a thread runs while it works for us; 0: none has worked yet.
  RemoteAddr work_place() const { return work_place_; }
  // Puts the thread that works for us back where it was, with its own signal mask.
  void end_work();

 private:
  Tracee() = default;
  static Error gone();
  // Asks one thread to stop; false: it has ended.
  Result<bool> interrupt_thread(pid_t tid);
  bool seize(pid_t tid);
  bool has_come(pid_t tid);
  bool has_fault_pending(pid_t tid) const;
  Result<void> await_stops(std::vector<pid_t> asked);
  void collect_ended();
  void let_late_ones_go();
  void restart_interrupted_call(pid_t tid) const;
  // While the first thread works for us: what it goes back to.
  struct Work {
    user_regs_struct registers;
    std::uint64_t mask = 0;
  };
  bool is_working(pid_t tid) const { return work_ && tid == threads_.front(); }
  Result<void> begin_work();
  Result<void> write_way_back(const Work& work);
  Result<void> put_on_way_back(user_regs_struct registers);
  // The registers and the mask that the kernel has of a thread, also of the one that works for us.
  Result<user_regs_struct> kernel_registers(pid_t tid) const;
  Result<void> set_kernel_registers(pid_t tid, const user_regs_struct& registers) const;
  Result<std::uint64_t> kernel_mask(pid_t tid) const;
  Result<void> set_kernel_mask(pid_t tid, std::uint64_t mask) const;
  Result<void> resume_until_call(pid_t tid, int wanted);
  Result<void> send_again();
  // Continues one thread by `request` until it stops with SIGTRAP. Other faults are delivered; signals that were sent
  // wait until the thread is let go.
  Result<void> resume_until_trap(pid_t tid, int request);
  Result<int> wait_for(pid_t tid);
  bool note_end(pid_t tid, int status);
  std::optional<int> ended_child() const;  // wait(2) status

  pid_t pid_ = -1;
  std::vector<pid_t> threads_;  // stopped ones; the first is the thread that works for us
  std::optional<int> exit_status_;
  bool refuses_calls_ = false;
  UniqueFd memory_;
  UniqueFd pidfd_;            // of a process that is not our child
  std::vector<pid_t> asked_;  // seized and interrupted, not stopped yet
  std::uint64_t ignored_at_start_ = 0;
  RemoteAddr work_place_;                    // in the target
  std::vector<siginfo_t> deferred_signals_;  // not delivered yet to the thread that works for us
  std::optional<Work> work_;
  std::function<void()> while_stopping_;
};

}  // namespace kevt::inproc
