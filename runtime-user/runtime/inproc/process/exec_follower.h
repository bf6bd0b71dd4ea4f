// ExecFollower: attaches to threads of a session that are about to exec, and hands out the programs that they become,
// each held before its first instruction.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <vector>

#include "runtime-user/runtime/inproc/memory/session_memory.h"
#include "runtime-user/runtime/inproc/process/tracee.h"

namespace kevt::inproc {

class ExecFollower {
 public:
  // `own`: the session's process. `memory` must outlive the follower.
  ExecFollower(SessionMemory& memory, pid_t own) : memory_(memory), own_(own) {}
  ~ExecFollower() { end(); }

  // From now on threads ask before they exec. Only programs that the C library's execve() starts are seen.
  void begin();
  // Answers the threads that ask now; returns programs that threads have become. Never waits for a thread. A program is
  // held until its Tracee is destroyed.
  std::vector<Tracee> look();
  // Called while the session's own process is being stopped: answers the other processes; their programs come with the
  // next look(). A thread of the own process may be in vfork(), and does not stop before its child has its answer.
  void answer_others() { answer(Whose::Others); }
  // Whether a thread has asked whose exec has no outcome yet, or a program waits for look().
  bool is_awaiting() const { return !awaited_.empty() || !became_.empty(); }
  // Programs that run untraced since they could not be held: no descriptor was left for them; or the thread that asked
  // had no answer in time, was not seen to wait for one, or has another tracer. Hostile processes of the session may
  // add to the latter.
  struct Untraced {
    std::size_t without_descriptor = 0, without_answer = 0;
    Untraced& operator+=(const Untraced& other) {
      without_descriptor += other.without_descriptor;
      without_answer += other.without_answer;
      return *this;
    }
  };
  Untraced untraced() const;
  // From now on no thread asks, and every thread that waits goes on.
  void end();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint32_t kNoAsk = KEVT_EXEC_ASKS;
  struct Awaited {
    pid_t tid = 0;           // who asked
    pid_t process = 0;       // the thread's process, whose first thread it is after exec
    std::uint32_t ask = 0;   // kNoAsk: the ask is another thread's by now
    bool is_let_go = false;  // is detached as soon as it stops
  };
  enum class Step : std::uint8_t { Waits, Done, Became };
  enum class Asker : std::uint8_t { Real, Forged, Unclear };
  // An ask as it was last seen, and since when it has been unchanged.
  struct Found {
    kevt_exec_ask ask = {};
    Clock::time_point since;
  };

  enum class Whose : std::uint8_t { All, Others };
  void answer(Whose whose);
  void look_at(std::uint32_t ask, Clock::time_point now, Whose whose);
  void take_up(std::uint32_t ask, pid_t tid, Clock::duration age);
  Asker asker_of(std::uint32_t ask, pid_t tid) const;
  void let_go_of(std::uint32_t ask);
  Step advance(const Awaited& awaited) const;
  int kinds_for(pid_t tid) const;
  void set(std::uint32_t ask, std::uint32_t state) const;
  void free(std::uint32_t ask, kevt_exec_ask seen) const;

  SessionMemory& memory_;
  pid_t own_;
  std::array<Found, KEVT_EXEC_ASKS> found_;
  std::vector<Awaited> awaited_;
  std::vector<Tracee> became_;  // not handed out yet
  std::size_t without_descriptor_ = 0, unseen_ = 0;
  bool begun_ = false;
};

}  // namespace kevt::inproc
