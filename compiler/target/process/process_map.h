// What is mapped where in a process: /proc/PID/maps as data.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/addresses.h"
#include "common/error.h"
#include "compiler/target/elf/elf_image.h"

namespace kevt::target {

struct Mapping {
  RemoteAddr start;
  RemoteAddr end;
  bool readable = false;
  bool writable = false;
  bool executable = false;
  bool shared = false;
  FileOffset offset;
  std::uint32_t device_major = 0;
  std::uint32_t device_minor = 0;
  std::uint64_t inode = 0;  // 0: no file
  std::string path;         // without " (deleted)"; "[heap]" and the like; empty: anonymous
  bool deleted = false;     // the file has been unlinked or replaced since

  bool contains(RemoteAddr a) const { return start <= a && a < end; }
  bool is_file() const { return inode != 0 && path.starts_with('/'); }
  // Whether a JIT compiler may have made its code. Anonymous memory may have a name, `[anon:v8]`; `[vdso]` is none.
  bool may_be_jit() const { return executable && !is_file() && (path.starts_with("[anon:") || !path.starts_with('[')); }
};

// Parses the text of /proc/PID/maps; mappings are ascending by address. Fails on a line that is not of that form.
Result<std::vector<Mapping>> parse_maps(std::string_view text);
Result<std::vector<Mapping>> read_maps(pid_t pid);

// One file as the loader has mapped it. A file that is mapped twice (dlmopen) makes two objects.
struct LoadedObject {
  std::string path;
  bool deleted = false;
  std::uint32_t device_major = 0;
  std::uint32_t device_minor = 0;
  std::uint64_t inode = 0;
  std::vector<Mapping> ranges;  // mappings of this file only, ascending

  RemoteAddr start() const { return ranges.front().start; }
  RemoteAddr end() const { return ranges.back().end; }
  bool contains(RemoteAddr a) const;
};

// Files with at least one executable mapping, ascending by address. Files that are only read through
// a mapping (locale archives, fonts) are no objects.
std::vector<LoadedObject> loaded_objects(const std::vector<Mapping>& maps);

// The number to add to an address of `image` to get the address in the process; nullopt if the mappings
// do not fit the image's segments (the file has changed).
std::optional<std::uint64_t> load_bias(const LoadedObject& object, const ElfImage& image);

// Start of the free, page-aligned piece of `size` bytes that is closest to `near`; all its bytes are within
// `max_distance` of `near`. A page is left free next to other mappings, 64 MiB below the stack and above the heap.
std::optional<RemoteAddr> find_gap(const std::vector<Mapping>& maps, RemoteAddr near, std::uint64_t size,
                                   std::uint64_t max_distance);

}  // namespace kevt::target
