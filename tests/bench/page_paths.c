/*
 * Ways of a page of records into a file: CPU time per page of 4096 bytes, of filling it and of handing it over.
 *
 *     page_paths FILE [PAGES]
 *
 * write     filled in our memory, 64 at once by pwrite                      (what recordings do)
 * mapped    filled in the file's own pages, mapped shared
 * vmsplice  filled in our memory, lent to a pipe, spliced into the file
 * memfd     filled in a memfd, copy_file_range into the file
 *
 * adr/0018 has figures. The file is emptied between them.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGE = 4096, BATCH = 64 };
static int file, memory, ends[2], refused;
static char *buffer, *shared;

static void fail(const char* what) {
  perror(what);
  exit(1);
}

/* 56-byte records, as the recorder lays them out. */
static void fill(char* page, long number) {
  char record[56] = {0};
  for (int at = 16; at + 56 <= PAGE; at += 56) {
    memcpy(record, &number, sizeof number);
    memcpy(page + at, record, sizeof record);
  }
}

static void fill_batch(char* to, long number) {
  for (int i = 0; i < BATCH; ++i) fill(to + i * PAGE, number + i);
}

static void by_write(long first) {
  fill_batch(buffer, first);
  if (pwrite(file, buffer, BATCH * PAGE, first * PAGE) != BATCH * PAGE) fail("pwrite");
}

static void by_mapping(long first) {
  char* at = mmap(NULL, BATCH * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, first * PAGE);
  if (at == MAP_FAILED) fail("mmap");
  fill_batch(at, first);
  munmap(at, BATCH * PAGE);
}

static void by_vmsplice(long first) {
  /* Lent pages must not change until they are out: a buffer of its own each time. */
  char* lent = mmap(NULL, BATCH * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct iovec piece = {lent, BATCH * PAGE};
  loff_t to = first * PAGE;
  fill_batch(lent, first);
  while (piece.iov_len) {
    ssize_t in = vmsplice(ends[1], &piece, 1, SPLICE_F_GIFT);
    if (in <= 0) fail("vmsplice");
    piece.iov_base = (char*)piece.iov_base + in;
    piece.iov_len -= (size_t)in;
    for (ssize_t out; in > 0; in -= out)
      if ((out = splice(ends[0], NULL, file, &to, (size_t)in, SPLICE_F_MOVE)) <= 0) fail("splice");
  }
  munmap(lent, BATCH * PAGE);
}

static void by_memfd(long first) {
  loff_t from = 0, to = first * PAGE;
  size_t left = BATCH * PAGE;
  fill_batch(shared, first);
  while (left) {
    ssize_t out = copy_file_range(memory, &from, file, &to, left, 0);
    if (out <= 0) {
      refused = 1; /* EXDEV: between file systems the kernel does not copy */
      return;
    }
    left -= (size_t)out;
  }
}

static double cpu_ns(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return 1e9 * (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e3 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*batch)(long first);
  } kWays[] = {{"write", by_write}, {"mapped", by_mapping}, {"vmsplice", by_vmsplice}, {"memfd", by_memfd}};
  const long pages = argc > 2 ? atol(argv[2]) / BATCH * BATCH : 65536;
  if (argc < 2 || pages <= 0) return fprintf(stderr, "usage: page_paths FILE [PAGES]\n"), 2;
  buffer = aligned_alloc(PAGE, BATCH * PAGE);
  memory = memfd_create("pages", MFD_CLOEXEC);
  if (ftruncate(memory, BATCH * PAGE) < 0) fail("memfd");
  shared = mmap(NULL, BATCH * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  if (pipe(ends) < 0 || fcntl(ends[1], F_SETPIPE_SZ, BATCH * PAGE) < 0) fail("pipe");
  for (int round = 0; round < 3; ++round)
    for (unsigned way = 0; way < sizeof kWays / sizeof kWays[0]; ++way) {
      file = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
      if (file < 0 || ftruncate(file, pages * PAGE) < 0) fail(argv[1]);
      const double before = cpu_ns();
      refused = 0;
      for (long first = 0; first < pages && !refused; first += BATCH) kWays[way].batch(first);
      if (refused)
        printf("%-9s refused by this file system\n", kWays[way].name);
      else
        printf("%-9s %7.0f ns a page\n", kWays[way].name, (cpu_ns() - before) / (double)pages);
      close(file);
      unlink(argv[1]);
    }
  return 0;
}
