/*
 * The saved register block: what a detour leaves for the extractor, in the order of the kernel's
 * struct pt_regs on x86-64 (arch/x86/include/asm/ptrace.h), so that fetch-arg register offsets are
 * the kernel's own.  Only the registers an event reads are filled in.
 */
#ifndef KEVT_ABI_REGISTERS_H
#define KEVT_ABI_REGISTERS_H

#include <stdint.h>

typedef struct kevt_registers {
  uint64_t r15, r14, r13, r12, bp, bx;
  uint64_t r11, r10, r9, r8, ax, cx, dx, si, di;
  uint64_t orig_ax, ip, cs, flags, sp, ss;
} kevt_registers;

#endif
