// Markers of user programs (USDT): static probe points, as <sys/sdt.h> of SystemTap writes them into .note.stapsdt.
// https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/addresses.h"
#include "common/error.h"
#include "compiler/target/elf/elf_image.h"
#include "compiler/target/target_env.h"

namespace kevt::target {

// One place of a marker: it has several where its code was inlined.
struct UsdtMarker {
  std::string provider;
  std::string name;
  std::string arguments;  // as the note has them: "8@%rdi -4@-20(%rbp)"
  ImageAddr address;
  FileOffset offset;
  std::optional<FileOffset> semaphore;  // of a u16 that says how many trace it
};

// In the order of the file; empty: it has none. An error: it cannot be read, or changed meanwhile.
Result<std::vector<UsdtMarker>> read_usdt_markers(const ElfImage& image);

// What TargetEnv::find_usdt() says of one file, which the target names `path`.
std::expected<std::vector<UsdtSite>, LookupError> usdt_sites(const ElfImage& image, std::string_view path,
                                                             std::string_view provider, std::string_view name);

}  // namespace kevt::target
