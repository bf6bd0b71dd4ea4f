// What the kernel does to a text written to a file of the tracing directory before parsing it.
#pragma once

#include <cstddef>
#include <string_view>

namespace kevt::engine {

// A text for `filter` or `trigger` must be shorter than this (EINVAL). (PAGE_SIZE in event_filter_write(),
// event_trigger_regex_write() of kernel/trace, 6.1)
inline constexpr std::size_t kMaxWrittenBytes = 4096;

// As strstrip() of lib/string_helpers.c has it.
inline std::string_view stripped(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace kevt::engine
