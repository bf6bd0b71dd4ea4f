// The files behind a process's mappings: how they can be read, and how an address in such a file is named.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/addresses.h"
#include "compiler/target/process/process_map.h"

namespace kevt::target {

// The file that a path leads to, through symbolic links; nullopt: none.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const FileId&, const FileId&) = default;
};
std::optional<FileId> file_id(const std::string& path);

// The name up to `.so`: "libc.so.6" is "libc", "libpython3.11.so.1.0" is "libpython3.11".
std::string_view library_stem(std::string_view name);
// The dynamic linker's default folders, and /usr/local/lib.
std::span<const char* const> library_folders();
// Path of the library with that file name or stem in one of the default folders below `root` ("" or "/proc/PID/root");
// empty: there is none.
std::string installed_library(const std::string& root, std::string_view module);

// A path where exactly the mapped file can be read, even if its name now leads to another file; empty: there is none.
std::string readable_path(pid_t pid, const LoadedObject& object);
// Why readable_path() is empty, and what helps.
std::string unreadable_text(const LoadedObject& object);

// "libc.so.6+0x2724a": the name of the mapped file and the offset in it. nullopt: the mapping has no name.
std::optional<std::string> file_and_offset(const std::vector<Mapping>& maps, RemoteAddr address);

}  // namespace kevt::target
