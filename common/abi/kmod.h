/*
 * /dev/kevtrace: what a client of kevtrace.ko asks for.  Structs have no holes; every size and every unused word is
 * checked.  A request acts on `count` items of an array in the client's memory, all of them or none.
 *
 * A client is an open file: what it added goes away with it. Opening needs CAP_BPF and CAP_PERFMON.
 */
#ifndef KEVT_ABI_KMOD_H
#define KEVT_ABI_KMOD_H

#ifdef __KERNEL__
#include <linux/types.h>
typedef __u16 kevt_u16;
typedef __u32 kevt_u32;
typedef __s32 kevt_s32;
typedef __u64 kevt_u64;
#else
#include <stdint.h>
typedef uint16_t kevt_u16;
typedef uint32_t kevt_u32;
typedef int32_t kevt_s32;
typedef uint64_t kevt_u64;
#endif

#define KEVT_KMOD_VERSION 2u

enum {
  KEVT_KMOD_MAX_BATCH = 16384,
  KEVT_KMOD_MAX_PROBES = 65536, /* of one client; beyond it, or the limits of all clients, ENOSPC */
  KEVT_KMOD_MAX_ACTIVE = 4096,
  KEVT_KMOD_MAX_KEPT = 15,
};

enum { KEVT_KMOD_ENTRY = 0, KEVT_KMOD_RETURN = 1 };

/* One probe.  `id` is given by the module. */
struct kevt_kmod_probe {
  kevt_u64 address;
  kevt_u64 cookie;    /* what bpf_get_attach_cookie() tells the program */
  kevt_s32 program;   /* file descriptor of a BPF program of type KPROBE */
  kevt_u32 kind;      /* KEVT_KMOD_ENTRY, _RETURN */
  kevt_u32 maxactive; /* of a return probe; 0: the kernel's default */
  kevt_u32 id;        /* out */
  /*
   * Of a return probe: arguments of the entry that its program asks for, by number from 1; 0 ends the list. Where there
   * are any, bpf_get_attach_cookie() tells the address of `cookie` and these arguments, 64 bits each.
   */
  kevt_u16 kept[KEVT_KMOD_MAX_KEPT + 1];
};

enum {
  KEVT_KMOD_DISABLED = 1 << 0,
  KEVT_KMOD_OPTIMIZED = 1 << 1,
  KEVT_KMOD_FTRACE = 1 << 2,
  KEVT_KMOD_GONE = 1 << 3,
};

struct kevt_kmod_status {
  kevt_u64 hits;   /* times the program ran */
  kevt_u64 missed; /* as kprobe_profile counts them, and hits inside another program */
  kevt_u32 state;  /* KEVT_KMOD_… bits */
  kevt_u32 spare;
};

struct kevt_kmod_request {
  kevt_u32 version;   /* KEVT_KMOD_VERSION */
  kevt_u32 item_size; /* sizeof of one item of `items` */
  kevt_u32 count;
  kevt_u32 failed;  /* out: index of the item that was refused, or `count` */
  kevt_u64 items;   /* ADD: kevt_kmod_probe[]; others: kevt_u32 ids[] */
  kevt_u64 results; /* STATUS: kevt_kmod_status[]; others: 0 */
};

#define KEVT_KMOD_MAGIC 0xb5
/* Probes are added disabled.  Results: -errno of the item `failed` where there is one. */
#define KEVT_KMOD_ADD _IOWR(KEVT_KMOD_MAGIC, 1, struct kevt_kmod_request)
#define KEVT_KMOD_REMOVE _IOWR(KEVT_KMOD_MAGIC, 2, struct kevt_kmod_request)
#define KEVT_KMOD_ENABLE _IOWR(KEVT_KMOD_MAGIC, 3, struct kevt_kmod_request)
#define KEVT_KMOD_DISABLE _IOWR(KEVT_KMOD_MAGIC, 4, struct kevt_kmod_request)
#define KEVT_KMOD_STATUS _IOWR(KEVT_KMOD_MAGIC, 5, struct kevt_kmod_request)

#endif
