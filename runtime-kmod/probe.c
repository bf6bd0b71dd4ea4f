// SPDX-License-Identifier: GPL-2.0
/*
 * Probes: kprobes and kretprobes that run a verified program (run.h).
 *
 * Hits at the entries of functions come through entries.c, all others from the kernel's kprobes.  Programs that may
 * sleep, change the return value or registers, or expect another context are refused.
 */
#include <linux/bitops.h>
#include <linux/percpu.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "entries.h"
#include "limits.h"
#include "run.h"

DEFINE_PER_CPU(bool, kevt_running);

static int on_entry(struct kprobe *kp, struct pt_regs *regs)
{
	struct kevt_probe *probe = container_of(kp, struct kevt_probe, rp.kp);

	if (kevt_begin(probe)) {
		kevt_run(probe, probe->cookie, regs);
		kevt_end();
	}
	return 0;
}
NOKPROBE_SYMBOL(on_entry);

/*
 * Called when the call has got an instance: the arguments that are kept there are this call's, whatever hits are
 * missed.
 */
static int keep_arguments(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(instance);
	u64 *words = (u64 *)instance->data;
	struct kevt_probe *probe;
	const u16 *number;

	if (unlikely(!rp)) /* it is being unregistered */
		return 1;
	probe = container_of(rp, struct kevt_probe, rp);
	*words++ = probe->cookie;
	for (number = probe->kept; *number; number++)
		*words++ = regs_get_kernel_argument(regs, *number - 1);
	return 0;
}
NOKPROBE_SYMBOL(keep_arguments);

static int on_return(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct kretprobe *rp = get_kretprobe(instance);
	struct kevt_probe *probe;

	if (unlikely(!rp))
		return 0;
	probe = container_of(rp, struct kevt_probe, rp);
	if (kevt_begin(probe)) {
		kevt_run(probe, probe->kept[0] ? (unsigned long)instance->data : probe->cookie, regs);
		kevt_end();
	}
	return 0;
}
NOKPROBE_SYMBOL(on_return);

/* Whether a program expects no more than a kprobe's registers and a run context. */
static bool may_run(const struct bpf_prog *prog)
{
	return !kevt_prog_sleeps(prog) && !prog->kprobe_override && !kevt_prog_writes_registers(prog) &&
	       prog->expected_attach_type == 0;
}

/* How many arguments are to be kept; negative: the list is not valid. */
static int kept_count(const struct kevt_kmod_probe *wanted)
{
	int count = 0, i;

	while (count <= KEVT_KMOD_MAX_KEPT && wanted->kept[count])
		count++;
	for (i = count; i <= KEVT_KMOD_MAX_KEPT; i++)
		if (wanted->kept[i])
			return -EINVAL;
	if (count > KEVT_KMOD_MAX_KEPT)
		return -E2BIG;
	return count && wanted->kind != KEVT_KMOD_RETURN ? -EINVAL : count;
}

static int check(const struct kevt_kmod_probe *wanted)
{
	if (wanted->kind != KEVT_KMOD_ENTRY && wanted->kind != KEVT_KMOD_RETURN)
		return -EINVAL;
	if (wanted->maxactive && wanted->kind != KEVT_KMOD_RETURN)
		return -EINVAL;
	if (wanted->maxactive > KEVT_KMOD_MAX_ACTIVE)
		return -E2BIG;
	if (kept_count(wanted) < 0)
		return kept_count(wanted);
	return wanted->address && wanted->id == 0 ? 0 : -EINVAL;
}

struct kevt_probe *kevt_probe_make(const struct kevt_kmod_probe *wanted)
{
	struct kevt_probe *probe;
	struct bpf_prog *prog;
	int error = check(wanted);

	if (error)
		return ERR_PTR(error);
	prog = bpf_prog_get_type_dev(wanted->program, BPF_PROG_TYPE_KPROBE, false);
	if (IS_ERR(prog))
		return ERR_CAST(prog);
	error = -EOPNOTSUPP;
	if (!may_run(prog))
		goto put;
	error = -ENOMEM;
	probe = kzalloc(sizeof(*probe), GFP_KERNEL_ACCOUNT);
	if (!probe)
		goto put;
	probe->counts = alloc_percpu_gfp(struct kevt_counts, GFP_KERNEL_ACCOUNT);
	if (!probe->counts)
		goto free;
	probe->prog = prog;
	probe->cookie = wanted->cookie;
	probe->is_return = wanted->kind == KEVT_KMOD_RETURN;
	probe->rp.kp.addr = (kprobe_opcode_t *)(unsigned long)wanted->address;
	probe->rp.kp.flags = KPROBE_FLAG_DISABLED;
	if (probe->is_return) {
		probe->rp.handler = on_return;
		probe->rp.maxactive = wanted->maxactive;
		memcpy(probe->kept, wanted->kept, sizeof(probe->kept));
		if (probe->kept[0]) {
			probe->rp.entry_handler = keep_arguments;
			probe->rp.data_size = sizeof(u64) * (1 + kept_count(wanted));
		}
	} else {
		probe->rp.kp.pre_handler = on_entry;
	}
	error = kevt_limits_take(probe);
	if (!error)
		return probe;
	free_percpu(probe->counts);
free:
	kfree(probe);
put:
	bpf_prog_put(prog);
	return ERR_PTR(error);
}

