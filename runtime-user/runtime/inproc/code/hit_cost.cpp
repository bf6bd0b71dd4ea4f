// Beside the time stamp and the locked instruction, a hit's time is nearly proportional to its instructions
// (docs/performance.md), so three numbers of the machine and a count of instructions predict it.
//
//   entry event    jmp │ detour, extractor │ jmp back
//   return event   jmp │ detour's entry half │ call next │ jmp back     …     extractor │ ret
#include "runtime-user/runtime/inproc/code/hit_cost.h"

#include <signal.h>
#include <time.h>

#include <algorithm>
#include <vector>

#include "runtime-user/runtime/inproc/code/detour.h"
#include "runtime-user/runtime/inproc/x86/decode.h"

namespace kevt::inproc {

namespace {

// The common case: conditional jumps are not taken; a call of a place in the detour is gone into, and what stands
// behind it counts, too.
std::uint32_t common_instructions(std::span<const std::uint8_t> code) {
  std::uint32_t count = 0;
  std::vector<std::size_t> behind_calls;
  for (std::size_t at = 0; at < code.size();) {
    const auto in = x86::decode(code.subspan(at));
    if (!in) break;
    ++count;
    const std::size_t next = at + in->length;
    const std::size_t target = in->branch ? at + static_cast<std::size_t>(*in->branch) : code.size();
    if (in->flow == x86::Flow::Call && target < code.size()) {
      behind_calls.push_back(next);
      at = target;
    } else if (in->flow == x86::Flow::Jump || in->flow == x86::Flow::Return) {
      if (behind_calls.empty()) break;
      at = behind_calls.back();
      behind_calls.pop_back();
    } else {
      at = next;
    }
  }
  return count;
}

std::uint32_t detour_instructions(const model::CompiledEvent& event) {
  constexpr RemoteAddr kSite{0x10000000}, kDetour{0x20000000}, kCode{0x20010000};  // anywhere near each other
  DetourSpec spec{.site = kSite};
  const bool is_entry = event.place_address == event.function_address;
  spec.flags = is_entry ? FlagsAtSite::Dead : FlagsAtSite::Kept;
  (event.definition.probe_kind == model::ProbeKind::Return ? spec.returns : spec.entries)
      .push_back({kCode, kCode, event.register_reads});
  const auto detour = build_detour(spec, kDetour);
  return detour ? common_instructions(detour->code) : 0;
}

double now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

// The best of several rounds, per turn: what disturbs only adds.
template <class Body>
double best_per_turn(int turns, Body body) {
  constexpr int kRounds = 25;
  double best = 1e18;
  for (int round = 0; round < kRounds; ++round) {
    const double begin = now_ns();
    for (int i = 0; i < turns; ++i) body();
    best = std::min(best, (now_ns() - begin) / turns);
  }
  return best;
}

constexpr int kMixInstructions = 40;
void run_mix(std::uint64_t* memory) {
  asm volatile(
      ".rept 4\n"
      "push %%rax\n push %%rcx\n"
      "mov (%0), %%rax\n lea 64(%%rax), %%rcx\n mov %%rcx, 8(%0)\n"
      "cmp $0, %%rcx\n mov %%rax, 16(%0)\n incq 24(%0)\n"
      "pop %%rcx\n pop %%rax\n"
      ".endr\n"
      :
      : "r"(memory)
      : "rax", "rcx", "memory", "cc");
}

void run_record(std::uint64_t* memory) {
  std::uint64_t head = *memory;
  asm volatile("lock cmpxchgq %2, %1\n rdtsc" : "+a"(head), "+m"(*memory) : "r"(head + 8) : "rdx", "memory", "cc");
}

double measure_breakpoint() {
  struct sigaction ours {
  }, before{};
  ours.sa_handler = +[](int) {};
  if (sigaction(SIGTRAP, &ours, &before) != 0) return 0;
  const double ns = best_per_turn(20, [] { asm volatile("int3" ::: "memory"); });
  sigaction(SIGTRAP, &before, nullptr);
  return ns;
}

}  // namespace

x86::PathLengths hit_instructions(const model::CompiledEvent& event, std::span<const std::uint8_t> extractor,
                                  std::uint32_t turns) {
  x86::PathLengths lengths = x86::path_lengths(extractor, turns);
  const std::uint32_t around = detour_instructions(event) + 1;  // the jump there
  for (auto* range : {&lengths.recorded, &lengths.rejected}) {
    if (!*range) continue;
    (*range)->least += around;
    (*range)->most += around;
  }
  return lengths;
}

MachineCosts measure_machine() {
  alignas(64) std::uint64_t memory[8] = {};
  constexpr int kTurns = 2000;
  MachineCosts costs;
  costs.instruction = best_per_turn(kTurns, [&] { run_mix(memory); }) / kMixInstructions;
  costs.record = best_per_turn(kTurns, [&] { run_record(memory); });
  costs.breakpoint = measure_breakpoint();
  return costs;
}

}  // namespace kevt::inproc
