/* Attacks by stores alone: in seccomp's strict mode there is nothing else, not even the time. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "hostile.h"
#include "touched.h"

struct view find_view(void) {
  struct view view = {0};
  char line[512];
  FILE* maps = fopen("/proc/self/maps", "re");
  while (maps && fgets(line, sizeof line, maps)) {
    uint64_t start, end, offset;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &offset) != 3) continue;
    if (offset != 0 || !strstr(line, "/memfd:kevtrace-tables")) continue;
    view.tables = (const kevt_tables*)start;
  }
  if (maps) fclose(maps);
  if (!view.tables) return view;
  view.session = (kevt_session*)view.tables->session;
  view.owners = (kevt_shard_owner*)view.tables->owners;
  view.words = (uint64_t*)(view.owners + KEVT_OWNER_NOTES);
  return view;
}

static uint64_t state;
static uint64_t draw(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}
static uint64_t below(uint64_t limit) { return limit ? draw() % limit : 0; }

static void spin(uint64_t turns) {
  while (turns--) __asm__ volatile("pause" ::: "memory");
}

static kevt_ring* ring_of(const struct view* view, uint64_t number) {
  return (kevt_ring*)(view->tables->rings + number * view->tables->ring_stride);
}

/* ---- fuzz ------------------------------------------------------------------------------------ */

static uint64_t nasty(const struct view* view, const struct victims* victims, uint64_t now) {
  switch (below(18)) {
    case 0:
      return 0;
    case 1:
      return ~0ull;
    case 2:
      return 1ull << 63;
    case 3:
      return 1ull << below(64);
    case 4:
      return below(2) ? 0x7fffffff : 0xffffffff;
    case 5:
      return now + below(64);
    case 6:
      return now - below(64);
    case 7:
      return now ^ 1ull << below(64);
    case 8:
      return (uint64_t)victims->pid << 32 | victims->tids[below((uint64_t)victims->count)];
    case 9:
      return (uint64_t)&touch;
    case 10:
      return view->tables->code_begin + below(view->tables->code_end - view->tables->code_begin);
    case 11:
      return view->tables->self + below(sizeof(kevt_tables));
    case 12:
      return now + view->tables->ring_bytes - below(64);
    case 13:
      return view->tables->max_shards - below(3);
    case 14:
      return KEVT_OWNER_NOTES * below(1ull << 40);
    case 15:
      return below(1024);
    default:
      return draw();
  }
}

/* A record as a writer makes one, but for one thing. */
static uint64_t* forge_record(const struct view* view, uint64_t* value) {
  const uint64_t number = below(view->tables->ring_count);
  kevt_ring* ring = ring_of(view, number);
  const uint64_t position = (below(2) ? ring->tail : ring->head) + below(8) * 8;
  const uint64_t at = position & (view->tables->ring_bytes - 1);
  uint64_t* record = (uint64_t*)((uint64_t)ring + KEVT_RING_HEADER + (at & ~7ull));
  *value = below(1u << KEVT_RECORD_PAYLOAD_BITS) | number << KEVT_RECORD_RING_SHIFT | KEVT_RECORD_TAG(position);
  record[1] = draw();
  record[2] = below(4) ? below(2048) : draw(); /* the event and whose it is */
  for (int i = 3; i < 8; i++) record[i] = below(2) ? draw() : below(1u << 20);
  return record;
}

/* Where counters are already: looking at others would make pages, of which there is room for gigabytes. */
static uint64_t* some_counter(const struct view* view) {
  const uint64_t shards = 64 < view->tables->max_shards ? 64 : view->tables->max_shards;
  const uint64_t at = KEVT_ROW_OFFSET(below(view->tables->used_rows), view->tables->group_bytes);
  return (uint64_t*)(view->tables->counts + at + KEVT_SHARD_OFFSET(below(shards))) + below(8);
}

static uint64_t* some_word(const struct view* view) {
  kevt_session* session = view->session;
  const uint64_t number = below(view->tables->ring_count);
  switch (below(8)) {
    case 0:
    case 1:
      return &(&session->next_shard)[below(4)];
    case 2:
      return &session->shard_users[below(below(8) ? 64 : KEVT_MAX_SHARDS)];
    case 3:
      return (uint64_t*)&session->execs[below(KEVT_EXEC_ASKS)];
    case 4:
      return (uint64_t*)&view->owners[below(below(4) ? 64 : KEVT_OWNER_NOTES)] + below(4);
    case 5:
      return below(2) ? &view->words[below(KEVT_SHARED_WORDS)] : some_counter(view);
    case 6: {
      kevt_ring* ring = ring_of(view, number);
      return below(2) ? &ring->head : below(2) ? &ring->tail : &ring->limit;
    }
    default:
      return (uint64_t*)((uint64_t)ring_of(view, number) + below(KEVT_RING_HEADER + view->tables->ring_bytes) / 8 * 8);
  }
}

