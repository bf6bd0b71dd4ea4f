/*
 * adjacent N [again]: calls `steps` N times and prints the sum of what it returned; with a second argument it does
 * so again for each line of standard input.
 */
#include <stdio.h>
#include <stdlib.h>

/* Nine instructions, at 0, 1, 2, 3, 4, 8, 12, 13 and 14. */
__asm__(
    ".globl steps\n .type steps, @function\n steps:\n"
    " nop\n push %rbx\n push %rcx\n nop\n leaq 1(%rdi), %rbx\n leaq 3(%rbx), %rax\n pop %rcx\n pop %rbx\n ret\n"
    ".size steps, 15\n");
extern long steps(long n);

int main(int argc, char** argv) {
  const long count = argc > 1 ? atol(argv[1]) : 1;
  char line[64];
  do {
    long sum = 0;
    for (long n = 0; n < count; n++) sum += steps(n);
    printf("%ld\n", sum);
    fflush(stdout);
  } while (argc > 2 && fgets(line, sizeof line, stdin));
  return 0;
}
