/* What libc and the dynamic linker do at odd times: loading, ends, timers, descriptors. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "foreign.h"

static int constructed, tells_destruction;
__attribute__((constructor)) static void constructs(void) { constructed = (int)libc_strlen("constructed"); }
__attribute__((destructor)) static void destructs(void) {
  if (tells_destruction) say("destructor\n");
}

static int loads(void) {
  double sum = 0;
  for (int i = 0; i < 30; i++) {
    void* library = dlopen(i % 2 ? "libm.so.6" : "libresolv.so.2", RTLD_NOW);
    if (!library) return 3;
    double (*function)(double) = i % 2 ? (double (*)(double))dlsym(library, "floor") : NULL;
    if (function) sum += function(2.5);
    if (dlsym(library, "no_such_name")) return 4;
    if (dlclose(library)) return 5;
  }
  void* none = dlopen("libnowhere.so.99", RTLD_NOW);
  say("sum %f, none %d: %s\n", sum, none == NULL, dlerror());
  void* other = dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW);
  say("another namespace %d\n", other != NULL);
  if (other) dlclose(other);
  return 0;
}

static int one(void) { return 1; }
static int two(void) { return 2; }
static int (*resolves(void))(void) { return constructed ? one : two; }
int foreign_chosen(void) __attribute__((ifunc("resolves")));

static void says_first(void) { say("first\n"); }
static void says_second(void) {
  say("second\n");
  atexit(says_first);
}
static void says_status(int status, void* argument) { say("status %d %s\n", status, (char*)argument); }

static int ends(void) {
  say("constructed %d chosen %d\n", constructed, foreign_chosen());
  tells_destruction = 1;
  atexit(says_first);
  on_exit(says_status, "and argument");
  atexit(says_second);
  printf("buffered");
  exit(21);
}

static int ends_quickly(void) {
  tells_destruction = 1;
  atexit(says_first);
  at_quick_exit(says_second);
  at_quick_exit(says_first);
  printf("never written");
  quick_exit(22);
}

static jmp_buf out;
static void leaves(int signal) {
  (void)signal;
  say("handler leaves\n");
  longjmp(out, 1);
}
static void returns(int signal) { say("handler of %d returns\n", signal); }

static int aborts(void) {
  for (volatile int i = 0; i < 3; i++) {
    signal(SIGABRT, leaves);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGABRT);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    if (!setjmp(out)) abort();
  }
  signal(SIGABRT, SIG_DFL);
  in_child("plainly", abort);
  signal(SIGABRT, returns);
  tells_destruction = 1;
  atexit(says_first);
  abort();
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static int closes_all(void) {
  int before = dup(1);
  say("next %d\n", before);
  int kept = fcntl(1, F_DUPFD, 1100);
  dup2(kept, 1100);
  for (int fd = 0; fd < 1024; fd++) close(fd);
  int first = open("/dev/null", O_RDWR), second = open("/proc/self/status", O_RDONLY), ends[2];
  if (pipe(ends)) return 3;
  dprintf(1100, "%d %d %d %d\n", first, second, ends[0], ends[1]);
  syscall(SYS_close_range, 2, 1099, 0);
  first = dup(0);
  dprintf(1100, "%d\n", first);
  for (int i = 0; i < 50; i++) free(malloc(100));
  pid_t pid = fork();
  if (pid == 0) {
    syscall(SYS_close_range, 0, ~0U, 0);
    _exit(open("/dev/null", O_RDONLY) + 30);
  }
  int status;
  waitpid(pid, &status, 0);
  dprintf(1100, "child %d\n", WEXITSTATUS(status));
  dup2(1100, 1);
  syscall(SYS_close_range, 2, ~0U, 0);
  execl("/proc/self/exe", "foreign", "_hello", (char*)0);
  return 4;
}

static int low_descriptors(void) {
  int kept = dup(1);
  close(0), close(1), close(2);
  int in = open("lowest", O_CREAT | O_RDWR | O_TRUNC, 0600), other = dup(in), error = dup(in);
  printf("to the file\n");
  fprintf(stderr, "to the file, too\n");
  fflush(stdout);
  int status = system("echo of a shell; echo error >&2");
  dprintf(kept, "%d %d %d shell %d\n", in, other, error, status);
  char text[100] = "";
  lseek(in, 0, SEEK_SET);
  ssize_t length = read(in, text, sizeof text - 1);
  dprintf(kept, "%zd: %s", length, text);
  return 0;
}

static int shells(void) {
  char line[100];
  for (int i = 0; i < 4; i++) {
    FILE* from = popen("read a; echo $((a + 1)); exit 4", i & 1 ? "re" : "r");
    say("got %s", fgets(line, sizeof line, from) ? line : "nothing\n");
    say_ended("shell", pclose(from));
    say_ended("signal", system("kill -SEGV $$"));
  }
  return 0;
}

/* ---- timers ---------------------------------------------------------------------------------- */

