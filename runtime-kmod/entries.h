/* SPDX-License-Identifier: GPL-2.0 */
/* Probes at the entries of functions: many are switched on or off by one change of ftrace's filter. */
#ifndef KEVT_ENTRIES_H
#define KEVT_ENTRIES_H

#include "probe.h"

int kevt_entries_init(void);
void kevt_entries_exit(void);

/* Whether hits of a registered probe are taken here, and not by the kernel's kprobes. */
static inline bool kevt_is_entry(const struct kevt_probe *probe)
{
	return kprobe_ftrace((struct kprobe *)&probe->rp.kp);
}

/* Adds a registered probe, not armed. */
void kevt_entries_add(struct kevt_probe *probe);
/* Switches those of `probes` that are entries, all or none; sets `changed` for those whose state changes. */
int kevt_entries_switch(struct kevt_probe **probes, u32 count, bool on, u32 *failed);
/* When this returns, no handler finds these probes any more, and none runs for them. */
void kevt_entries_remove(struct kevt_probe **probes, u32 count);

#endif
