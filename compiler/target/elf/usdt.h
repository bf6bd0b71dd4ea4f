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

// One place of a marker. A marker has several places if its code was inlined.
struct UsdtMarker {
  std::string provider;
  std::string name;
  std::string arguments;  // as in the note: "8@%rdi -4@-20(%rbp)"
  ImageAddr address;
  FileOffset offset;
  std::optional<FileOffset> semaphore;  // offset of a u16 that counts the marker's tracers
};

// All places of all markers, in the order of the file; empty: the file has no markers. Fails if the file cannot be read
// or changes meanwhile.
Result<std::vector<UsdtMarker>> read_usdt_markers(const ElfImage& image);

// The answer of TargetEnv::find_usdt() for one file, which the target calls `path`.
std::expected<std::vector<UsdtSite>, LookupError> usdt_sites(const ElfImage& image, std::string_view path,
                                                             std::string_view provider, std::string_view name);

}  // namespace kevt::target
