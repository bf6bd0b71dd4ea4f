// ExecFollower: threads of a session that are about to exec are held on to, and handed out as the programs they have
// become, before those have run an instruction.
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

  // From now on threads ask. Only what execve() of the C library starts is seen.
  void begin();
  // Takes up what is asked now. Never waits for a thread; programs are held until their Tracee is destroyed.
  std::vector<Tracee> look();
  // While the session's own process is being stopped: takes up what others ask, for the next look(). A thread of it may
  // be in vfork(), and does not stop before its child has its answer.
  void answer_others() { answer(Whose::Others); }
  // Whether a thread that asked is between its ask and the program that it becomes.
  bool is_awaiting() const { return !awaited_.empty() || !became_.empty(); }
  // Programs that could not be held (no descriptor was left) and run untraced.
  std::size_t let_pass() const { return let_pass_; }
  // Nobody asks any more, everybody goes on.
  void end();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint32_t kNoAsk = KEVT_EXEC_ASKS;
  struct Awaited {
    pid_t tid = 0;           // who asked
    pid_t process = 0;       // whose thread it is, and which it is the first thread of after exec
    std::uint32_t ask = 0;   // or kNoAsk, when it is somebody else's by now
    bool is_let_go = false;  // as soon as it stops
  };
  enum class Step : std::uint8_t { Waits, Done, Became };
  enum class Asker : std::uint8_t { Real, Forged, Unclear };
  // An ask as it was found, and since when it has been so.
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

  SessionMemory& memory_;
  pid_t own_;
  std::array<Found, KEVT_EXEC_ASKS> found_;
  std::vector<Awaited> awaited_;
  std::vector<Tracee> became_;  // not handed out yet
  std::size_t let_pass_ = 0;
  bool begun_ = false;
};

}  // namespace kevt::inproc
