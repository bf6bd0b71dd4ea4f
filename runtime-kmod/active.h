/* SPDX-License-Identifier: GPL-2.0 */
/* bpf_prog_active: whether a BPF program of kprobes, tracepoints or perf runs on this CPU, or none may run. */
#ifndef KEVT_ACTIVE_H
#define KEVT_ACTIVE_H

#include <linux/percpu.h>

/* The kernel's own counter: whoever raises it from 0 to 1 may run a program. */
extern int __percpu *kevt_prog_active;

int kevt_active_init(void);

#endif