static _Noreturn void fuzz(const struct view* view, const struct victims* victims) {
  enum { MOST = 16 };
  for (;;) {
    uint64_t* at[MOST];
    uint64_t before[MOST];
    const int count = 1 + (int)below(MOST), is_taken_back = below(4) != 0;
    for (int i = 0; i < count; i++) {
      uint64_t value = 0;
      at[i] = below(8) ? some_word(view) : forge_record(view, &value);
      before[i] = *at[i];
      __atomic_store_n(at[i], value ? value : nasty(view, victims, before[i]), __ATOMIC_RELEASE);
    }
    spin(below(4) ? below(64) : below(100000));
    for (int i = count; is_taken_back && i-- > 0;) __atomic_store_n(at[i], before[i], __ATOMIC_RELEASE);
    spin(below(4) ? 0 : below(10000));
  }
}

/* ---- lies ------------------------------------------------------------------------------------ */

static void ask_as(kevt_session* session, int ask, uint32_t tid, uint32_t state_then) {
  session->execs[ask].tid = tid;
  __atomic_store_n(&session->execs[ask].state, state_then, __ATOMIC_RELEASE);
}

static void ask_all(const struct view* view, const struct victims* victims) {
  const uint32_t others[] = {0, 1, victims->bystander, 0xffffffff, victims->pid};
  for (int ask = 0; ask < KEVT_EXEC_ASKS; ask++)
    ask_as(view->session, ask, below(4) ? victims->tids[below((uint64_t)victims->count)] : others[below(5)],
           KEVT_EXEC_ASKED);
}

static _Noreturn void ask_for_ever(const struct view* view, const struct victims* victims) {
  for (;;) {
    ask_all(view, victims);
    spin(below(50000));
    if (!below(4)) ask_as(view->session, (int)below(KEVT_EXEC_ASKS), (uint32_t)draw(), (uint32_t)below(8));
  }
}

static _Noreturn void misanswer_reports(const struct view* view) {
  const uint64_t far = 1ull << 40;
  uint64_t* reports = &view->session->library_reports;
  for (;;) {
    __atomic_store_n(reports, far, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(reports, __ATOMIC_SEQ_CST) == far) spin(1);
    for (uint64_t lie = 1; lie < 1000000; lie++) {
      __atomic_store_n(reports, lie, __ATOMIC_SEQ_CST);
      spin(5000);
    }
  }
}

static _Noreturn void name_many(const struct view* view, const struct victims* victims) {
  for (uint64_t i = 0; i < KEVT_OWNER_NOTES; i++)
    view->owners[i] = (kevt_shard_owner){
        .tid = victims->tids[i % (uint64_t)victims->count], .pid = victims->pid, .comm = {0}, .lap = ~0ull};
  for (;;) {
    __atomic_fetch_add(&view->session->next_note, KEVT_OWNER_NOTES, __ATOMIC_SEQ_CST);
    spin(5000);
  }
}

static _Noreturn void run_ahead(const struct view* view) {
  for (uint64_t i = 0;; i++) {
    kevt_ring* ring = ring_of(view, i % view->tables->ring_count);
    __atomic_store_n(&ring->limit, ~0ull >> 1, __ATOMIC_RELAXED);
    for (int n = 0; n < 100; n++) __atomic_fetch_add(&ring->head, 64, __ATOMIC_RELAXED);
  }
}

static _Noreturn void rest(int silence) {
  char byte;
  for (;;)
    if (read(silence, &byte, 1) == 0) spin(1000000);
}

static const char* const kinds[] = {"fuzz", "asks", "asks_once", "claims", "libraries", "names", "heads"};

int is_attack(const char* kind) {
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (!strcmp(kind, kinds[i])) return 1;
  return 0;
}

void attack(const char* kind, const struct view* view, const struct victims* victims, uint64_t seed) {
  state = seed * 2 + 1;
  if (!strcmp(kind, "fuzz")) fuzz(view, victims);
  if (!strcmp(kind, "asks")) ask_for_ever(view, victims);
  if (!strcmp(kind, "libraries")) misanswer_reports(view);
  if (!strcmp(kind, "names")) name_many(view, victims);
  if (!strcmp(kind, "heads")) run_ahead(view);
  if (!strcmp(kind, "asks_once")) ask_all(view, victims);
  if (!strcmp(kind, "claims"))
    for (int ask = 0; ask < KEVT_EXEC_ASKS; ask++) ask_as(view->session, ask, victims->pid, KEVT_EXEC_CLAIMED);
  rest(victims->silence);
}
