// JitCode: what a JIT compiler has made in a process, as an ELF image (docs/adr/0042).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "compiler/target/elf/elf_image.h"
#include "compiler/target/process/perf_map.h"
#include "compiler/target/process/process_map.h"

namespace kevt::target {

// The name of the module: `p:f jit:fib`.
inline constexpr std::string_view kJitModule = "jit";

struct JitCode {
  FileVersion version;          // of the perf map
  std::vector<Mapping> ranges;  // the pages that the image has, ascending
  ElfImage image;               // at bias 0; ElfImage::is_jit()
};

// Puts the target's own bytes back into a copy of its text, where a tracer has written others.
using TextRestorer = std::function<void(RemoteAddr at, std::span<std::uint8_t> text)>;

// Reads the perf map of the process and the code that it names. nullopt: there is no map, or no line of it means code
// in memory that has no file. `restore` may be empty.
Result<std::optional<JitCode>> read_jit_code(pid_t pid, const std::vector<Mapping>& maps, const TextRestorer& restore);

// A function of the image, whatever code of it this is.
struct JitFunction {
  ImageAddr start;
  std::string_view identity;  // jit_identity() of its line; valid as long as the image
};
std::optional<JitFunction> jit_function_at(const ElfImage& image, ImageAddr address);
// Where the function was compiled to, ascending.
std::vector<ImageAddr> jit_versions(const ElfImage& image, std::string_view identity);

}  // namespace kevt::target
