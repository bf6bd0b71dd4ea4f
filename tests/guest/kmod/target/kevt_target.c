// SPDX-License-Identifier: GPL-2.0
/* A module that goes while it is probed: each write to /sys/module/kevt_target/parameters/call calls kevt_called(). */
#include <linux/module.h>

int kevt_called(int number);

noinline int kevt_called(int number) {
  barrier();
  return number + 1;
}

static int on_write(const char* text, const struct kernel_param* parameter) {
  int number, error = kstrtoint(text, 0, &number);

  if (!error) WRITE_ONCE(*(int*)parameter->arg, kevt_called(number));
  return error;
}

static int last;
static const struct kernel_param_ops operations = {.set = on_write, .get = param_get_int};
module_param_cb(call, &operations, &last, 0600);

static int start(void) { return 0; }

static void stop(void) {}

module_init(start);
module_exit(stop);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A function to probe");
