/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Running a verified program from a probe's handler.
 *
 * The verifier has proved a program for the place it is attached to.  Here it runs from handlers of our own, so what
 * the kernel's own attachment does around a run is done here, too: a run context (helpers such as
 * bpf_get_attach_cookie() read it without looking), and no run inside another one on the same CPU, ours or the kernel's
 * (active.c), which is missed instead.  Preemption is off in all handlers; that is what RCU waits for as well.
 *
 * Hits in NMIs run, as the kernel's own do: helpers know of them, and a breakpoint in the kernel looks like one
 * (exc_int3() of arch/x86/kernel/traps.c).
 */
#ifndef KEVT_RUN_H
#define KEVT_RUN_H

#include <linux/percpu.h>

#include "active.h"
#include "compat.h"
#include "probe.h"

DECLARE_PER_CPU(bool, kevt_running);

/* False: this hit is missed, and counted.  Otherwise kevt_end() follows. */
static __always_inline bool kevt_begin(struct kevt_probe *probe)
{
	if (unlikely(__this_cpu_read(kevt_running))) {
		__this_cpu_inc(probe->counts->missed);
		return false;
	}
	__this_cpu_write(kevt_running, true);
	return true;
}

static __always_inline void kevt_end(void)
{
	__this_cpu_write(kevt_running, false);
}

/* Between kevt_begin() and kevt_end(). */
static __always_inline void kevt_run(struct kevt_probe *probe, u64 cookie, struct pt_regs *regs)
{
	struct bpf_trace_run_ctx context = {.bpf_cookie = cookie};
	struct bpf_run_ctx *outer;

	if (likely(__this_cpu_inc_return(*kevt_prog_active) == 1)) {
		__this_cpu_inc(probe->counts->hits);
		outer = bpf_set_run_ctx(&context.run_ctx);
		bpf_prog_run(probe->prog, regs);
		bpf_reset_run_ctx(outer);
	} else {
		__this_cpu_inc(probe->counts->missed);
	}
	__this_cpu_dec(*kevt_prog_active);
}

#endif
