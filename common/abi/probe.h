/*
 * What the controller, the agent in the traced process and the generated extractors share: plain
 * structs in shared memory, stated once.  Freestanding C, also read by the code generator
 * (offsetof).  Pointers are 64-bit addresses *in the target*.
 *
 * One hit, in the order of the fields it touches:
 *
 *   detour ─ takes a frame of KEVT_FRAME_BYTES ─► extractor, its kevt_event beside it in the code arena
 *      %gs:kevt_self ─► kevt_thread                           who hits; slow path: services.thread
 *      kevt_thread.guard                                      set while a hit runs: nested hits are missed
 *      kevt_counts (this thread's own row)                    plain increments, nobody else writes
 *      kevt_ring of the CPU: reserve (cmpxchg), write, commit (release of kevt_record.word)
 *
 * Extractors follow no C calling convention: see "The extractor" below.
 */
#ifndef KEVT_ABI_PROBE_H
#define KEVT_ABI_PROBE_H

#include <stdint.h>

#include "common/abi/hit_stack.h"
#include "common/abi/hit_table.h"
#include "common/abi/registers.h"

#define KEVT_ABI_VERSION 13u

enum {
  KEVT_MAX_THREADS = 40960, /* kevt_thread structs per process at most: those of dead threads are used again */
  KEVT_PLACE_BITS = 17,     /* slots of the thread table: 1 << 17, three times as many as structs */
  KEVT_PLACE_REACH = 64,    /* slots that a look-up goes through at most */
  KEVT_MAX_SHARDS = 65536,  /* counter shards per session at most, all processes together */
  KEVT_MAX_ROWS = 65536,    /* counter rows at most: one per event and sink */
  KEVT_TILE_ROWS = 8,       /* a page of counters: so many rows of so many shards */
  KEVT_TILE_SHARDS = 8,
  KEVT_OWNER_NOTES = 65536, /* of who hits, for names of threads */
  KEVT_MAX_WINDOWS = 64,    /* windows of the code arena in one target */
  KEVT_MAX_MAPPINGS = 96,   /* what a session maps in one target */
  KEVT_MAX_PATCHES = 1 << 17,
  KEVT_RETURN_DEPTH = 256,  /* return instances per thread */
  KEVT_SCRATCH_TEXTS = 8,   /* strings a filter may read */
  KEVT_TEXT_BYTES = 4096,   /* one fetched string with its NUL */
  KEVT_MAP_SLOTS = 1 << 20, /* address map: int3 sites, copies of instructions and fault fix-ups */
  KEVT_RING_HEADER = 4096,  /* bytes before a ring's data */
  KEVT_RING_MARK = -8,      /* from a ring's start: its number << KEVT_RECORD_RING_SHIFT, in a page of the tables */
  KEVT_COMM_BYTES = 16,
  KEVT_SHARED_WORDS =
      512,             /* of a session: what triggers switch and count; all its processes and the controller write */
  KEVT_SENT_WORDS = 6, /* of a siginfo, all that the kernel keeps of one (struct kernel_siginfo) */
  KEVT_ENTRY_ARGUMENTS = 15, /* `$argN` of one return event, at most */
  KEVT_MAX_RAISED = 1024,    /* semaphores of markers that a session raises in a process */
};

struct kevt_event;
struct kevt_thread;

/* Multiplier of the hashes of thread pointers and addresses: 2^64 / golden ratio. */
#define KEVT_HASH_MULTIPLIER 0x9E3779B97F4A7C15ull
/* Where a look-up in the thread table begins. */
#define KEVT_PLACE_OF(thread_pointer) \
  ((uint32_t)(((uint64_t)(thread_pointer)*KEVT_HASH_MULTIPLIER) >> (64 - KEVT_PLACE_BITS)))
#define KEVT_NEXT_PLACE(place) (((uint32_t)(place) + 1) & ((1u << KEVT_PLACE_BITS) - 1))

/*
 * Where the address map is looked at for a key, try by try.  Keys of one page of code share a page of the map, as long
 * as there is room, so that a process which is probed all over touches few pages of it.
 */
