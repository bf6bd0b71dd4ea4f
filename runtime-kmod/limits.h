/* SPDX-License-Identifier: GPL-2.0 */
/* What all clients together may take: probes, memory of probes, programs. */
#ifndef KEVT_LIMITS_H
#define KEVT_LIMITS_H

#include <linux/types.h>

struct kevt_probe;

/* -ENOSPC: it would be more than the module's parameters allow, and nothing is taken. */
int kevt_limits_take(struct kevt_probe *probe);
/* Gives back what kevt_limits_take() took for the probe, if it took anything. */
void kevt_limits_give_back(struct kevt_probe *probe);

#endif
