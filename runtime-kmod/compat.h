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

/* Whether the program may change registers, which a kprobe must not allow. */
static inline bool kevt_prog_writes_registers(const struct bpf_prog *prog)
{
#if defined(KEVT_HAS_WRITE_CTX)
	return prog->aux->kprobe_write_ctx;
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
#error "programs may write registers on this kernel; where does it say which do?"
#else
	return false;
#endif
}

#endif
