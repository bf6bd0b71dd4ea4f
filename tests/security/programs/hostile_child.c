/*
 * hostile_child LIBRARY: a server that forks children which go on without exec, under another uid (where this is root)
 * and in seccomp's strict mode, and attack their parent through the tracer's memory.  Commands on standard input, one a
 * line, answers on standard output:
 *
 *   ready               printed first
 *   check root|user     a child tries to write to what is read-only (hostile.h)
 *   attack KIND SEED    "attack PID": a child attacks from now on
 *   retreat             "retreat N": it has been killed, as all others
 *   work                threads hit, are born, fork, spawn and load LIBRARY from now on
 *   rest                "rest CALLS BIRTHS FORKS LOADS ERRORS": how often, and how many results were wrong
 *   calls N             "calls SUM": of N calls of touch(), which are probed
 *   load                "load ERRORS": LIBRARY is loaded, called and unloaded
 *   spawn               "spawn STATUS": of /bin/true, by fork and execve
 *   end                 ends with status 0
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"
#include "touched.h"

enum { NOBODY = 65534, WORKERS = 5 };

static const char* library;
static pid_t bystander;
static struct victims victims;
static volatile int* begun; /* shared with the children */
static pid_t attackers[16];
static int attacker_count;
static volatile int is_working;
static volatile long calls, births, forks, loads, errors;

NOT_INLINED long descend(long levels) { return levels ? descend(levels - 1) + 1 : touch(1, "deep", NULL); }

static void add(volatile long* count, long more) { __atomic_fetch_add((long*)count, more, __ATOMIC_RELAXED); }

static void check(int is_right) {
  if (!is_right) add(&errors, 1);
}

/* ---- work ------------------------------------------------------------------------------------ */

static void hit_all(long n) {
  check(touch(n, "a text", &n) == 3 * n + 1);
  check(touch_short(n, "a text that is longer than sixteen bytes", &n) == n);
  check(descend(n % 20) == 4 + n % 20);
}

static void* hit(void* nothing) {
  for (long n = 0; is_working; n++) {
    hit_all(n);
    add(&calls, 1);
    if (n % 16 == 0) usleep(50);
  }
  return nothing;
}

static void* live(void* n) {
  hit_all((long)n);
  return NULL;
}

static void* give_birth(void* nothing) {
  for (long n = 0; is_working; n++) {
    pthread_t one;
    check(pthread_create(&one, NULL, live, (void*)n) == 0 && pthread_join(one, NULL) == 0);
    add(&births, 1);
    usleep(100);
  }
  return nothing;
}

extern char** environ;

static int status_of(pid_t pid) {
  int status = -1;
  return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

static int spawn(void) {
  char* words[] = {"true", NULL};
  const pid_t pid = fork();
  if (pid == 0) {
    execve("/bin/true", words, environ);
    _exit(99);
  }
  return status_of(pid);
}

static void* have_children(void* nothing) {
  char* words[] = {"true", NULL};
  while (is_working) {
    pid_t pid = fork();
    if (pid == 0) _exit(touch(2, "child", NULL) == 7 ? 0 : 1);
    check(status_of(pid) == 0);
    check(posix_spawn(&pid, "/bin/true", NULL, NULL, words, environ) == 0 && status_of(pid) == 0);
    check(spawn() == 0);
    add(&forks, 1);
    usleep(1000);
  }
  return nothing;
}

static void load_once(void) {
  void* loaded = dlopen(library, RTLD_NOW);
  int (*late)(int) = loaded ? (int (*)(int))dlsym(loaded, "comes_late") : NULL;
  check(late && late(21) == 42);
  if (loaded) check(dlclose(loaded) == 0);
}

static void* load(void* nothing) {
  while (is_working) {
    load_once();
    add(&loads, 1);
    usleep(1000);
  }
  return nothing;
}

static pthread_t workers[WORKERS];

static void start_work(void) {
  void* (*const all[WORKERS])(void*) = {hit, hit, give_birth, have_children, load};
  calls = births = forks = loads = errors = 0;
  is_working = 1;
  for (int i = 0; i < WORKERS; i++) pthread_create(&workers[i], NULL, all[i], NULL);
}

static void end_work(void) {
  is_working = 0;
  for (int i = 0; i < WORKERS; i++) pthread_join(workers[i], NULL);
  printf("rest %ld %ld %ld %ld %ld\n", calls, births, forks, loads, errors);
}

/* ---- attacks --------------------------------------------------------------------------------- */

static void drop_rights(void) {
  if (geteuid() != 0) return;
  if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY)) _exit(98);
}

