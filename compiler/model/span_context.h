// The record of a trace's span that a thread publishes for tracers: OpenTelemetry Enhancement Proposal 4947, "Thread
// Context". The thread-local pointer `otel_thread_ctx_v1` leads to it, or is 0; a record counts while `valid` is 1.
#pragma once

#include <cstdint>
#include <string_view>

namespace kevt::model {

inline constexpr std::string_view kSpanContextSymbol = "otel_thread_ctx_v1";
inline constexpr std::int64_t kTraceIdAt = 0;  // bytes from the record's start
inline constexpr std::uint32_t kTraceIdBytes = 16;
inline constexpr std::int64_t kSpanIdAt = 16;
inline constexpr std::uint32_t kSpanIdBytes = 8;
inline constexpr std::int64_t kSpanValidAt = 24;  // of 1 byte

}  // namespace kevt::model
