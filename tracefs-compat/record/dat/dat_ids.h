// Numbers of the trace.dat format (trace-cmd.dat.v6(5), trace-cmd.dat.v7(5)).
#pragma once

#include <cstdint>
#include <string_view>

namespace kevt::record::dat {

inline constexpr std::string_view kMagic = "\x17\x08\x44tracing";

// Options of version 6 and 7; in 7, those from HeaderInfo on name the section that holds what 6 has in its head.
enum Option : std::uint16_t {
  kDone = 0,
  kDate = 1,
  kCpuStat = 2,
  kBuffer = 3,
  kTraceClock = 4,
  kUname = 5,
  kHook = 6,
  kOffset = 7,
  kCpuCount = 8,
  kVersion = 9,
  kProcMaps = 10,
  kTraceId = 11,
  kTscToNs = 14,
  kStrings = 15,
  kHeaderInfo = 16,
  kFtraceEvents = 17,
  kEventFormats = 18,
  kKallsyms = 19,
  kPrintk = 20,
  kCmdlines = 21,
  kBufferText = 22,
};
inline constexpr std::uint16_t kSectionCompressed = 1;

inline constexpr std::uint64_t kMaxSection = 128u << 20;  // bytes of one piece of metadata, uncompressed
inline constexpr std::uint32_t kMaxCpus = 8192;
inline constexpr std::uint32_t kMaxPage = 1u << 20;
inline constexpr std::uint32_t kMaxChunk = 16u << 20;  // of compressed trace data, uncompressed

}  // namespace kevt::record::dat
