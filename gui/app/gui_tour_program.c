/* shop: what the tour of the window traces. It serves requests; after a pause a new version of one function reads its
 * file three times. */
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#define STEP __attribute__((noinline))

static char page[4096];
static volatile int done; /* else the last call of a function would be a jump */

STEP static void read_file(const char* path) {
  const int fd = open(path, O_RDONLY);
  if (fd < 0) return;
  done += read(fd, page, sizeof page) > 0;
  close(fd);
}
STEP static void look_up_customer(void) {
  read_file("/etc/passwd");
  ++done;
}
STEP static void look_up_prices(int version) {
  for (int i = 0; i < (version == 1 ? 1 : 3); ++i) read_file("/etc/services");
  ++done;
}
STEP static void render(int out, int number) { done += write(out, page, 100u * (unsigned)(number % 7)) > 0; }
STEP static void handle(int out, int number, int version) {
  look_up_customer();
  look_up_prices(version);
  render(out, number);
  ++done;
}
STEP static void serve(int out, int version) {
  for (int i = 0; i < 300; ++i) handle(out, i, version);
  ++done;
}

int main(void) {
  const int out = open("/dev/null", O_WRONLY);
  const struct timespec pause = {0, 20000000};
  serve(out, 1);
  nanosleep(&pause, 0);
  serve(out, 2);
  return done == 0;
}
