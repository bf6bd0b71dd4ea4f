// NativeBatch: random programs compiled into one image, installed in a LocalSession, and what each of their hits must
// leave behind, by the interpreter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/error.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/program.h"
#include "tests/support/local_session.h"
#include "tests/support/random_machine.h"
#include "tests/support/random_program.h"

namespace kevt::test {

// A machine whose symbol texts are the addresses themselves, as native records hold them.
class NativeMachine final : public ArenaMachine {
 public:
  explicit NativeMachine(const ArenaMachine& machine) : ArenaMachine(machine) {}
  // The low 7 bytes of `address`; its 8th stands where the text's NUL is put, see expected_hit().
  std::string symbol_text(std::uint64_t address) const override;
  const std::vector<std::uint64_t>& asked() const { return asked_; }
  void forget_asked() const { asked_.clear(); }

 private:
  mutable std::vector<std::uint64_t> asked_;  // symbol texts, in order
};

struct NativeEvent {
  ir::Program program;
  LocalEvent local;
};

// Small sessions: everything is mapped anew for each batch.
inproc::SessionOptions batch_session_options();

// A program that native code does not refuse.
ir::Program random_native_program(Random& random, const RandomOptions& options);

// Compiles `programs` into one image and adds an event for each.
Result<std::vector<NativeEvent>> install_batch(LocalSession& session, std::vector<ir::Program> programs);
// The same for programs of one shape: one compilation, and an image for each.
Result<std::vector<NativeEvent>> install_family(LocalSession& session, std::vector<ir::Program> programs);
// `count` programs of the shape of `program`, itself among them: with other constants, most of them near its own.
std::vector<ir::Program> random_family(Random& random, const ir::Program& program, std::size_t count);

// Puts the machine's event id, probe address and slots into the event's block, its words into the session's; nothing
// was counted in hit tables.
void load_event(LocalSession& session, const NativeEvent& event, const ir::Machine& machine);
// The hitting thread's own tid, cpu and name become the machine's, or the machine's its own.
void become(ir::Machine& machine);
// Keeps this thread on the CPU it runs on, so that `$cpu` is known.
void stay_on_this_cpu();

// What a hit must do: gates that are shut filter, and nothing acts.
ir::RunResult expected_hit(const ir::Program& program, const NativeMachine& machine, std::uint32_t gates);

// Counters of all sinks, to subtract later.
std::vector<kevt_counts> counts_of(const LocalSession& session, const NativeEvent& event);
// Empty, or what differs: the counters since `before`, the records drained (all are this event's), the words.
std::string compare_hit(LocalSession& session, const NativeEvent& event, const std::vector<kevt_counts>& before,
                        const ir::RunResult& expected, const std::vector<std::vector<std::uint8_t>>& records);
// What one aggregate of an event has counted, since its table was cleared.
std::vector<std::pair<ir::Counted, std::uint64_t>> counted_by(LocalSession& session, const NativeEvent& event,
                                                              std::size_t aggregate);
std::vector<std::vector<std::uint8_t>> drain_all(LocalSession& session);

}  // namespace kevt::test
