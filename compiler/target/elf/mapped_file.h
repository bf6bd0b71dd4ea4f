// The files behind a process's mappings: how they can be read, and what an address in one is called.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/addresses.h"
#include "compiler/target/process/process_map.h"

namespace kevt::target {

// Which file a path leads to, symbolic links followed.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const FileId&, const FileId&) = default;
};
std::optional<FileId> file_id(const std::string& path);

// The name up to `.so`: "libc.so.6" is "libc", "libpython3.11.so.1.0" is "libpython3.11".
std::string_view library_stem(std::string_view name);
// The library of that file name or stem in one of the default folders below `root` ("" or "/proc/PID/root"); empty:
// none.
std::string installed_library(const std::string& root, std::string_view module);

// Where the very file that is mapped can be read, whatever has become of its name since; empty: nowhere.
std::string readable_path(pid_t pid, const LoadedObject& object);
// Why that is so and what helps.
std::string unreadable_text(const LoadedObject& object);

// "libc.so.6+0x2724a": the file's name and the offset in it. nullopt: no file, and nothing else with a name.
std::optional<std::string> file_and_offset(const std::vector<Mapping>& maps, RemoteAddr address);

}  // namespace kevt::target
