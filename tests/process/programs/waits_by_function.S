/*
 * sigtimedwait(), which libc's own calls of it do not reach, in the form of glibc 2.41: it pushes the call's number for
 * a function that makes all calls a thread can be cancelled in.
 */
  .text
  .globl sigtimedwait
  .type sigtimedwait, @function
sigtimedwait:
  .cfi_startproc
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  movl $8, %ecx  /* bytes of the set */
  pushq $128     /* rt_sigtimedwait */
  .cfi_adjust_cfa_offset 8
  call make_call
  addq $16, %rsp
  .cfi_adjust_cfa_offset -16
  ret
  .cfi_endproc
  .size sigtimedwait, . - sigtimedwait

  .type make_call, @function
make_call:
  .cfi_startproc
  movq %rcx, %r10
  movq 8(%rsp), %rax
  syscall
  cmpq $-4095, %rax
  jae 1f
  ret
1:
  negl %eax
  pushq %rax
  .cfi_adjust_cfa_offset 8
  call __errno_location@PLT
  popq %rcx
  .cfi_adjust_cfa_offset -8
  movl %ecx, (%rax)
  movq $-1, %rax
  ret
  .cfi_endproc
  .size make_call, . - make_call

  .section .note.GNU-stack, "", @progbits
