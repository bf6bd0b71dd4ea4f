// Records that belong to no dynamic event. Their types are the kernel's (TRACE_PRINT, TRACE_RAW_DATA, TRACE_STACK,
// TRACE_USER_STACK of kernel/trace/trace.h).
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "compiler/model/record_layout.h"
#include "compiler/model/record_view.h"

namespace kevt::engine {

inline constexpr std::uint32_t kPrintId = 5;
inline constexpr std::uint32_t kRawDataId = 18;
inline constexpr std::uint32_t kStackId = 4;
inline constexpr std::uint32_t kUserStackId = 12;
// How the `ip` of a print record is printed.
inline constexpr std::string_view kMarkerFunction = "tracing_mark_write";

// A record with this payload behind the common fields; common fields other than type and pid are 0.
inline std::vector<std::uint8_t> record_of(std::uint32_t type, std::int32_t pid,
                                           std::span<const std::uint8_t> payload) {
  std::vector<std::uint8_t> record(model::kCommonBytes);
  record[0] = static_cast<std::uint8_t>(type);
  record[1] = static_cast<std::uint8_t>(type >> 8);
  std::memcpy(record.data() + 4, &pid, sizeof pid);
  record.insert(record.end(), payload.begin(), payload.end());
  return record;
}

}  // namespace kevt::engine
