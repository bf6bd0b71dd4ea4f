/* SPDX-License-Identifier: GPL-2.0 */
/* One probe: a verified BPF program behind a kprobe or kretprobe of ours. */
#ifndef KEVT_PROBE_H
#define KEVT_PROBE_H

#include <linux/kprobes.h>
#include <linux/types.h>

#include "common/abi/kmod.h"

struct bpf_prog;

struct kevt_counts {
	u64 hits;
	u64 missed; /* while another program ran on this CPU; the kernel counts others itself */
};

struct kevt_probe {
	struct kretprobe rp; /* an entry probe uses rp.kp alone */
	bool is_return;
	bool registered;
	bool armed;   /* entries.c: hits at the entry of a function are taken */
	bool changed; /* by the request under way */
	u64 taken;    /* bytes, limits.c */
	struct bpf_prog *prog;
	u64 cookie;
	u16 kept[KEVT_KMOD_MAX_KEPT + 1]; /* as in kevt_kmod_probe */
	struct kevt_counts __percpu *counts;
	struct hlist_node same_hash; /* entries.c */
};

/* A probe that is not registered yet, or ERR_PTR: ENOSPC beyond a limit.  Takes its own reference to the program. */
struct kevt_probe *kevt_probe_make(const struct kevt_kmod_probe *wanted);
/* Registers the probe, disabled. */
int kevt_probe_register(struct kevt_probe *probe);
/*
 * Switches all of them, or none: then an error, and `failed` is the one in the way (`count`: none).  Probes that are so
 * already stay so.
 */
int kevt_probes_switch(struct kevt_probe **probes, u32 count, bool on, u32 *failed);
void kevt_probe_status(struct kevt_probe *probe, struct kevt_kmod_status *status);
/* Unregisters those that are registered, waiting once for all, and frees them. */
void kevt_probes_free(struct kevt_probe **probes, unsigned int count);

#endif
