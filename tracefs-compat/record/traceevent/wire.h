// What kevtrace and kevtrace-traceevent say to each other over a socket, in the machine's own byte order.
//
//   Symbols   kallsyms text                                          no answer
//   Strings   printk_formats text                                    no answer
//   Format    FormatHead, its system, text of a format file          uint32_t: FormatAnswer bits
//   Print     {PrintHead, the record} again and again                {uint32_t bytes, text} for each; kNoText: none
//
// Asked: AskHead and its bytes. Answered: uint32_t bytes, and so many.
#pragma once

#include <cstdint>

namespace kevt::record::wire {

enum class Ask : std::uint32_t { Symbols = 1, Strings, Format, Print };

struct AskHead {
  Ask ask;
  std::uint32_t bytes;
};

struct FormatHead {
  std::uint32_t id;            // of the event, as the text has it, too
  std::uint32_t system_bytes;  // of its name
};

enum FormatAnswer : std::uint32_t {
  kIsParsed = 1,  // it can print records of the event
  kHasPlugin = 2  // in words of a plugin
};

struct PrintHead {
  std::uint64_t time_ns;
  std::uint32_t cpu;
  std::uint32_t bytes;  // of the record behind it
};

// An argument of kevtrace-traceevent.
inline constexpr const char* kNoPlugins = "--no-plugins";

inline constexpr std::uint32_t kNoText = ~0u;

inline constexpr std::uint32_t kMostAsked = 64u << 20;     // bytes: symbols are the longest
inline constexpr std::uint32_t kMostAnswered = 64u << 20;  // texts in half of it: what comes behind is left out
inline constexpr std::uint32_t kMostText = 64u << 10;      // of a record

}  // namespace kevt::record::wire
