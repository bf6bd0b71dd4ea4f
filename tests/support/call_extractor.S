/* void kevt_test_call_extractor(const kevt_registers*, code, return address): what a detour does, without one. The frame
   is a copy of the registers; those that extractors take in place are loaded. */
  .text
  .globl kevt_test_call_extractor
  .type kevt_test_call_extractor, @function
kevt_test_call_extractor:
  push %rbx
  push %rbp
  push %r12
  push %r13
  push %r14
  push %r15
  sub $344, %rsp
  mov %rdx, 320(%rsp)           /* KEVT_FRAME_BYTES above: the return slot */
  mov %rsi, %r11
  mov %rdi, %rsi
  mov %rsp, %rdi
  mov $21, %ecx                 /* words of kevt_registers */
  rep movsq
  mov 64(%rsp), %r9
  mov 72(%rsp), %r8
  mov 80(%rsp), %rax
  mov 88(%rsp), %rcx
  mov 96(%rsp), %rdx
  mov 104(%rsp), %rsi
  mov 112(%rsp), %rdi
  call *%r11
  add $344, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbp
  pop %rbx
  ret
  .section .note.GNU-stack, "", @progbits