static void begin_attack(const char* kind, uint64_t seed) {
  const int number = attacker_count;
  int pair[2];
  if (pipe2(pair, O_CLOEXEC)) return;
  victims.silence = pair[0];
  victims.pid = (uint32_t)getpid();
  victims.bystander = (uint32_t)bystander;
  const pid_t pid = fork();
  if (pid < 0) _exit(96);
  if (pid == 0) {
    const struct view view = find_view();
    drop_rights();
    if (!view.tables || !is_attack(kind)) _exit(97);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
    begun[number] = 1;
    attack(kind, &view, &victims, seed);
  }
  while (!begun[number] && waitpid(pid, NULL, WNOHANG) == 0) sched_yield();
  attackers[attacker_count++] = pid;
  close(pair[0]);
  close(pair[1]);
  printf("attack %d\n", begun[number] ? pid : -1);
}

static void retreat(void) {
  for (int i = 0; i < attacker_count; i++) {
    kill(attackers[i], SIGKILL);
    waitpid(attackers[i], NULL, 0);
    begun[i] = 0;
  }
  printf("retreat %d\n", attacker_count);
  attacker_count = 0;
}

static void check_rights(const char* who) {
  fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) {
    if (!strcmp(who, "user")) drop_rights();
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    try_to_write();
    _exit(0);
  }
  if (status_of(pid) != 0) printf("the child that tried has crashed\n");
}

static pthread_barrier_t all_there;

static void* stay(void* place) {
  *(uint32_t*)place = (uint32_t)gettid();
  pthread_barrier_wait(&all_there);
  for (;;) pause();
  return NULL;
}

/* Threads that only wait, to be named by others. */
static void have_victims(void) {
  enum { COUNT = 8 };
  pthread_barrier_init(&all_there, NULL, COUNT + 1);
  for (int i = 0; i < COUNT; i++) {
    pthread_t one;
    pthread_create(&one, NULL, stay, &victims.tids[i]);
    pthread_detach(one);
  }
  pthread_barrier_wait(&all_there);
  victims.tids[COUNT] = (uint32_t)getpid();
  victims.count = COUNT + 1;
}

static int answer(char* line) {
  char* words[3] = {strtok(line, " \n"), strtok(NULL, " \n"), strtok(NULL, " \n")};
  if (!words[0] || !strcmp(words[0], "end")) return 0;
  if (!strcmp(words[0], "work")) start_work();
  if (!strcmp(words[0], "rest")) end_work();
  if (!strcmp(words[0], "retreat")) retreat();
  if (!strcmp(words[0], "spawn")) printf("spawn %d\n", spawn());
  if (!strcmp(words[0], "check") && words[1]) check_rights(words[1]);
  if (!strcmp(words[0], "attack") && words[2]) begin_attack(words[1], strtoull(words[2], NULL, 10));
  if (!strcmp(words[0], "load")) {
    errors = 0;
    load_once();
    printf("load %ld\n", errors);
  }
  if (!strcmp(words[0], "calls") && words[1]) {
    uint64_t sum = 0;
    for (long n = 0; n < atol(words[1]); n++) sum = sum * 31 + (uint64_t)touch(n, "a text", &n);
    printf("calls %lu\n", sum);
  }
  return 1;
}

int main(int argc, char** argv) {
  char line[256];
  library = argc > 1 ? argv[1] : "";
  setvbuf(stdout, NULL, _IOLBF, 0);
  begun = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  bystander = fork();
  if (bystander < 0) return 96;
  if (bystander == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  have_victims();
  printf("ready %d\n", bystander);
  while (fgets(line, sizeof line, stdin) && answer(line)) {
  }
  kill(bystander, SIGKILL);
  return 0;
}
