// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/kevtrace: one client is one open file, its probes are in an xarray by id.
 *
 * Everything that comes from a client is copied once and then judged: version, size of an item, count, reserved words,
 * ids.  A request is carried out for all of its items or for none; `failed` says which one was in the way.  While a
 * file is open the module stays; closing it (also by a client's death) removes all it added.
 *
 * Whoever opens the device must be allowed what its requests amount to, whatever the device's mode says.  A process
 * that is handed an open file acts for the one that opened it: that is a delegation.
 */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/xarray.h>

#include "active.h"
#include "entries.h"
#include "probe.h"

struct client {
	struct mutex lock; /* guards all below, and the probes' states */
	struct xarray probes;
	u32 count;
};

static void *copy_items(const struct kevt_kmod_request *request, size_t size)
{
	void *items;

	if (request->item_size != size || !request->count)
		return ERR_PTR(-EINVAL);
	if (request->count > KEVT_KMOD_MAX_BATCH)
		return ERR_PTR(-E2BIG);
	items = kvmalloc_array(request->count, size, GFP_KERNEL_ACCOUNT);
	if (!items)
		return ERR_PTR(-ENOMEM);
	if (copy_from_user(items, u64_to_user_ptr(request->items), request->count * size)) {
		kvfree(items);
		return ERR_PTR(-EFAULT);
	}
	return items;
}

/* ---- adding ---------------------------------------------------------------------------------- */

static int make_probes(struct kevt_kmod_request *request, const struct kevt_kmod_probe *wanted,
		       struct kevt_probe **probes, u32 *made)
{
	int error;

	for (*made = 0; *made < request->count; ++*made) {
		struct kevt_probe *probe = kevt_probe_make(&wanted[*made]);

		request->failed = *made;
		if (IS_ERR(probe))
			return PTR_ERR(probe);
		probes[*made] = probe;
		error = kevt_probe_register(probe);
		if (error) {
			++*made; /* this one is to be freed, too */
			return error;
		}
		cond_resched();
		if (fatal_signal_pending(current)) {
			++*made;
			return -EINTR;
		}
	}
	request->failed = request->count;
	return 0;
}

static int keep_probes(struct client *client, struct kevt_kmod_probe *wanted, struct kevt_probe **probes, u32 count)
{
	u32 i;
	int error = 0;

	for (i = 0; i < count && !error; i++)
		error = xa_alloc(&client->probes, &wanted[i].id, probes[i], xa_limit_31b, GFP_KERNEL_ACCOUNT);
	if (!error) {
		client->count += count;
		return 0;
	}
	for (i--; i-- > 0;)
		xa_erase(&client->probes, wanted[i].id);
	return error;
}

static void forget_probes(struct client *client, const struct kevt_kmod_probe *wanted, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		xa_erase(&client->probes, wanted[i].id);
	client->count -= count;
}

static int add(struct client *client, struct kevt_kmod_request *request)
{
	struct kevt_kmod_probe *wanted = copy_items(request, sizeof(*wanted));
	struct kevt_probe **probes;
	u32 made = 0;
	int error = -ENOMEM;

	if (IS_ERR(wanted))
		return PTR_ERR(wanted);
	probes = kvcalloc(request->count, sizeof(*probes), GFP_KERNEL_ACCOUNT);
	if (!probes)
		goto out;
	error = -ENOSPC;
	request->failed = request->count;
	if (request->count > KEVT_KMOD_MAX_PROBES - client->count)
		goto out;
	error = make_probes(request, wanted, probes, &made);
	if (!error)
		error = keep_probes(client, wanted, probes, made);
	if (!error && copy_to_user(u64_to_user_ptr(request->items), wanted, made * sizeof(*wanted))) {
		forget_probes(client, wanted, made);
		error = -EFAULT;
	}
	if (error)
		kevt_probes_free(probes, made);
out:
	kvfree(probes);
	kvfree(wanted);
	return error;
}

/* ---- by id ----------------------------------------------------------------------------------- */

/* The probes of a request's ids; an id may be named more than once. */
static struct kevt_probe **find_probes(struct client *client, struct kevt_kmod_request *request, u32 **ids)
{
	struct kevt_probe **probes;
	u32 i;

	*ids = copy_items(request, sizeof(**ids));
	if (IS_ERR(*ids))
		return ERR_CAST(*ids);
	probes = kvcalloc(request->count, sizeof(*probes), GFP_KERNEL_ACCOUNT);
	if (!probes) {
		kvfree(*ids);
		return ERR_PTR(-ENOMEM);
	}
	for (i = 0; i < request->count; i++) {
		probes[i] = xa_load(&client->probes, (*ids)[i]);
		if (probes[i])
			continue;
		request->failed = i;
		kvfree(probes);
		kvfree(*ids);
		return ERR_PTR(-ENOENT);
	}
	request->failed = request->count;
	return probes;
}

static int remove(struct client *client, struct kevt_kmod_request *request)
{
	u32 *ids, i, unique = 0;
	struct kevt_probe **probes = find_probes(client, request, &ids);

	if (IS_ERR(probes))
		return PTR_ERR(probes);
	for (i = 0; i < request->count; i++) /* one that is named twice is there once */
		if (xa_erase(&client->probes, ids[i]))
			probes[unique++] = probes[i];
	client->count -= unique;
	kevt_probes_free(probes, unique);
	kvfree(probes);
	kvfree(ids);
	return 0;
}

static int change(struct client *client, struct kevt_kmod_request *request, bool on)
{
	u32 *ids;
	struct kevt_probe **probes = find_probes(client, request, &ids);
	int error;

	if (IS_ERR(probes))
		return PTR_ERR(probes);
	error = kevt_probes_switch(probes, request->count, on, &request->failed);
	kvfree(probes);
	kvfree(ids);
	return error;
}

static int status(struct client *client, struct kevt_kmod_request *request)
{
	struct kevt_kmod_status __user *results = u64_to_user_ptr(request->results);
	struct kevt_kmod_status one;
	u32 *ids, i;
	struct kevt_probe **probes = find_probes(client, request, &ids);
	int error = 0;

	if (IS_ERR(probes))
		return PTR_ERR(probes);
	for (i = 0; i < request->count && !error; i++) {
		kevt_probe_status(probes[i], &one);
		if (copy_to_user(&results[i], &one, sizeof(one)))
			error = -EFAULT;
	}
	kvfree(probes);
	kvfree(ids);
	return error;
}

/* ---- the file -------------------------------------------------------------------------------- */

static int carry_out(struct client *client, unsigned int command, struct kevt_kmod_request *request)
{
	if (request->version != KEVT_KMOD_VERSION)
		return -EPROTONOSUPPORT;
	if (request->results && command != KEVT_KMOD_STATUS)
		return -EINVAL;
	switch (command) {
	case KEVT_KMOD_ADD:
		return add(client, request);
	case KEVT_KMOD_REMOVE:
		return remove(client, request);
	case KEVT_KMOD_ENABLE:
		return change(client, request, true);
	case KEVT_KMOD_DISABLE:
		return change(client, request, false);
	case KEVT_KMOD_STATUS:
		return status(client, request);
	}
	return -ENOTTY;
}

static long kevt_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	struct client *client = file->private_data;
	struct kevt_kmod_request request, __user *user = (void __user *)argument;
	int error;

	if (_IOC_TYPE(command) != KEVT_KMOD_MAGIC)
		return -ENOTTY;
	if (_IOC_SIZE(command) != sizeof(request))
		return -EINVAL;
	if (copy_from_user(&request, user, sizeof(request)))
		return -EFAULT;
	if (mutex_lock_killable(&client->lock))
		return -EINTR;
	error = carry_out(client, command, &request);
	mutex_unlock(&client->lock);
	if (put_user(request.failed, &user->failed) && !error)
		error = -EFAULT;
	return error;
}

