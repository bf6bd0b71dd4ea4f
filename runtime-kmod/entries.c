// SPDX-License-Identifier: GPL-2.0
/*
 * Hits at the entries of functions.
 *
 * A kprobe at a function's entry stands on ftrace, and the kernel changes ftrace's filter for each one by itself: all
 * records of the kernel are looked at for every probe (kernel/kprobes.c, arm_kprobe_ftrace()).  So our kprobes there
 * are registered, which judges the place and tells when its module goes, but stay disabled; their hits come through
 * one ftrace_ops of ours, whose filter changes once for a batch.  docs/adr/0024.
 *
 * An empty filter would mean every function.  That is why an anchor which nobody calls is always in it.
 */
#include <linux/ftrace.h>
#include <linux/hash.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "entries.h"
#include "run.h"

enum { HASH_BITS = 12 };

/* Guards the filter, `armed`, and changes to the table.  Readers of the table have preemption off. */
static DEFINE_MUTEX(entries_lock);
static struct hlist_head table[1 << HASH_BITS];

static __always_inline struct hlist_head *bucket_of(unsigned long ip)
{
	return &table[hash_64(ip, HASH_BITS)];
}

static __always_inline unsigned long ip_of(const struct kevt_probe *probe)
{
	return (unsigned long)probe->rp.kp.addr;
}

/* What the kernel's own kprobe on ftrace does: the handler sees the registers as behind a breakpoint. */
static __always_inline void hit(struct kevt_probe *probe, unsigned long ip, struct pt_regs *regs)
{
	const unsigned long behind = regs->ip;

	if (!kevt_begin(probe))
		return;
	regs->ip = ip + sizeof(kprobe_opcode_t);
	if (probe->is_return) /* the kernel's: takes an instance and replaces the return address */
		probe->rp.kp.pre_handler(&probe->rp.kp, regs);
	else
		kevt_run(probe, probe->cookie, regs);
	regs->ip = behind;
	kevt_end();
}

static void notrace on_call(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
			    struct ftrace_regs *fregs)
{
	struct kevt_probe *probe;

	preempt_disable_notrace();
	hlist_for_each_entry_rcu_notrace(probe, bucket_of(ip),
					 same_hash) if (ip_of(probe) == ip && READ_ONCE(probe->armed))
		hit(probe, ip, ftrace_get_regs(fregs));
	preempt_enable_notrace();
}
NOKPROBE_SYMBOL(on_call);

static struct ftrace_ops entries = {
	.func = on_call,
	.flags = FTRACE_OPS_FL_SAVE_REGS,
};

static noinline void anchor(void)
{
	barrier();
}

/* ---- the filter ------------------------------------------------------------------------------ */

static bool is_wanted(unsigned long ip)
{
	const struct kevt_probe *probe;

	hlist_for_each_entry(probe, bucket_of(ip), same_hash) if (ip_of(probe) == ip && probe->armed) return true;
	return false;
}

/* The place that has to be put into the filter, or to leave it, because of this change; 0: none has. */
static unsigned long arm(struct kevt_probe *probe, bool on)
{
	const unsigned long ip = ip_of(probe);
	const bool was_wanted = is_wanted(ip);

	WRITE_ONCE(probe->armed, on);
	return was_wanted != is_wanted(ip) ? ip : 0;
}

static void take_back(struct kevt_probe **probes, u32 count, bool on)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (kevt_is_entry(probes[i]) && probes[i]->changed)
			WRITE_ONCE(probes[i]->armed, !on);
}

static int switch_locked(struct kevt_probe **probes, u32 count, bool on, unsigned long *ips, u32 *failed)
{
	int error = 0;
	u32 i, places = 0;

	for (i = 0; i < count; i++) {
		struct kevt_probe *probe = probes[i];
		unsigned long ip;

		if (!kevt_is_entry(probe) || probe->armed == on)
			continue;
		if (on && kprobe_gone(&probe->rp.kp)) {
			*failed = i;
			error = -EINVAL; /* as enable_kprobe() says */
			break;
		}
		ip = arm(probe, on);
		probe->changed = true;
		if (ip)
			ips[places++] = ip;
	}
	if (!error && places)
		error = ftrace_set_filter_ips(&entries, ips, places, !on, 0);
	if (error)
		take_back(probes, count, on);
	return error;
}

int kevt_entries_switch(struct kevt_probe **probes, u32 count, bool on, u32 *failed)
{
	unsigned long *ips = kvmalloc_array(count, sizeof(*ips), GFP_KERNEL);
	int error;

	if (!ips)
		return -ENOMEM;
	mutex_lock(&entries_lock);
	error = switch_locked(probes, count, on, ips, failed);
	mutex_unlock(&entries_lock);
	kvfree(ips);
	return error;
}

void kevt_entries_add(struct kevt_probe *probe)
{
	mutex_lock(&entries_lock);
	hlist_add_head_rcu(&probe->same_hash, bucket_of(ip_of(probe)));
	mutex_unlock(&entries_lock);
}

/*
 * A place that could not leave the filter, for want of memory for a new filter, costs a look into the table at each
 * call.  It does no harm: no probe is found there.
 */
void kevt_entries_remove(struct kevt_probe **probes, u32 count)
{
	bool any = false;
	u32 i, failed;

	kevt_entries_switch(probes, count, false, &failed);
	mutex_lock(&entries_lock);
	for (i = 0; i < count; i++) {
		if (hlist_unhashed(&probes[i]->same_hash))
			continue;
		WRITE_ONCE(probes[i]->armed, false);
		hlist_del_init_rcu(&probes[i]->same_hash);
		any = true;
	}
	mutex_unlock(&entries_lock);
	if (any) /* functions are called where RCU does not watch, too */
		synchronize_rcu_tasks_rude();
}

/* ---- modules that go ------------------------------------------------------------------------- */

/* The kprobes' own notifier has run before (see the priority): probes in the module, or in its init text, are gone. */
static int on_module(struct notifier_block *block, unsigned long state, void *module)
{
	struct kevt_probe *probe;
	int bucket;

	if (state != MODULE_STATE_GOING && state != MODULE_STATE_LIVE)
		return NOTIFY_DONE;
	mutex_lock(&entries_lock);
	for (bucket = 0; bucket < ARRAY_SIZE(table); bucket++) {
		hlist_for_each_entry(probe, &table[bucket], same_hash)
		{
			unsigned long ip;

			if (!probe->armed || !kprobe_gone(&probe->rp.kp))
				continue;
			ip = arm(probe, false);
			if (ip)
				ftrace_set_filter_ips(&entries, &ip, 1, 1, 0);
		}
	}
	mutex_unlock(&entries_lock);
	return NOTIFY_DONE;
}

static struct notifier_block modules = {
	.notifier_call = on_module, .priority = -1, /* behind the kprobes' own */
};

int kevt_entries_init(void)
{
	unsigned long ip = (unsigned long)anchor;
	int error = ftrace_set_filter_ips(&entries, &ip, 1, 0, 0);

	if (error)
		return error;
	error = register_ftrace_function(&entries);
	if (error)
		goto free;
	error = register_module_notifier(&modules);
	if (!error)
		return 0;
	unregister_ftrace_function(&entries);
free:
	ftrace_free_filter(&entries);
	return error;
}

void kevt_entries_exit(void)
{
	unregister_module_notifier(&modules);
	unregister_ftrace_function(&entries); /* waits for handlers */
	ftrace_free_filter(&entries);
}
