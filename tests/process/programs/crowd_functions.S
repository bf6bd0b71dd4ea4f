/*
 * 10,000 functions: crowd_N(x) is x + N, in the order of their numbers also in crowd_table.
 */
.equ COUNT, 10000
.altmacro

.macro function n
  .globl crowd_\n
  .type crowd_\n, @function
crowd_\n:
  .cfi_startproc
  movq %rdi, %rax
  addq $\n, %rax
  ret
  .cfi_endproc
  .size crowd_\n, . - crowd_\n
.endm

.macro entry n
  .quad crowd_\n
.endm

.text
.set n, 0
.rept COUNT
  function %n
  .set n, n + 1
.endr

.section .data.rel.ro, "aw"
.globl crowd_table
.balign 8
crowd_table:
.set n, 0
.rept COUNT
  entry %n
  .set n, n + 1
.endr
.globl crowd_count
crowd_count: .quad COUNT

.section .note.GNU-stack, "", @progbits
