/*
 * libkevtrace: check definitions, trace programs and read recordings, from C and whatever calls C.
 *
 *   const char* define[] = {"p:open libc:open64 path=+0(%di):string", NULL};
 *   struct kevtrace_run_options options = {.size = sizeof options, .definitions = define, .pid = pid};
 *   kevtrace_reader* reader = kevtrace_run(&options);
 *   while (kevtrace_next(reader, -1) == KEVTRACE_RECORD)
 *     printf("%s %" PRIu64 "\n", kevtrace_event(reader), kevtrace_time(reader));
 *   kevtrace_close(reader);
 *
 * Tracing is done by the program `kevtrace`, which is started for it: the caller's own process is never the tracer, so
 * its threads, signals and children stay its own, and a caller that dies leaves nothing behind in what is traced. The
 * program is $KEVTRACE, or else the one that was installed with this library, or else the one in PATH.
 *
 * A reader belongs to one thread at a time; several readers do not know of each other. In a process that the caller
 * forks a reader can only be closed, which closes its descriptors there and nothing else. Texts are UTF-8 where the
 * traced program's are; they end with a NUL, and live until the next call for the same reader unless something else is
 * said. Functions that return a pointer return NULL, and those that return a number a negative one, only where that is
 * said.
 *
 * Symbols have the version KEVTRACE_0; what is in it stays.
 */
#ifndef KEVTRACE_H
#define KEVTRACE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KEVTRACE_API __attribute__((visibility("default")))

/* "0.1.0"; lives for ever. */
KEVTRACE_API const char* kevtrace_version(void);

/* ---- definitions ---------------------------------------------------------------------------------------------- */

/*
 * What is wrong with the lines of `text`, an event script, as `kevtrace check --diagnostics=json` says it
 * (docs/cli.md). `kernel`: "6.1" and the like, or NULL for the forms of all kernels. Nothing is traced, and no symbol
 * is looked up. The result is the caller's: kevtrace_free(). NULL: kevtrace could not be run; kevtrace_failure() says
 * why.
 */
KEVTRACE_API char* kevtrace_check(const char* text, const char* kernel);
/*
 * Compiles the event script `script` to `output`, which runs where there is no compiler (docs/scripts.md). 0, or the
 * exit status of `kevtrace compile`; then kevtrace_failure() has its messages.
 */
KEVTRACE_API int kevtrace_compile(const char* script, const char* output);
KEVTRACE_API void kevtrace_free(char* text);
/*
 * Why this thread's last call of kevtrace_check(), kevtrace_compile(), kevtrace_run() or kevtrace_open() failed; "" if
 * it did not. Lives until the next such call of this thread.
 */
KEVTRACE_API const char* kevtrace_failure(void);

/* ---- readers -------------------------------------------------------------------------------------------------- */

typedef struct kevtrace_reader kevtrace_reader;

/* Lists end with NULL; a list that is NULL is empty. What is 0 has its default. */
struct kevtrace_run_options {
  size_t size;                    /* sizeof of this structure, so that members may be added */
  const char* const* definitions; /* "p:ev libc:open64 path=+0(%di):string" */
  const char* const* filters;     /* "ev: fd > 2" */
  const char* const* triggers;    /* "ev: traceoff:1 if fd == 3", "ev: hist:keys=fd:vals=want" */
  const char* script;             /* a file with definitions, also a compiled one */
  const char* const* command;     /* a program to start, and its arguments: the end comes when it has ended; or else: */
  pid_t pid;                      /* a process that runs */
  uint64_t count;                 /* tracing ends after so many records, or some more; a command goes on */
  double seconds;                 /* tracing ends after so long; a command goes on */
  unsigned buffer_kb;             /* of each CPU, 64 to 1048576; 0: 4096 */
  int follow;                     /* also programs that these, and what they fork, become by exec */
  const char* runtime;            /* "inproc", "bpf", "kmod"; NULL: as `kevtrace run` chooses */
  const char* const* histograms;  /* "ev: keys=fd:vals=want"; hits of such an event are counted, and not recorded */
  double interval;                /* histograms come each so many seconds, and begin anew; 0: once, at the end */
};

/*
 * Starts tracing. Mistakes in definitions, a process that cannot be traced, a program `kevtrace` that is not there and
 * the like are told by kevtrace_next(). NULL: the options cannot be taken, or there is no memory or descriptor left;
 * kevtrace_failure() says why. With a command the end comes when the command has ended.
 */
KEVTRACE_API kevtrace_reader* kevtrace_run(const struct kevtrace_run_options* options);
/*
 * Opens a recording: trace.dat of kevtrace or trace-cmd, NDJSON of kevtrace. NULL: kevtrace_failure() says why. `path`
 * may be the address of a fleet (`ch://…`, docs/fleet.md): the program `kevtrace` asks it, and what is wrong with it is
 * told by kevtrace_next().
 */
KEVTRACE_API kevtrace_reader* kevtrace_open(const char* path);

