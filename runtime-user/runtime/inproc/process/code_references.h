// CodeReferences: which code of ours the threads of a stopped process run, or may return to. As in a conservative
// garbage collector, every word on a stack that looks like an address in the code arena is taken for one.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "common/addresses.h"
#include "common/error.h"
#include "runtime-user/runtime/inproc/process/placement.h"
#include "runtime-user/runtime/inproc/process/signal_handover.h"

namespace kevt::inproc {

class CodeReferences {
 public:
  // `mapper` outlives it.
  static Result<CodeReferences> find(RemoteMapper& mapper, SignalHandover& signals);

  // Whether a thread runs there, or has an address there in a register or on a stack.
  bool has_any_in(const PlacedCode& code) const;
  // Whether a thread has run the breakpoint at `site` and the agent's handler has not looked it up yet.
  bool has_trapped_at(RemoteAddr site) const { return instructions_.contains(site.value + 1); }
  // Whether a call is under way whose return address a return event has taken; `event`: its kevt_event.
  bool has_call_of(RemoteAddr event) const { return calls_.contains(event.value); }

 private:
  explicit CodeReferences(const RemoteMapper& mapper) : mapper_(mapper), tracee_(mapper.tracee()) {}
  Result<void> look_at_thread(pid_t tid, SignalHandover& signals, const std::vector<target::Mapping>& maps);
  Result<void> look_at_note(const ThreadNote& note);
  void add(std::uint64_t word);
  Result<void> add_memory(std::uint64_t from, std::uint64_t to);

  const RemoteMapper& mapper_;
  const Tracee& tracee_;
  std::set<std::uint64_t> words_;         // that lie in the code arena
  std::set<std::uint64_t> instructions_;  // where threads go on
  std::set<std::uint64_t> calls_;         // kevt_event of return instances in use
};

}  // namespace kevt::inproc
