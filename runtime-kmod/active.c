// SPDX-License-Identifier: GPL-2.0
/*
 * Finding bpf_prog_active.
 *
 * The kernel runs one program of a kprobe, tracepoint or perf event at a time on a CPU, and none while a map's bucket
 * is locked by a system call; trace_call_bpf() and bpf_disable_instrumentation() count that in bpf_prog_active.  A
 * program that ran beside that count could wait for a lock that its own CPU holds, and from 6.13 on it could find its
 * private stack in use: programs of type KPROBE have one stack for each CPU, because this count keeps them apart.  So
 * our runs take part in it.
 *
 * The counter is not exported. kallsyms_lookup_name() tells its address and is not exported either, but a kprobe tells
 * where that function is.  The call is a static call: a direct one, which needs no landing pad behind the probe's
 * address.
 */
#include <linux/cache.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/printk.h>
#include <linux/static_call.h>

#include "active.h"

int __percpu *kevt_prog_active __ro_after_init;

static unsigned long nobody(const char *name)
{
	return 0;
}

DEFINE_STATIC_CALL(kevt_look_up, nobody);

int kevt_active_init(void)
{
	struct kprobe at = {.symbol_name = "kallsyms_lookup_name"};
	unsigned long found = 0;

	if (!register_kprobe(&at)) {
		static_call_update(kevt_look_up, (typeof(&nobody))at.addr);
		unregister_kprobe(&at);
		found = static_call(kevt_look_up)("bpf_prog_active");
		static_call_update(kevt_look_up, &nobody);
	}
	if (!found) {
		pr_err("kevtrace: this kernel does not tell where bpf_prog_active is (CONFIG_KALLSYMS_ALL): programs "
		       "could run inside each other\n");
		return -ENXIO;
	}
	kevt_prog_active = (__force int __percpu *)found;
	return 0;
}
