/*
 * counts SEED CALLS KEYS THREADS ROUNDS [PHASES]: calls counted(key, amount, name of the key) from so many threads a
 * round, which end with it, in this process and in a child that it forks each second round; CALLS in each thread.  It
 * begins when a byte comes on stdin, says "ready" at the end, and does all that again in each of PHASES (1).  At
 * another byte it prints for each key that was used: KEY CALLS SUM.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_KEYS = 1 << 20 };
struct tally {
  uint64_t calls, sum;
};

static struct tally* tallies; /* of all processes */
static uint64_t calls, keys;
static char (*names)[40]; /* of the keys: "k17"; of each tenth, longer than 15 letters, "k20-with-a-long-name" */

__attribute__((noipa)) void counted(uint64_t key, uint64_t amount, const char* name) {
  __asm__ volatile("" : : "r"(key), "r"(amount), "r"(name));
}

static void* run(void* argument) {
  uint64_t state = (uint64_t)argument | 1;
  struct tally* own = calloc(keys, sizeof *own);
  if (!own) abort();
  for (uint64_t i = 0; i < calls; i++) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const uint64_t key = (state >> 20) % keys, amount = state & 7;
    counted(key, amount, names[key]);
    own[key].calls++;
    own[key].sum += amount;
  }
  for (uint64_t key = 0; key < keys; key++) {
    __atomic_fetch_add(&tallies[key].calls, own[key].calls, __ATOMIC_RELAXED);
    __atomic_fetch_add(&tallies[key].sum, own[key].sum, __ATOMIC_RELAXED);
  }
  free(own);
  return NULL;
}

static void run_threads(uint64_t seed, unsigned threads) {
  pthread_t started[64];
  for (unsigned t = 0; t < threads; t++)
    if (pthread_create(&started[t], NULL, run, (void*)(seed * 64 + t + 1))) abort();
  for (unsigned t = 0; t < threads; t++) pthread_join(started[t], NULL);
}

static void run_rounds(uint64_t seed, unsigned threads, unsigned rounds) {
  for (unsigned round = 0; round < rounds; round++) {
    pid_t child = round % 2 ? fork() : 0;
    if (round % 2 && child == 0) {
      run_threads(seed * 1000 + 500 + round, threads);
      _exit(0);
    }
    run_threads(seed * 1000 + round, threads);
    if (child > 0) waitpid(child, NULL, 0);
  }
}

int main(int argc, char** argv) {
  if (argc != 6 && argc != 7) return 2;
  const uint64_t seed = strtoull(argv[1], NULL, 0);
  calls = strtoull(argv[2], NULL, 0);
  keys = strtoull(argv[3], NULL, 0);
  const unsigned threads = (unsigned)atoi(argv[4]), rounds = (unsigned)atoi(argv[5]);
  if (keys == 0 || keys > MOST_KEYS || threads > 64) return 2;
  tallies = mmap(NULL, keys * sizeof *tallies, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  names = calloc(keys, sizeof *names);
  if (tallies == MAP_FAILED || !names) return 2;
  for (uint64_t key = 0; key < keys; key++)
    snprintf(names[key], sizeof names[key], key % 10 ? "k%llu" : "k%llu-with-a-long-name", (unsigned long long)key);
  char byte;
  const unsigned phases = argc == 7 ? (unsigned)atoi(argv[6]) : 1;
  for (unsigned phase = 0; phase < phases; phase++) {
    if (read(0, &byte, 1) != 1) return 2;
    run_rounds(seed + phase, threads, rounds);
    puts("ready");
    fflush(stdout);
  }
  if (read(0, &byte, 1) != 1) return 2;
  for (uint64_t key = 0; key < keys; key++)
    if (tallies[key].calls)
      printf("%llu %llu %llu\n", (unsigned long long)key, (unsigned long long)tallies[key].calls,
             (unsigned long long)tallies[key].sum);
  return 0;
}
