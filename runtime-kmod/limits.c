// SPDX-License-Identifier: GPL-2.0
/*
 * Limits over all clients.
 *
 * A client's own limits (common/abi/kmod.h) say nothing about many clients.  What the module holds for them is kernel
 * memory: probes with a count for each CPU, instances of return probes, and references that keep programs and their
 * maps.  Instances are not charged to anybody's memory cgroup, and one return probe may have 4096 of them.  (Rings are
 * maps of the client's programs: the kernel charges those to whoever made them.)
 */
#include <linux/bpf.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/xarray.h>

#include "limits.h"
#include "probe.h"

static unsigned int max_probes = 131072;
module_param(max_probes, uint, 0644);
MODULE_PARM_DESC(max_probes, "probes of all clients (131072)");

static unsigned int max_programs = 16384;
module_param(max_programs, uint, 0644);
MODULE_PARM_DESC(max_programs, "different BPF programs of all clients (16384)");

static unsigned int max_memory_mib = 256;
module_param(max_memory_mib, uint, 0644);
MODULE_PARM_DESC(max_memory_mib, "MiB for probes and instances of return probes of all clients (256)");

static DEFINE_MUTEX(limits_lock); /* guards all below */
static u32 probes;
static u64 bytes;
static u32 programs;
static DEFINE_XARRAY(uses); /* of each program, by its id */

/* As register_kretprobe() counts where maxactive is 0. */
static u32 instances_of(const struct kevt_probe *probe)
{
	if (!probe->is_return)
		return 0;
	return probe->rp.maxactive ? probe->rp.maxactive : max_t(u32, 10, 2 * num_possible_cpus());
}

static u64 bytes_of(const struct kevt_probe *probe)
{
	const u64 own = sizeof(*probe) + (u64)num_possible_cpus() * sizeof(struct kevt_counts);
	const u64 instance = sizeof(struct kretprobe_instance) + probe->rp.data_size;

	return own + instances_of(probe) * instance;
}

static unsigned long uses_of(const struct kevt_probe *probe)
{
	const void *entry = xa_load(&uses, probe->prog->aux->id);

	return entry ? xa_to_value(entry) : 0;
}

static int take_program(const struct kevt_probe *probe)
{
	const unsigned long before = uses_of(probe);
	int error;

	if (!before && programs >= max_programs)
		return -ENOSPC;
	error = xa_err(xa_store(&uses, probe->prog->aux->id, xa_mk_value(before + 1), GFP_KERNEL));
	if (!error && !before)
		programs++;
	return error;
}

static void give_program_back(const struct kevt_probe *probe)
{
	const unsigned long before = uses_of(probe);

	if (before > 1) { /* an entry that is there needs no memory to change */
		xa_store(&uses, probe->prog->aux->id, xa_mk_value(before - 1), GFP_KERNEL);
		return;
	}
	xa_erase(&uses, probe->prog->aux->id);
	programs--;
}

int kevt_limits_take(struct kevt_probe *probe)
{
	const u64 wanted = bytes_of(probe);
	int error = -ENOSPC;

	mutex_lock(&limits_lock);
	if (probes < max_probes && bytes + wanted <= (u64)max_memory_mib << 20)
		error = take_program(probe);
	if (!error) {
		probes++;
		bytes += wanted;
		probe->taken = wanted;
	}
	mutex_unlock(&limits_lock);
	return error;
}

void kevt_limits_give_back(struct kevt_probe *probe)
{
	if (!probe->taken)
		return;
	mutex_lock(&limits_lock);
	give_program_back(probe);
	probes--;
	bytes -= probe->taken;
	probe->taken = 0;
	mutex_unlock(&limits_lock);
}