enum { KEVT_MAP_GROUP = 256, KEVT_MAP_GROUP_TRIES = 8 };
static inline uint32_t kevt_map_slot(uint64_t key, uint32_t tries) {
  const uint64_t shared = tries < KEVT_MAP_GROUP_TRIES, hashed = shared ? key >> 12 : key;
  const uint32_t begin = (uint32_t)((hashed * KEVT_HASH_MULTIPLIER) >> 32);
  if (!shared) return (begin + tries - KEVT_MAP_GROUP_TRIES) & (KEVT_MAP_SLOTS - 1);
  return (begin * KEVT_MAP_GROUP + (((uint32_t)(key >> 4) + tries) & (KEVT_MAP_GROUP - 1))) & (KEVT_MAP_SLOTS - 1);
}

/*
 * In a shard: `hits` == recorded + aggregated + filtered + lost once no hit is under way; a missed attempt is counted
 * in `missed` alone, so that a signal never sees half of it.  Attempts are hits + missed; in sums over shards `hits`
 * holds the attempts.
 */
typedef struct kevt_counts {
  uint64_t hits, recorded, filtered, lost, missed;
  uint64_t faults;     /* numbers that could not be read, stored as 0 */
  uint64_t aggregated; /* counted in hit tables, and not recorded */
  uint64_t pad;
} kevt_counts;

/*
 * Where the counters of a row and a shard lie: the sum of a distance that the row decides (kevt_event.row_offset) and
 * one that the shard decides (kevt_thread.counts).  Pages of one row lie side by side, shard after shard, and exist
 * once a hit counts in them.
 */
#define KEVT_TILE_BYTES ((uint64_t)KEVT_TILE_ROWS * KEVT_TILE_SHARDS * sizeof(kevt_counts))
#define KEVT_SHARD_OFFSET(shard)                            \
  ((uint64_t)(shard) / KEVT_TILE_SHARDS * KEVT_TILE_BYTES + \
   (uint64_t)(shard) % KEVT_TILE_SHARDS * KEVT_TILE_ROWS * sizeof(kevt_counts))
/* `group_bytes`: of KEVT_TILE_ROWS rows in all shards. */
#define KEVT_ROW_OFFSET(row, group_bytes) \
  ((uint64_t)(row) / KEVT_TILE_ROWS * (group_bytes) + (uint64_t)(row) % KEVT_TILE_ROWS * sizeof(kevt_counts))

/*
 * In a ring: `word` is 0 until the record is committed, then
 *   bits 0-12 bytes of payload   13 discarded   14-25 number of the ring   26-63 position in the ring's stream / 8
 * A record takes KEVT_RECORD_ROOM bytes: a short string is stored as 16 bytes, so a few may be written behind the
 * payload.
 */
typedef struct kevt_record {
  uint64_t word;
  uint64_t tsc;
  /* payload: the ftrace record */
} kevt_record;
#define KEVT_RECORD_PAYLOAD_BITS 13
#define KEVT_RECORD_DISCARDED (1ull << KEVT_RECORD_PAYLOAD_BITS) /* skip it; the hit was abandoned */
#define KEVT_RECORD_PAYLOAD(word) ((uint32_t)(word) & (uint32_t)(KEVT_RECORD_DISCARDED - 1))
#define KEVT_RECORD_RING_SHIFT 14
#define KEVT_RECORD_RING(word) ((uint32_t)((word) >> KEVT_RECORD_RING_SHIFT) & 0xfffu)
#define KEVT_RECORD_TAG_SHIFT 26
#define KEVT_RECORD_SLACK 16u /* bytes that may be written behind the payload */
#define KEVT_RECORD_ROOM(payload) (((uint64_t)(payload) + sizeof(kevt_record) + KEVT_RECORD_SLACK + 7) & ~7ull)
/* The tag of a record that starts at byte `position` (a multiple of 8) of the ring's endless stream, in place. */
#define KEVT_RECORD_TAG(position) ((uint64_t)(position) << (KEVT_RECORD_TAG_SHIFT - 3))
#define KEVT_RECORD_IS_AT(word, position) (((word) ^ KEVT_RECORD_TAG(position)) >> KEVT_RECORD_TAG_SHIFT == 0)
/* How far behind `position` the record starts. */
#define KEVT_RECORD_DISTANCE(word, position) (((word)-KEVT_RECORD_TAG(position)) >> KEVT_RECORD_TAG_SHIFT << 3)

typedef struct kevt_ring {
  uint64_t head; /* bytes reserved so far; writers, by locked cmpxchg */
  uint64_t pad0[7];
  uint64_t tail;  /* bytes given back by the reader */
  uint64_t limit; /* up to where may be reserved: tail + ring_bytes; the reader's, too */
  uint64_t pad1[6];
  /* data at KEVT_RING_HEADER, `ring_bytes` long, mapped twice in a row: a record never wraps */
} kevt_ring;

