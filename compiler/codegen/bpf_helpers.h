// Numbers of the kernel's helpers for BPF programs: enum bpf_func_id of include/uapi/linux/bpf.h.
#pragma once

#include <cstdint>

namespace kevt::codegen {

inline constexpr std::uint64_t kMapLookup = 1, kMapDelete = 3, kProbeRead = 4, kKtimeNs = 5, kProcessorId = 8,
                               kTailCall = 12, kPidTgid = 14, kCurrentComm = 16, kGetStackId = 27, kProbeReadStr = 45,
                               kGetStack = 67, kProbeReadUser = 112, kProbeReadKernel = 113, kProbeReadUserStr = 114,
                               kProbeReadKernelStr = 115, kRingOutput = 130, kRingReserve = 131, kRingSubmit = 132,
                               kCopyFromUser = 148, kAttachCookie = 174;

}  // namespace kevt::codegen
