// /tmp/perf-PID.map: where a JIT compiler says which functions it has made, for `perf report`
// (tools/perf/Documentation/jit-interface.txt): lines START SIZE NAME, both numbers hexadecimal.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/addresses.h"
#include "common/error.h"
#include "compiler/target/elf/file_contents.h"

namespace kevt::target {

struct PerfMapEntry {
  RemoteAddr start;
  std::uint64_t size = 0;
  std::string name;      // as the line has it
  std::size_t line = 0;  // its number

  RemoteAddr end() const { return start + size; }
};

inline constexpr std::size_t kMostPerfMapEntries = 1 << 20;

// Ascending by address; where entries overlap, the later line counts. Lines that are no entries are left out, and so is
// the last one while it has no end: it is still being written. The
// result ends when it has more than kMostPerfMapEntries.
std::vector<PerfMapEntry> parse_perf_map(std::string_view text);

// The name by which a definition may call the function: without what the JIT compiler says of its kind and its file.
//   LazyCompile:*fib /app/a.js:1:13   py::fib:/app/a.py   int Main.fib(int)   LMain;::fib
//   fib                               fib                 Main.fib            Main::fib
std::string jit_function_name(std::string_view line_name);
// The same for stacks, where a function without a name is shown by its place: a.js:6:23.
std::string jit_shown_name(std::string_view line_name);
// What stays the same when the function is compiled again: the name without the kind of its code (`LazyCompile:*`).
std::string_view jit_identity(std::string_view line_name);

// The map of a process, as it is now.
struct PerfMap {
  FileVersion version;
  std::string text;
};
// nullopt: the process has none. An error: there is one, and it is not to be believed, or cannot be read.
Result<std::optional<PerfMap>> read_perf_map(pid_t pid);
// The version alone, also of one that read_perf_map() refuses. nullopt: there is none.
std::optional<FileVersion> perf_map_version(pid_t pid);

}  // namespace kevt::target