typedef struct kevt_map_entry {
  uint64_t key; /* address; 0: never used, KEVT_MAP_REMOVED */
  uint64_t value;
} kevt_map_entry;
#define KEVT_MAP_REMOVED 1ull
/* In a `value`: the signal handler calls the code there, on its own stack (see "Hits in the handler"). */
#define KEVT_MAP_CALLED (1ull << 63)
/* In a `value`: the key is the site of an int3, not a load that may fault. */
#define KEVT_MAP_SITE (1ull << 61)
/*
 * In a `value`: the key is a copy of the program's instruction at the value; a fault of the copy is the program's own.
 */
#define KEVT_MAP_COPY_OF (1ull << 62)
/*
 * In the `value` of a site: how many windows and hit tables a process must have (kevt_private.mapped) for its detour.
 * A child that was forked earlier may have fewer: it goes on in an older detour, the one at KEVT_MAP_OLDER with the
 * highest needs that the child meets.
 */
#define KEVT_MAP_NEEDS_SHIFT 48
#define KEVT_MAP_NEEDS_MAX 255u
#define KEVT_MAP_NEEDS(value) ((uint32_t)((value) >> KEVT_MAP_NEEDS_SHIFT) & KEVT_MAP_NEEDS_MAX)
#define KEVT_MAP_OLDER(site, needs) ((site) | (uint64_t)(needs) << KEVT_MAP_NEEDS_SHIFT | 1ull << 63)

typedef struct kevt_return_instance {
  uint64_t slot;           /* address of the return address on the stack; 0 or KEVT_INSTANCE_FILLING: see there */
  uint64_t return_address; /* what was there: where to go on */
  uint64_t shown;          /* the program's own return address, for records (differs when detours nest) */
  uint64_t event;          /* kevt_event* */
} kevt_return_instance;
/*
 * In `return_address`: the agent made the instance and must take it back, too.  Without this bit `return_address`
 * itself is what is shown.
 */
#define KEVT_INSTANCE_SPECIAL (1ull << 63)
/*
 * In `slot`, else a multiple of 8: being filled in, other fields may be an older call's.  A `slot` of 0 says the same.
 */
#define KEVT_INSTANCE_FILLING 1ull
#define KEVT_INSTANCE_COUNTED 2ull /* with FILLING: counted as active for its event, and `event` is valid */

/*
 * What %gs points to in a thread that has hit, in memory that fork wipes.  A thread inherits %gs from the one that made
 * it: `thread_pointer` tells whether this is its own.  A program that uses %gs itself keeps it; its threads are then
 * looked up in the thread table at every hit.
 */
typedef struct kevt_self {
  uint64_t thread_pointer; /* %fs:0 of the thread this is about; 0: nobody, or not enrolled since a fork */
  uint64_t thread;         /* its kevt_thread* */
  uint64_t owner;          /* who has the struct: pid << 32 | tid; 0: nobody.  Changes by cmpxchg alone. */
  uint64_t pad;
} kevt_self;
#define KEVT_OWNER_EXPECTED 1ull       /* in `owner`: reserved for the thread with this thread pointer until it hits */
#define KEVT_OWNER_CLAIMS (1ull << 63) /* with an owner: the owner has not written its thread pointer yet */

typedef struct kevt_thread {
  uint64_t thread_pointer; /* 0: never used */
  uint32_t tid;
  uint32_t check;     /* the 32-bit word at thread_pointer + check_offset when it was filled in */
  uint64_t guard;     /* 0, or the stack address of the hit under way */
  uint64_t counts;    /* this thread's own shard: kevt_tables.counts + KEVT_SHARD_OFFSET */
  uint64_t open_word; /* what the newest record's commit stores, noted just before its reservation; 0: none */
  uint64_t head[2];   /* the bytes of a short string that the agent has measured */
  uint8_t comm[KEVT_COMM_BYTES];
  uint32_t shard;                    /* its number, for hit tables, too */
  uint32_t place;                    /* its slot in the thread table */
  uint64_t sent[3][KEVT_SENT_WORDS]; /* head of the siginfo of each pending SIGTRAP, SIGBUS, SIGSEGV */
  uint64_t pending;                  /* SIGTRAP, SIGSEGV, SIGBUS, sent by somebody while "blocked"; bit signo - 1 */
  uint64_t blocked;                  /* of these, what the program thinks it blocked */
  uint32_t pid;
  uint32_t pad;
  uint64_t depth; /* return instances in use */
  kevt_return_instance instances[KEVT_RETURN_DEPTH];
  uint64_t arguments[KEVT_RETURN_DEPTH][KEVT_ENTRY_ARGUMENTS]; /* of each instance, in the order of its event's list */
  uint64_t frames[KEVT_STACK_DEPTH];                           /* the stack of the hit under way */
  uint64_t rule_generation;                                    /* of the rules at hand */
  kevt_stack_rule rules[KEVT_STACK_CACHED];
  uint8_t texts[KEVT_SCRATCH_TEXTS][KEVT_TEXT_BYTES];
} __attribute__((aligned(4096)))
kevt_thread; /* a thread touches one page, until it returns deeply, walks its stack or filters strings */

