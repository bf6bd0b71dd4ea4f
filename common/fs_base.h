// Whether programs may read their %fs base, the thread pointer, by an instruction (rdfsbase).
#pragma once

#include <sys/auxv.h>

namespace kevt {

// Bit 1 of AT_HWCAP2: Linux 5.9 and later, on CPUs that have it (Documentation/x86/x86_64/fsgs.rst).
inline bool may_read_fs_base() { return (getauxval(AT_HWCAP2) & 2) != 0; }

}  // namespace kevt
