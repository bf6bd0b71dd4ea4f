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
	u64 in_nmi;
};

struct kevt_probe {
	struct kretprobe rp; /* an entry probe uses rp.kp alone */
	bool is_return;
	bool registered;
	struct bpf_prog *prog;
	u64 cookie;
	u16 kept[KEVT_KMOD_MAX_KEPT + 1]; /* as in kevt_kmod_probe */
	struct kevt_counts __percpu *counts;
};

/* A probe that is not registered yet, or ERR_PTR.  Takes its own reference to the program. */
struct kevt_probe *kevt_probe_make(const struct kevt_kmod_probe *wanted);
int kevt_probe_register(struct kevt_probe *probe);
int kevt_probe_enable(struct kevt_probe *probe);
int kevt_probe_disable(struct kevt_probe *probe);
void kevt_probe_status(struct kevt_probe *probe, struct kevt_kmod_status *status);
/* Unregisters those that are registered, waiting once for all, and frees them. */
void kevt_probes_free(struct kevt_probe **probes, unsigned int count);

#endif