/* Who a thread is: noted by the agent at its first hit, one after the other in a ring of KEVT_OWNER_NOTES. */
typedef struct kevt_shard_owner {
  uint32_t tid;
  uint32_t pid;
  char comm[KEVT_COMM_BYTES];
  uint64_t lap; /* how often the place has been used; written last */
} kevt_shard_owner;

/*
 * The extractor: an event's generated code.  It keeps every register; its caller saves the flags.  Its frame is what
 * the caller's stack pointer points to: words of kevt_registers.  Only the words are filled in that the event reads
 * from the frame rather than from the register itself.  KEVT_FRAME_BYTES above the frame lies the program's own stack:
 * for a return event the slot of the return address, which the extractor fills in again.
 */
#define KEVT_FRAME_BYTES 320
/* In the frame of a return event: the arguments kept at the entry, in what was the red zone while the function ran. */
#define KEVT_FRAME_ARGUMENTS 192
/* In the frame of an event that injects: set by its hit when the function shall not run. */
#define KEVT_FRAME_INJECTED 176

/*
 * Hits in the handler: where a program's stacks have no room for a frame (Go's goroutines), the handler of SIGTRAP
 * calls the detour on the signal stack, with the program's registers and, above its return address, KEVT_CALLED_SP and
 * KEVT_CALLED_FLAGS.  The detour returns where the program goes on.
 */
#define KEVT_CALLED_SP 16
#define KEVT_CALLED_FLAGS 24

/* The agent's answer to a system call that the program is about to make: the call is made where it stands. */
#define KEVT_NOT_ANSWERED (-65536)

/* Services of the agent. All keep every register but rax and r11 (LLVM's preserve_most). */
typedef struct kevt_services {
  uint64_t thread;      /* kevt_thread* (event): who hits, when %gs does not say; 0: missed, and counted so */
  uint64_t guarded;     /* int (event, thread, frame): 1: the hit under way was stale; 0: this one is missed, counted */
  uint64_t enter;       /* int (event, slot): takes the return address where the detour cannot; 0: run unprobed */
  uint64_t leave;       /* uint64 (event, slot): fills the return address in again; what to show as it */
  uint64_t reserve;     /* kevt_record* (thread, ring, bytes of payload): after another writer came first; 0: full */
  uint64_t text_length; /* uint32 (address, head, most): bytes with NUL, cut to 4096; 0: unreadable; up to 16 go to
                           head. `most`: bytes that may be read; 4096: up to the NUL */
  uint64_t text_copy;   /* uint32 (to, address, length): copies, ends with NUL; length written, 0: unreadable */
  uint64_t text_fetch;  /* uint32 (to, address, most): length and copy in one pass; 0: unreadable */
  uint64_t comm;        /* uint32 (to): the thread's name, bytes with NUL */
  uint64_t match;       /* int (kind, pattern, pattern length, text, text length without NUL) */
  uint64_t inject;      /* int (event, frame): 1: this hit makes the function return, noted in the frame */
  uint64_t time;        /* uint64 (): rdtsc for a thread that may not (PR_SET_TSC) */
  uint64_t stack;       /* uint64 (thread, first address, whether that is the probe's place, frame): the stack's number;
                           0: not known */
  uint64_t stack_sample; /* void (thread, first address, frame, to): fills in a kevt_stack_sample */
} kevt_services;

/* The program's own handler of a signal for which the agent runs it (kevt_on_masked). */
typedef struct kevt_handler {
  uint64_t handler, restorer;
} kevt_handler;

/* What rt_sigaction takes: the kernel's struct sigaction on x86-64. */
typedef struct kevt_disposition {
  uint64_t handler, flags, restorer, mask;
} kevt_disposition;

