/*
 * kevt_call_hit(gregs, code): a hit in the signal handler (common/abi/probe.h).  The program's registers are loaded from
 * the handler's ucontext (order of sys/ucontext.h: r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, flags) and the
 * code is called; it keeps them all but rax, its answer.
 *
 *   16(%rsp) in the code    the program's stack pointer       24(%rsp)  its flags
 */
  .text
  .globl kevt_call_hit
  .hidden kevt_call_hit
kevt_call_hit:
  push %rbx
  push %rbp
  push %r12
  push %r13
  push %r14
  push %r15
  push 136(%rdi)
  push 120(%rdi)
  push %rsi
  mov (%rdi), %r8
  mov 8(%rdi), %r9
  mov 16(%rdi), %r10
  mov 24(%rdi), %r11
  mov 32(%rdi), %r12
  mov 40(%rdi), %r13
  mov 48(%rdi), %r14
  mov 56(%rdi), %r15
  mov 72(%rdi), %rsi
  mov 80(%rdi), %rbp
  mov 88(%rdi), %rbx
  mov 96(%rdi), %rdx
  mov 104(%rdi), %rax
  mov 112(%rdi), %rcx
  mov 64(%rdi), %rdi
  call *(%rsp)
  lea 24(%rsp), %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbp
  pop %rbx
  ret
  .section .note.GNU-stack, "", @progbits
