// The problem: /tmp/perf-PID.map is written by the traced program, or by whoever was there before it.
//
// The idea: any text is read. Entries are ascending and do not overlap, and each name has the shorter ones that
// definitions and stacks show.
#include "compiler/target/process/perf_map.h"
#include "tests/fuzz/changed_program.h"
#include "tests/fuzz/fuzz_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kevt::target;
  using kevt::fuzz::require;
  const std::string text(reinterpret_cast<const char*>(data), size);
  kevt::RemoteAddr end{0};
  std::size_t lines = 0;
  for (const char c : text) lines += c == '\n' ? 1 : 0;
  for (const PerfMapEntry& entry : parse_perf_map(text)) {
    require(entry.size != 0 && end <= entry.start && entry.start < entry.end());
    end = entry.end();
    require(entry.line >= 1 && entry.line <= lines);
    require(!entry.name.empty() && !entry.name.contains('\n'));
    require(jit_function_name(entry.name).size() <= 2 * entry.name.size());
    (void)jit_shown_name(entry.name);
    require(entry.name.contains(jit_identity(entry.name)));
  }
  return 0;
}

std::vector<std::string> kevt::fuzz::seeds() {
  return {"7f0000001000 40 LazyCompile:*fib /app/a.js:1:13\n7f0000001040 20 LazyCompile:~fib /app/a.js:1:13\n",
          "7f0000002000 10 py::Tree.walk:/app/a.py\n7f0000002008 10 py::<lambda>:/app/a.py\n",
          "0x7f0000003000 80 int Main.fib(int)\n7f0000003080 8 LMain;::fib\n7f0000003088 8 [stub]\n",
          "ffffffffffffff00 200 ends_behind_all\n0 ffffffffffffffff all\n1 0 nothing\n",
          "7f00 10\n7f00  10  two blanks\n"};
}