/* How often an injecting event asked chance, and was told to inject. */
typedef struct kevt_injections {
  uint64_t asked, injected;
} kevt_injections;

/* A semaphore of a marker, how much of its count is ours, and which byte of which file is mapped there. */
typedef struct kevt_raised {
  uint64_t at, count, inode, offset;
} kevt_raised;

/* Per process, in private memory that fork copies. */
typedef struct kevt_private {
  uint64_t used_threads;    /* structs that were ever used; may grow past kevt_tables.max_threads */
  uint64_t next_swept;      /* looks at structs so far, in search of dead threads */
  uint64_t signals_owned;   /* 1: the agent's handlers are installed, and its masks are the program's */
  uint64_t filtered;        /* 1: a seccomp filter may end the process for a system call of the agent's */
  uint64_t pid;             /* as the last thread that was enrolled has seen it; 0: none yet */
  uint64_t strict;          /* thread pointer of one in seccomp's strict mode, which forbids rdtsc; 0: none */
  uint64_t has_own_numbers; /* 1: this process or an ancestor is the first of a PID namespace: KEVT_USER_ELSEWHERE */
  uint64_t mapped;          /* how many windows and hit tables are mapped, oldest first; written by the controller */
  uint64_t unanswered;      /* 1: an ask was not answered in time */
  int64_t patience_ns;      /* since then: how long it still waits for answers, all together */
  kevt_disposition dispositions[32]; /* the program's own for SIGTRAP (5), SIGBUS (7), SIGSEGV (11), by number */
  uint64_t masks[65];                /* the bits of these three in each signal's own sa_mask, by number */
  kevt_handler handlers[65];         /* the program's own, of SIGILL, SIGFPE and signals whose sa_mask has such bits */
  uint32_t active[KEVT_MAX_ROWS];    /* return instances in use, of events with a maxactive */
  kevt_injections injections[KEVT_MAX_ROWS];
  kevt_raised raised[KEVT_MAX_RAISED];   /* written by the controller */
  uint32_t places[1 << KEVT_PLACE_BITS]; /* thread table: thread pointer, hashed -> number of its struct + 1; 0: never
                                            used */
  kevt_thread threads[];                 /* kevt_tables.max_threads of them */
} kevt_private;

/*
 * A thread that is about to exec asks to be followed and waits: FREE -> CLAIMED, `tid`, ASKED (the thread), READY (the
 * controller, which holds on to it across the exec).  After a successful exec the controller sets FREE; after a failed
 * one the thread sets FAILED, and the controller lets go of the thread and sets FREE. `state` is a futex word.
 */
enum { KEVT_EXEC_ASKS = 16 };
enum { KEVT_EXEC_FREE, KEVT_EXEC_CLAIMED, KEVT_EXEC_ASKED, KEVT_EXEC_READY, KEVT_EXEC_FAILED };
typedef struct kevt_exec_ask {
  uint32_t tid;
  uint32_t state;
} kevt_exec_ask;

/*
 * What every process of the session may write.  It is hostile to the others: a forked child may have fewer rights than
 * its parent.  Nothing here is an address or leads to one unchecked: a reader bounds every index and every wait.  The
 * same holds for what lies beside it: notes of owners, shared words, counters and rings.
 */
typedef struct kevt_session {
  uint64_t next_shard;                   /* atomic; shard 0 is everybody's: locked increments */
  uint64_t next_swept;                   /* atomic: looks at shards so far, in search of dead users */
  uint64_t next_note;                    /* atomic; notes of owners so far */
  uint64_t library_reports;              /* atomic: how often libraries came or went */
  uint64_t shard_users[KEVT_MAX_SHARDS]; /* pid << 32 | tid of the only writer; one that is dead leaves its shard */
  kevt_exec_ask execs[KEVT_EXEC_ASKS];
  uint64_t execs_unanswered; /* atomic: execs that went on without an answer */
} kevt_session;
/* In a shard's user: pid and tid are of a PID namespace of their own; elsewhere they name another thread, or none. */
#define KEVT_USER_ELSEWHERE (1ull << 63)

/* A place in the target's text that differs from its own bytes, noted before it does, so that anybody can undo it. */
typedef struct kevt_patch {
  uint64_t site; /* 0: none */
  uint8_t own[8];
  uint64_t inode; /* of the file that it is in; 0: of none that is unloaded, or code of a JIT compiler */
  uint8_t length; /* of `own` */
  uint8_t order;  /* KEVT_PATCH_… */
  uint8_t gone;   /* 1: the target has unloaded the file; forked children that still have it have the patch */
  uint8_t pad[5];
} kevt_patch;
enum {
  KEVT_PATCH_PROBE, /* given back first */
  KEVT_PATCH_LAST,  /* when no thread is in a hit any more: in front of unwinders and the linker, hooked calls */
};