static int kevt_open(struct inode *inode, struct file *file)
{
	struct client *client;

	if (!bpf_capable() || !perfmon_capable()) /* in the first user namespace */
		return -EPERM;
	client = kzalloc(sizeof(*client), GFP_KERNEL_ACCOUNT);
	if (!client)
		return -ENOMEM;
	mutex_init(&client->lock);
	xa_init_flags(&client->probes, XA_FLAGS_ALLOC);
	file->private_data = client;
	return 0;
}

static int kevt_release(struct inode *inode, struct file *file)
{
	enum { TOGETHER = 1024 };
	struct client *client = file->private_data;
	struct kevt_probe *some[64], **probes, *probe;
	unsigned long id;
	u32 count = 0, room = TOGETHER;

	probes = kvmalloc_array(room, sizeof(*probes), GFP_KERNEL);
	if (!probes) {
		probes = some;
		room = ARRAY_SIZE(some);
	}
	xa_for_each(&client->probes, id, probe)
	{
		probes[count++] = probe;
		if (count < room)
			continue;
		kevt_probes_free(probes, count);
		count = 0;
	}
	kevt_probes_free(probes, count);
	if (probes != some)
		kvfree(probes);
	xa_destroy(&client->probes);
	kfree(client);
	return 0;
}

static const struct file_operations kevt_operations = {
	.owner = THIS_MODULE,
	.open = kevt_open,
	.release = kevt_release,
	.unlocked_ioctl = kevt_ioctl,
};

static struct miscdevice kevt_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kevtrace",
	.mode = 0600,
	.fops = &kevt_operations,
};

/*
 * Not __init: while ftrace has users, kallsyms would go on naming that text once it is freed, whoever gets the memory.
 */
static int kevt_init(void)
{
	int error = kevt_active_init();

	if (error)
		return error;
	error = kevt_entries_init();
	if (error)
		return error;
	error = misc_register(&kevt_device);
	if (error)
		kevt_entries_exit();
	return error;
}

static void kevt_exit(void)
{
	misc_deregister(&kevt_device);
	kevt_entries_exit();
}

module_init(kevt_init);
module_exit(kevt_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Probes that run verified BPF programs for kevtrace");
