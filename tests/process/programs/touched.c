#include "touched.h"

NOT_INLINED long touch(long number, const char* text, const void* where) {
  volatile long tripled = 3 * number;
  (void)text;
  (void)where;
  return tripled + 1;
}

__asm__(
    ".pushsection .text, \"ax\", @progbits\n"
    ".globl touch_short\n"
    ".type touch_short, @function\n"
    "touch_short:\n"
    "  mov %rdi, %rax\n" /* 48 89 f8 */
    "  ret\n"            /* c3 */
    ".size touch_short, . - touch_short\n"
    ".type touch_short_neighbour, @function\n"
    "touch_short_neighbour:\n"
    "  nop\n  nop\n  nop\n  nop\n  nop\n  ret\n"
    ".size touch_short_neighbour, . - touch_short_neighbour\n"
    ".popsection\n");
