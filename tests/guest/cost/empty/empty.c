// SPDX-License-Identifier: GPL-2.0
/* A kprobe and a kretprobe that do nothing, to measure what the others add: insmod empty.ko kind=entry|return */
#include <linux/kprobes.h>
#include <linux/module.h>

static char* kind = "entry";
module_param(kind, charp, 0);

static int nothing(struct kprobe* kp, struct pt_regs* regs) { return 0; }

static int nothing_at_return(struct kretprobe_instance* instance, struct pt_regs* regs) { return 0; }

static struct kprobe entry = {.symbol_name = "vfs_read", .pre_handler = nothing};
static struct kretprobe ret = {.kp.symbol_name = "vfs_read", .handler = nothing_at_return};

static int __init start(void) { return kind[0] == 'r' ? register_kretprobe(&ret) : register_kprobe(&entry); }

static void __exit stop(void) {
  if (kind[0] == 'r')
    unregister_kretprobe(&ret);
  else
    unregister_kprobe(&entry);
}

module_init(start);
module_exit(stop);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Empty probes");
