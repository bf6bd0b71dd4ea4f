/*
 * What generated BPF programs and their reader share: the values of their maps and what stands in their rings.
 * Freestanding C, also read by the code generator (offsetof).
 *
 * One hit: the program's event is found (by the attach cookie where equal programs are shared), the CPU's own row of
 * counters is changed, and the record goes to the CPU's own ring:
 *
 *   events map   kevt_bpf_event │ kevt_bpf_counts[cpus][sinks] │ uint64_t slots[]
 *   ring         kevt_bpf_prefix │ the ftrace record │ the stack of the hit
 *   words        uint64_t[KEVT_BPF_WORDS]: what triggers switch and count
 *   scratch      kevt_bpf_scratch │ prefix │ record that is being built │ strings that a filter reads
 *                once for each CPU; of programs that can be preempted KEVT_BPF_SCRATCHES times, and room for a string
 *                that nobody reads
 *   stacks       by number less 1 the code addresses of a stack, innermost first, and zeros behind them
 *   hit tables   of one event: for each histogram a table of KEVT_HIT_BPF_BYTES for each CPU (abi/hit_table.h)
 */
#ifndef KEVT_ABI_BPF_H
#define KEVT_ABI_BPF_H

#include <stdint.h>

typedef struct kevt_bpf_event {
  uint32_t event_id; /* common_type */
  uint32_t gates;    /* bit i: sink i is on */
  uint64_t probe_address;
  uint32_t handle; /* of the event, for the reader */
  uint32_t spare[11];
} kevt_bpf_event;

/* hits == recorded + aggregated + filtered + lost + busy once no hit is under way. */
typedef struct kevt_bpf_counts {
  uint64_t hits, recorded, filtered, lost;
  uint64_t busy;   /* missed: another hit was using the scratch, or the arguments of the entry were not kept */
  uint64_t faults; /* numbers that could not be read, stored as 0 */
  uint64_t aggregated;
  uint64_t spare;
} kevt_bpf_counts;

typedef struct kevt_bpf_prefix {
  uint64_t time_ns; /* CLOCK_MONOTONIC */
  uint32_t handle;
  uint32_t stack_bytes; /* code addresses of 8 bytes each, innermost first; 0: none was asked for, or could be had */
  char comm[16];
} kevt_bpf_prefix;

/* Head of a CPU's part of the scratch map. */
typedef struct kevt_bpf_scratch {
  uint64_t at;       /* record bytes so far */
  uint64_t in_use;   /* by a hit that can be preempted */
  uint64_t position; /* in a text that a pattern is looked for in */
  uint64_t always_0; /* 0, which the verifier does not know */
  uint64_t spare[4];
} kevt_bpf_scratch;

/*
 * Identifies a call whose entry keeps arguments for the program at its return: the key of the map of kept arguments,
 * whose value is a kevt_bpf_kept with one word for each argument. kevtrace.ko needs no map: it keeps the probe's cookie
 * and the arguments in the return instance's own data, whose address is the program's cookie.
 */
typedef struct kevt_bpf_call {
  uint64_t slot;   /* where its return address lies */
  uint64_t cookie; /* of the probe: event, and how often it has been armed << 32 */
  uint64_t thread; /* process and thread */
} kevt_bpf_call;

typedef struct kevt_bpf_kept {
  uint64_t doubt; /* not 0: it is not certain which call the words are of */
  uint64_t words[];
} kevt_bpf_kept;

enum {
  KEVT_BPF_WORDS = 512,        /* of the words map: uint64_t that hits and the engine share; a power of two */
  KEVT_BPF_SCRATCHES = 4,      /* of a CPU, for programs that can be preempted; a power of two */
  KEVT_BPF_TEXT_BYTES = 4096,  /* one string with its NUL */
  KEVT_BPF_STACK_BYTES = 1016, /* 127 frames: kernel.perf_event_max_stack */
  KEVT_BPF_STACKS = 8192,      /* that are kept; a power of two */
  KEVT_BPF_RECORD_ROOM = 8320, /* a record, and a string that may be behind its end */
  KEVT_BPF_TEXTS =
      sizeof(kevt_bpf_scratch) + sizeof(kevt_bpf_prefix) + KEVT_BPF_RECORD_ROOM, /* offset of the strings */
};

#endif