static volatile sig_atomic_t ticks;
static sem_t ticked;
static void* volatile held[64];

static void ticks_on(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)info, (void)context;
  ticks++;
  libc_strlen("tick");
}

/* Alarms in the middle of malloc() and free(). */
static int alarm_storm(void) {
  struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
  handle(SIGALRM, ticks_on, SA_RESTART);
  handle(SIGVTALRM, ticks_on, SA_RESTART);
  setitimer(ITIMER_REAL, &often, NULL);
  setitimer(ITIMER_VIRTUAL, &often, NULL);
  unsigned long sum = 0;
  for (unsigned i = 0; i < 30000 || ticks < 20; i++) {
    free(held[i % 64]);
    char* some = held[i % 64] = malloc(1 + i * 7919 % 5000);
    some[0] = (char)i;
    if (i < 30000) sum += (unsigned char)some[0];
  }
  setitimer(ITIMER_REAL, &never, NULL);
  setitimer(ITIMER_VIRTUAL, &never, NULL);
  say("sum %lu, ticked %d\n", sum, ticks >= 20);
  return 0;
}

static void in_a_thread(union sigval value) {
  __atomic_add_fetch(&ticks, value.sival_int, __ATOMIC_SEQ_CST);
  free(malloc(100));
  sem_post(&ticked);
}

static int timers(void) {
  sem_init(&ticked, 0, 0);
  struct itimerspec soon = {{0, 0}, {0, 1000000}};
  for (int i = 0; i < 10; i++) {
    timer_t timer;
    struct sigevent event = {
        .sigev_notify = SIGEV_THREAD, .sigev_notify_function = in_a_thread, .sigev_value = {.sival_int = i}};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &soon, NULL)) return 3;
    while (sem_wait(&ticked)) continue;
    timer_delete(timer);
  }
  say("by threads %d\n", ticks);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN + 3);
  sigprocmask(SIG_BLOCK, &set, NULL);
  for (int i = 0; i < 10; i++) {
    timer_t timer;
    siginfo_t info;
    struct sigevent event = {
        .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 3, .sigev_value = {.sival_int = i}};
    event._sigev_un._tid = gettid();
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &soon, NULL)) return 4;
    if (sigwaitinfo(&set, &info) < 0) return 5;
    if (info.si_code != SI_TIMER || info.si_value.sival_int != i) return 6;
    timer_delete(timer);
  }
  signal(SIGALRM, SIG_DFL);
  say("by signals\n");
  ualarm(20000, 0);
  for (;;) libc_strlen("until the alarm");
}

const struct foreign_case kLibraryCases[] = {{"library_loads", loads},
                                             {"library_ends", ends},
                                             {"library_ends_quickly", ends_quickly},
                                             {"library_aborts", aborts},
                                             {"descriptor_closes_all", closes_all},
                                             {"descriptor_low", low_descriptors},
                                             {"library_shells", shells},
                                             {"timer_alarm_storm", alarm_storm},
                                             {"timer_kinds", timers},
                                             {NULL, NULL}};
