/* kevt_test_enter and its exits: see machine_state.h. Nothing is written below the stack pointer of the tested code, and
   no instruction between an exit and pushfq changes flags. */
  .text
  .globl kevt_test_enter
  .type kevt_test_enter, @function
kevt_test_enter:
  push %rbx
  push %rbp
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, own_sp(%rip)
  mov %rsi, out_state(%rip)
  mov %rdx, entry_address(%rip)
  .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
  movups 256 + 16 * \n(%rdi), %xmm\n
  .endr
  pushq 128(%rdi)
  popfq
  mov 0(%rdi), %rax
  mov 8(%rdi), %rbx
  mov 16(%rdi), %rcx
  mov 24(%rdi), %rdx
  mov 32(%rdi), %rsi
  mov 48(%rdi), %rbp
  mov 56(%rdi), %rsp
  .irp n, 8, 9, 10, 11, 12, 13, 14, 15
  mov 8 * \n(%rdi), %r\n
  .endr
  mov 40(%rdi), %rdi
  jmp *entry_address(%rip)

  .irp n, 0, 1, 2
  .globl kevt_test_exit_\n
kevt_test_exit_\n:
  movq $\n, exit_number(%rip)
  jmp capture
  .endr

capture:
  mov %rax, saved_ax(%rip)
  mov out_state(%rip), %rax
  mov %rbx, 8(%rax)
  mov %rcx, 16(%rax)
  mov %rdx, 24(%rax)
  mov %rsi, 32(%rax)
  mov %rdi, 40(%rax)
  mov %rbp, 48(%rax)
  mov %rsp, 56(%rax)
  .irp n, 8, 9, 10, 11, 12, 13, 14, 15
  mov %r\n, 8 * \n(%rax)
  .endr
  mov own_sp(%rip), %rsp
  pushfq
  popq 128(%rax)
  mov saved_ax(%rip), %rcx
  mov %rcx, 0(%rax)
  mov exit_number(%rip), %rcx
  mov %rcx, 136(%rax)
  .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
  movups %xmm\n, 256 + 16 * \n(%rax)
  .endr
  cld
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbp
  pop %rbx
  ret

  .globl kevt_test_helper
  .type kevt_test_helper, @function
kevt_test_helper:
  ret

  .local own_sp, out_state, entry_address, exit_number, saved_ax
  .comm own_sp, 8, 8
  .comm out_state, 8, 8
  .comm entry_address, 8, 8
  .comm exit_number, 8, 8
  .comm saved_ax, 8, 8
  .section .note.GNU-stack, "", @progbits
