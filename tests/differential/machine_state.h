// The whole general state of the processor, set right before a jump and captured right after it.
#pragma once

#include <cstdint>

namespace kevt::test {

// machine_state.S knows the offsets.
struct alignas(16) MachineState {
  std::uint64_t ax = 0, bx = 0, cx = 0, dx = 0, si = 0, di = 0, bp = 0, sp = 0;
  std::uint64_t r8 = 0, r9 = 0, r10 = 0, r11 = 0, r12 = 0, r13 = 0, r14 = 0, r15 = 0;
  std::uint64_t flags = 0;
  std::uint64_t exit = 0;  // captured: 0, 1 or 2, the exit that was taken
  std::uint64_t spare[14] = {};
  std::uint8_t xmm[16][16] = {};
};
static_assert(sizeof(MachineState) == 512);

extern "C" {
// Loads all of `in` and jumps to `entry`, with the stack pointer at in->sp. Comes back when the code jumps or returns
// to an exit, with the state as it was there. One thread only.
void kevt_test_enter(const MachineState* in, MachineState* out, const void* entry);
// Labels, not functions.
void kevt_test_exit_0();
void kevt_test_exit_1();
void kevt_test_exit_2();
// Does nothing: something to call.
void kevt_test_helper();
}

}  // namespace kevt::test
