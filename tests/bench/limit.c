/* The limit: the record a programmer would write by hand, inline in the function.
 *
 * It obeys the rules that hold for a tracer in user space, where a thread can be preempted or moved
 * anywhere: the reentry guard, the thread id and the counters belong to the thread (thread-local
 * storage); space in the ring of the CPU is reserved by a locked compare-and-exchange, since another
 * thread may do the same on that CPU; the CPU number comes from rseq's area and is only a hint.
 *
 * One hit: filter, guard, exact length of the string, reserve, rdtsc, 4 fields, commit, count.
 * It does not stop at unreadable strings, which a tracer of strangers has to.
 */
#define _GNU_SOURCE
#include <stddef.h>

#include <emmintrin.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "work.h"

enum { kCpus = 64, kRingBytes = 8 << 20 };

struct record {
  uint64_t time;   /* raw TSC */
  uint32_t commit; /* bytes of the record, 0 until it is complete */
  uint32_t gap;
  uint16_t type; /* what ftrace calls the common fields */
  uint8_t flags, preempt_count;
  int32_t pid;
  uint64_t ip;
  int32_t a;
  uint32_t s; /* length << 16 | offset from `type` */
  int64_t b;
  int64_t d;
  char text[];
};

struct ring {
  uint64_t head; /* bytes ever reserved */
  uint64_t tail; /* bytes ever read */
  char pad[48];
  char data[kRingBytes];
};

struct thread {
  int32_t pid;
  uint32_t guard;
  uint64_t recorded, filtered, lost, missed;
};

static struct ring* rings;
static __thread struct thread self;

static inline uint32_t current_cpu(void) {
  const struct rseq* rseq = (const struct rseq*)((const char*)__builtin_thread_pointer() + __rseq_offset);
  uint32_t cpu = *(volatile const uint32_t*)&rseq->cpu_id;
  if (__builtin_expect(cpu >= kCpus, 0))
    cpu = 0; /* rseq not registered (valgrind): any ring is right, a near one is fast */
  return cpu;
}

static inline uint64_t read_tsc(void) {
  uint32_t low, high;
  __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
  return (uint64_t)high << 32 | low;
}

/* Bytes with the NUL. A 16-byte read that stays within one page cannot fault where the first byte does not. */
static inline uint32_t text_length(const char* s) {
  if (__builtin_expect(((uintptr_t)s & 4095) <= 4096 - 16, 1)) {
    const __m128i bytes = _mm_loadu_si128((const __m128i*)s);
    const int zeros = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128()));
    if (__builtin_expect(zeros != 0, 1)) return (uint32_t)__builtin_ctz((unsigned)zeros) + 1;
  }
  return (uint32_t)strlen(s) + 1;
}

static inline void copy_text(char* to, const char* s, uint32_t length) {
  if (__builtin_expect(length == 16, 1)) {
    _mm_storeu_si128((__m128i*)to, _mm_loadu_si128((const __m128i*)s));
  } else {
    memcpy(to, s, length);
  }
}

/* NULL: no room. A record never wraps; what is left before the end is skipped. */
static inline struct record* reserve(struct ring* ring, uint32_t bytes) {
  uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
  uint64_t start, end;
  do {
    const uint64_t room = kRingBytes - (head & (kRingBytes - 1));
    start = __builtin_expect(room < bytes, 0) ? head + room : head;
    end = start + bytes;
    if (__builtin_expect(end - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) > kRingBytes, 0)) return NULL;
  } while (!__atomic_compare_exchange_n(&ring->head, &head, end, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return (struct record*)(ring->data + (start & (kRingBytes - 1)));
}

static inline void store(uint64_t ip, int a, long b, const char* s, long d) {
  const uint32_t length = text_length(s);
  const uint32_t bytes = ((uint32_t)sizeof(struct record) + length + 7u) & ~7u;
  struct record* record = reserve(&rings[current_cpu()], bytes);
  if (__builtin_expect(!record, 0)) {
    self.lost++;
    return;
  }
  record->time = read_tsc();
  record->type = 1;
  record->flags = record->preempt_count = 0;
  record->pid = self.pid;
  record->ip = ip;
  record->a = a;
  record->b = b;
  record->d = d;
  record->s = length << 16 | (uint32_t)(offsetof(struct record, text) - offsetof(struct record, type));
  copy_text(record->text, s, length);
  __atomic_store_n(&record->commit, bytes, __ATOMIC_RELEASE);
  self.recorded++;
}

/* The guard is for a hit inside the hit (a signal handler): same thread, so no lock, but in program order. */
#define HIT(ip, condition, a, b, s, d)                \
  do {                                                \
    if (__builtin_expect(self.guard, 0)) {            \
      self.missed++;                                  \
    } else {                                          \
      self.guard = 1;                                 \
      __atomic_signal_fence(__ATOMIC_SEQ_CST);        \
      if (__builtin_expect((condition), 1)) {         \
        store((uint64_t)(uintptr_t)(ip), a, b, s, d); \
      } else {                                        \
        self.filtered++;                              \
      }                                               \
      __atomic_signal_fence(__ATOMIC_SEQ_CST);        \
      self.guard = 0;                                 \
    }                                                 \
  } while (0)

BENCH_TWIN long limit_accepted(int a, long b, const char* s, long d) {
  HIT(limit_accepted, a >= 0 && b != -5, a, b, s, d);
  return bench_body(a, b, s, d);
}
BENCH_LOOP(limit_accepted)

BENCH_TWIN long limit_rejected(int a, long b, const char* s, long d) {
  HIT(limit_rejected, a < 0 && b != -5, a, b, s, d);
  return bench_body(a, b, s, d);
}
BENCH_LOOP(limit_rejected)

int limit_init(void) {
  void* memory = mmap(NULL, sizeof(struct ring) * kCpus, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return -1;
  rings = memory;
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  for (long i = 0; i < cpus && i < kCpus; i++) memset(rings[i].data, 1, kRingBytes); /* fault the pages in */
  self.pid = (int32_t)syscall(SYS_gettid);
  return 0;
}

void limit_drain(void) {
  for (int i = 0; i < kCpus; i++) {
    const uint64_t head = __atomic_load_n(&rings[i].head, __ATOMIC_RELAXED);
    if (head) __atomic_store_n(&rings[i].tail, head, __ATOMIC_RELEASE);
  }
}

unsigned long limit_recorded(void) { return self.recorded; }
unsigned long limit_dropped(void) { return self.lost + self.missed; }
