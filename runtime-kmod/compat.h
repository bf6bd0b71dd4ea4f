/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between the kernels that kevtrace.ko is built for. */
#ifndef KEVT_COMPAT_H
#define KEVT_COMPAT_H

#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/version.h>

static inline bool kevt_prog_sleeps(const struct bpf_prog *prog)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
	return prog->sleepable;
#else
	return prog->aux->sleepable;
#endif
}

#endif