enum kevtrace_next_result {
  KEVTRACE_HISTOGRAM = 2, /* the reader stands on a histogram: kevtrace_histogram() */
  KEVTRACE_RECORD = 1,    /* the reader stands on a record */
  KEVTRACE_NOTHING = 0,   /* none came in time */
  KEVTRACE_END = -1,      /* there are no more; counts are known */
  KEVTRACE_FAILED = -2    /* tracing has failed, or the recording cannot be read on: kevtrace_messages() */
};
/*
 * Goes to the next record. Records of a recording come in the order of time; those of a run come as kevtrace prints
 * them, at most a fifth of a second after they were hit. `timeout_ms`: how long to wait; negative: for ever. Records
 * that the caller does not fetch wait in kevtrace's buffers; what does not fit there is lost and counted.
 */
KEVTRACE_API int kevtrace_next(kevtrace_reader* reader, int timeout_ms);
/*
 * From now on kevtrace_next() stops at histograms, too: those of a recording behind its records, those of a script's
 * triggers. Of a run whose options have histograms or `hist` triggers it does so without being told.
 */
KEVTRACE_API void kevtrace_want_histograms(kevtrace_reader* reader);
/*
 * The histogram that the reader stands on, as a JSON object in one line: its event, trigger, span of time and rows
 * (docs/histograms.md, "For other programs"). Of a file the object is as the file has it, which may be anybody's: with
 * any members, of 32 levels at most. NULL: the reader stands on none. Lives until the next kevtrace_next().
 */
KEVTRACE_API const char* kevtrace_histogram(const kevtrace_reader* reader);
/* The exit status of kevtrace once the end has come, which is the command's if there is one; -1 before, or a
 * recording's. */
KEVTRACE_API int kevtrace_status(const kevtrace_reader* reader);
/*
 * Ends tracing soon; what is recorded already still comes. Before tracing has begun it ends the run. A command goes on,
 * and the end comes when it has ended. Does nothing for a recording.
 */
KEVTRACE_API void kevtrace_stop(kevtrace_reader* reader);
/*
 * Ends tracing, waits until nothing of it is left in the traced program, and frees the reader. A program that was
 * started goes on. NULL is no mistake.
 */
KEVTRACE_API void kevtrace_close(kevtrace_reader* reader);
/* What kevtrace has said so far: mistakes with their places, what was armed how. Lives until the next call. */
KEVTRACE_API const char* kevtrace_messages(const kevtrace_reader* reader);
/*
 * For poll(2): readable when something has come since kevtrace_next() last returned KEVTRACE_NOTHING; so ask for
 * records until it does. -1: a recording.
 */
KEVTRACE_API int kevtrace_fd(const kevtrace_reader* reader);

/* ---- the record that the reader stands on --------------------------------------------------------------------- */

KEVTRACE_API const char* kevtrace_event(const kevtrace_reader* reader); /* "GROUP/EVENT" */
/* Nanoseconds, of CLOCK_MONOTONIC unless the recording has another clock. */
KEVTRACE_API uint64_t kevtrace_time(const kevtrace_reader* reader);
KEVTRACE_API unsigned kevtrace_cpu(const kevtrace_reader* reader);
KEVTRACE_API pid_t kevtrace_thread(const kevtrace_reader* reader);
KEVTRACE_API const char* kevtrace_comm(const kevtrace_reader* reader); /* the thread's name; "" if it is not known */
/* Records of this CPU that were lost right before it; UINT64_MAX: some, unknown how many. */
KEVTRACE_API uint64_t kevtrace_lost_before(const kevtrace_reader* reader);

enum kevtrace_kind {
  KEVTRACE_ABSENT = 0, /* a text that could not be read at the hit; a number that could not be read is 0 */
  KEVTRACE_SIGNED,
  KEVTRACE_UNSIGNED,
  KEVTRACE_FLOAT,
  KEVTRACE_TEXT /* bytes, which may have NULs in them */
};
struct kevtrace_value {
  int kind;
  union {
    int64_t as_signed;
    uint64_t as_unsigned;
    double as_float;
    struct {
      const char* bytes;
      size_t length;
    } text;
  } as;
};
/* Fields of the record's event, in their order, without the common ones. */
KEVTRACE_API unsigned kevtrace_fields(const kevtrace_reader* reader);
/* NULL: there is no such field. Lives as long as the reader. */
KEVTRACE_API const char* kevtrace_field_name(const kevtrace_reader* reader, unsigned field);
/* How many values it has in this record: 1, or those of an array, which may be none. 0: there is no such field. */
KEVTRACE_API unsigned kevtrace_field_items(const kevtrace_reader* reader, unsigned field);
/* Whether it is an array, also of one item. */
KEVTRACE_API int kevtrace_field_is_array(const kevtrace_reader* reader, unsigned field);
/* Texts live until the next kevtrace_next(). */
KEVTRACE_API struct kevtrace_value kevtrace_value_of(const kevtrace_reader* reader, unsigned field, unsigned item);

/* ---- counts ---------------------------------------------------------------------------------------------------- */

/* hits = recorded + aggregated + filtered + lost + missed; UINT64_MAX: the runtime cannot tell. */
struct kevtrace_counts {
  const char* event; /* "GROUP/EVENT"; lives as long as the reader */
  uint64_t hits, recorded, aggregated, filtered, lost, missed;
};
/* Of how many events the counts are known: 0 until the end of a run has come. */
KEVTRACE_API unsigned kevtrace_counted(const kevtrace_reader* reader);
KEVTRACE_API struct kevtrace_counts kevtrace_counts_of(const kevtrace_reader* reader, unsigned index);

#ifdef __cplusplus
}
#endif

#endif
