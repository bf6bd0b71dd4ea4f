// The code handles the common case by itself: the event is on and has no maxactive, %gs names the thread, there is
// room, and no other probe has the same slot (such probes show another return address). The agent does the rest
// (kevt_service_enter).
//
//   cmpl $0, event.enters_slowly(%rip); jne slow
//   movq %fs:0, %rax; cmpq %gs:0, %rax; jne slow; movq %gs:8, %rax        thread; may fault to slow
//   movq depth(%rax), %rcx; cmpq $255, %rcx; ja slow
//   shlq $5, %rcx; addq %rax, %rcx                                       instance
//   leaq slot, %rdx; cmpq %rdx, newest.slot(%rcx); je slow
//   incq %rdx; movq %rdx, slot(%rcx)    marked as being filled in
//   incq depth(%rax)                    from here on a signal handler that hits takes the next one
//   … event, return address, and the slot last
#include "runtime-user/runtime/inproc/code/return_entry.h"

#include <cstddef>

#include "common/abi/probe.h"

namespace kevt::inproc {

namespace {

constexpr std::size_t kInstance = offsetof(kevt_thread, instances);

}  // namespace

ReturnEntry emit_return_entry(CodeWriter& w, RemoteAddr event) {
  static_assert(sizeof(kevt_return_instance) == 32 && KEVT_RETURN_DEPTH == 256);
  ReturnEntry entry;
  w.relative({0x83, 0x3d}, event + offsetof(kevt_event, enters_slowly), {0});  // cmpl $0, enters_slowly(%rip)
  entry.slow.push_back(w.jump_if_not_zero_forward());
  entry.faulting[0] = w.size();
  w.instruction({0x64, 0x48, 0x8b, 0x04, 0x25}, 0);  // movq %fs:0, %rax
  entry.faulting[1] = w.size();
  w.instruction({0x65, 0x48, 0x3b, 0x04, 0x25}, offsetof(kevt_self, thread_pointer));  // cmpq %gs:0, %rax
  entry.slow.push_back(w.jump_if_not_zero_forward());
  w.instruction({0x65, 0x48, 0x8b, 0x04, 0x25}, offsetof(kevt_self, thread));  // movq %gs:8, %rax
  w.instruction({0x48, 0x8b, 0x88}, offsetof(kevt_thread, depth));             // movq depth(%rax), %rcx
  w.instruction({0x48, 0x81, 0xf9}, KEVT_RETURN_DEPTH - 1);                    // cmpq $255, %rcx
  entry.slow.push_back(w.jump_if_above_forward());
  w.bytes({0x48, 0xc1, 0xe1, 5,                                                 // shlq $5, %rcx
           0x48, 0x01, 0xc1});                                                  // addq %rax, %rcx
  w.lea(kDx, KEVT_FRAME_BYTES);                                                 // the slot
  w.instruction({0x48, 0x39, 0x91}, kInstance - sizeof(kevt_return_instance));  // cmpq %rdx, newest.slot(%rcx)
  entry.slow.push_back(w.jump_if_zero_forward());
  static_assert(KEVT_INSTANCE_FILLING == 1);
  w.bytes({0x48, 0xff, 0xc2});                                                           // incq %rdx
  w.instruction({0x48, 0x89, 0x91}, kInstance + offsetof(kevt_return_instance, slot));   // movq %rdx, …(%rcx)
  w.instruction({0x48, 0xff, 0x80}, offsetof(kevt_thread, depth));                       // incq depth(%rax)
  w.relative({0x48, 0x8d, 0x05}, event);                                                 // leaq event(%rip), %rax
  w.instruction({0x48, 0x89, 0x81}, kInstance + offsetof(kevt_return_instance, event));  // movq %rax, event(%rcx)
  w.load(kAx, KEVT_FRAME_BYTES);
  w.instruction({0x48, 0x89, 0x81}, kInstance + offsetof(kevt_return_instance, return_address));  // movq %rax, …(%rcx)
  w.bytes({0x48, 0xff, 0xca});                                                                    // decq %rdx
  w.instruction({0x48, 0x89, 0x91}, kInstance + offsetof(kevt_return_instance, slot));  // movq %rdx, …(%rcx)
  entry.kept = w.size();
  return entry;
}

std::array<model::FaultEntry, 2> emit_slow_return_entry(CodeWriter& w, const ReturnEntry& entry, RemoteAddr event) {
  std::array<model::FaultEntry, 2> faults;
  for (std::size_t i = 0; i < faults.size(); ++i)
    faults[i] = {static_cast<std::uint32_t>(entry.faulting[i]), static_cast<std::uint32_t>(w.size())};
  for (const std::size_t branch : entry.slow) w.land(branch);
  for (const Word argument : {kDi, kSi, kR8, kR9}) w.store(argument, argument * 8);  // the others are there
  w.relative({0x48, 0x8d, 0x3d}, event);                                             // leaq event(%rip), %rdi
  w.lea(kSi, KEVT_FRAME_BYTES);
  // callq *services.enter(%rip)
  w.relative({0xff, 0x15}, event + (offsetof(kevt_event, services) + offsetof(kevt_services, enter)));
  w.load(kDi, kDi * 8);
  w.load(kSi, kSi * 8);
  w.bytes({0x85, 0xc0});  // testl %eax, %eax
  w.jump_back_if_not_zero(entry.kept);
  return faults;
}

}  // namespace kevt::inproc