typedef struct kevt_mapping {
  uint64_t at, bytes;
} kevt_mapping;

#define KEVT_NOT_SEEN (~0ull) /* a process that the target's PID namespace has no number for */

/* What only the controller writes: read-only in the target, sealed against writing by anybody else. */
typedef struct kevt_tables {
  uint32_t version;
  uint32_t ring_count;
  uint64_t self;    /* address of this struct in the target */
  uint64_t session; /* kevt_session* */
  uint64_t priv;    /* kevt_private* */
  uint64_t selves;  /* kevt_self[max_threads], in the order of threads; wiped on fork, as the word behind them */
  uint64_t max_threads;
  uint64_t rings;
  uint64_t ring_stride;
  uint64_t ring_bytes; /* power of two */
  uint64_t counts;     /* see KEVT_ROW_OFFSET */
  uint64_t group_bytes;
  uint64_t max_shards;
  uint64_t used_rows;
  uint64_t owners; /* kevt_shard_owner[KEVT_OWNER_NOTES] */
  uint64_t map;    /* kevt_map_entry[KEVT_MAP_SLOTS] */
  uint64_t rules;  /* kevt_stack_rule[2][KEVT_STACK_RULES] */
  uint64_t rule_counts[2];
  uint64_t rule_generation;      /* 0: there are no rules yet */
  uint64_t stacks;               /* kevt_stacks* */
  uint64_t code_begin, code_end; /* agent text in the target */
  uint32_t check_offset;         /* of a 32-bit word that differs between threads, from the thread pointer */
  uint32_t pad;
  uint64_t has_fsgsbase;                 /* 1: rdgsbase and wrgsbase may be used */
  uint64_t marks_threads;                /* 1: threads have 0 at %fs:0 (Go's); the agent puts its own address there */
  uint64_t windows[KEVT_MAX_WINDOWS][2]; /* code arena windows [begin, end) */
  uint64_t r_debug;                      /* the dynamic linker's, in the target; 0: not known */
  uint64_t library_answers;              /* how many library_reports were answered; a futex word (its lower half) */
  uint64_t answerer;                     /* pid of who answers library reports; 0: nobody; KEVT_NOT_SEEN */
  uint64_t follower;                     /* of who follows through exec, likewise */
  kevt_services services;
  /* For whoever cleans up behind a controller that has died. */
  uint64_t controller; /* its pid, when it began (clock ticks since boot), the inode of its PID namespace */
  uint64_t controller_began;
  uint64_t controller_namespace;
  uint64_t mapped_count;
  kevt_mapping mapped[KEVT_MAX_MAPPINGS]; /* in the order in which they were mapped */
  uint64_t patches;                       /* kevt_patch[KEVT_MAX_PATCHES] */
  uint64_t used_patches;
} kevt_tables;

/* In the code arena beside the event's extractor, which reads it by its distance; read-only in the target. */
typedef struct kevt_event {
  uint64_t tables; /* kevt_tables* */
  uint64_t rings;
  uint64_t ring_stride;
  uint64_t ring_mask;  /* ring_bytes - 1 */
  uint64_t row_offset; /* of the first sink's counters: KEVT_ROW_OFFSET; the next sinks' lie behind them */
  uint32_t row;        /* the first sink's */
  uint32_t event_id;
  uint32_t gates;         /* bit i: sink i is on */
  uint32_t enters_slowly; /* return events: 1 when off, with a maxactive, or with arguments to keep */
  uint64_t probe_address; /* __probe_ip, __probe_func */
  uint32_t maxactive;     /* 0: only the depth per thread limits */
  uint32_t sink_count;
  uint64_t inject_below;   /* an injecting event's hit injects when its number, 64 random bits, is at most this */
  uint64_t inject_times;   /* it injects so many times at most */
  uint64_t inject_seed;    /* of these numbers */
  uint32_t argument_count; /* return events: arguments that the entry keeps, and which: their numbers, from 1 */
  uint16_t argument_numbers[KEVT_ENTRY_ARGUMENTS + 1];
  kevt_services services;
  uint64_t slots[]; /* see model::SlotSource */
} kevt_event;

#endif