int kevt_probe_register(struct kevt_probe *probe)
{
	int error = probe->is_return ? register_kretprobe(&probe->rp) : register_kprobe(&probe->rp.kp);

	probe->registered = !error;
	if (!error && kevt_is_entry(probe))
		kevt_entries_add(probe);
	return error;
}

/* One after another: the kernel has no call for many. */
static int switch_breakpoints(struct kevt_probe **probes, u32 count, bool on, u32 *failed)
{
	u32 i;

	for (i = 0; i < count; i++) {
		struct kprobe *kp = &probes[i]->rp.kp;
		int error;

		if (kevt_is_entry(probes[i]) || kprobe_disabled(kp) != on)
			continue;
		error = on ? enable_kprobe(kp) : disable_kprobe(kp);
		if (!error)
			probes[i]->changed = true;
		if (!error && fatal_signal_pending(current))
			error = -EINTR;
		if (error) {
			*failed = i;
			return error;
		}
		cond_resched();
	}
	return 0;
}

int kevt_probes_switch(struct kevt_probe **probes, u32 count, bool on, u32 *failed)
{
	int error;
	u32 i;

	*failed = count;
	for (i = 0; i < count; i++)
		probes[i]->changed = false;
	error = switch_breakpoints(probes, count, on, failed);
	if (!error)
		error = kevt_entries_switch(probes, count, on, failed);
	if (!error)
		return 0;
	for (i = 0; i < count; i++) {
		struct kprobe *kp = &probes[i]->rp.kp;

		if (!kevt_is_entry(probes[i]) && probes[i]->changed)
			on ? disable_kprobe(kp) : enable_kprobe(kp);
	}
	return error;
}

/* An optimized probe is a jump where the program had something else. */
static bool is_optimized(const struct kprobe *kp)
{
	const u8 jump = 0xe9;

	if (kprobe_gone((struct kprobe *)kp) || kprobe_ftrace((struct kprobe *)kp) ||
	    kprobe_disabled((struct kprobe *)kp))
		return false;
	return kp->opcode != jump && READ_ONCE(*(u8 *)kp->addr) == jump;
}

void kevt_probe_status(struct kevt_probe *probe, struct kevt_kmod_status *status)
{
	struct kprobe *kp = &probe->rp.kp;
	int cpu;

	memset(status, 0, sizeof(*status));
	status->missed = kp->nmissed + (probe->is_return ? probe->rp.nmissed : 0);
	for_each_possible_cpu(cpu)
	{
		const struct kevt_counts *counts = per_cpu_ptr(probe->counts, cpu);

		status->hits += READ_ONCE(counts->hits);
		status->missed += READ_ONCE(counts->missed);
	}
	if (kevt_is_entry(probe) ? !READ_ONCE(probe->armed) : kprobe_disabled(kp))
		status->state |= KEVT_KMOD_DISABLED;
	if (kprobe_gone(kp))
		status->state |= KEVT_KMOD_GONE;
	if (kprobe_ftrace(kp))
		status->state |= KEVT_KMOD_FTRACE;
	if (is_optimized(kp))
		status->state |= KEVT_KMOD_OPTIMIZED;
}

/* One synchronization for each kind of probe, however many probes there are. */
static void unregister(struct kevt_probe **probes, unsigned int count)
{
	struct kretprobe **returns = kvmalloc_array(count, sizeof(*returns), GFP_KERNEL);
	struct kprobe **entries = kvmalloc_array(count, sizeof(*entries), GFP_KERNEL);
	unsigned int i, return_count = 0, entry_count = 0;

	for (i = 0; i < count; i++) {
		struct kevt_probe *probe = probes[i];

		if (!probe->registered)
			continue;
		if (!returns || !entries) { /* without memory one by one */
			if (probe->is_return)
				unregister_kretprobe(&probe->rp);
			else
				unregister_kprobe(&probe->rp.kp);
		} else if (probe->is_return) {
			returns[return_count++] = &probe->rp;
		} else {
			entries[entry_count++] = &probe->rp.kp;
		}
	}
	if (return_count)
		unregister_kretprobes(returns, return_count);
	if (entry_count)
		unregister_kprobes(entries, entry_count);
	kvfree(returns);
	kvfree(entries);
}

void kevt_probes_free(struct kevt_probe **probes, unsigned int count)
{
	unsigned int i;

	if (!count)
		return;
	kevt_entries_remove(probes, count);
	unregister(probes, count);
	for (i = 0; i < count; i++) {
		kevt_limits_give_back(probes[i]);
		bpf_prog_put(probes[i]->prog);
		free_percpu(probes[i]->counts);
		kfree(probes[i]);
	}
}
