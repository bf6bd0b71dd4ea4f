// The programs and libraries of a ProcessEnv; private to process_*.cpp.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "compiler/target/elf_image.h"
#include "compiler/target/process_env.h"
#include "compiler/target/process_map.h"

namespace kevt::target {

// Which file a path leads to, symbolic links followed.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const FileId&, const FileId&) = default;
};
std::optional<FileId> file_id(const std::string& path);

std::string_view base_name(std::string_view path);
// The name up to `.so`: "libc.so.6" is "libc", "libpython3.11.so.1.0" is "libpython3.11".
std::string_view library_stem(std::string_view name);

struct Loaded {
  LoadedObject object;  // without ranges: a file nobody has mapped, at bias 0
  ProcessModule module;
  std::string open_path;          // where we can read the file
  std::optional<FileId> id;       // of open_path
  bool tried = false;             // to open the image
  std::optional<ElfImage> image;  // empty after trying: unreadable, not ELF, or not what is mapped

  bool covers(RemoteAddr address) const;
};

// Opens the image, and finds the bias, at the first call.
const ElfImage* image_of(Loaded& loaded);
// By file name, stem or path; sonames are the caller's business.
bool module_matches(const Loaded& loaded, std::string_view wanted);
// Whether a library of that file name or stem lies in one of the default folders below `root` ("" or "/proc/PID/root").
bool is_installed_library(const std::string& root, std::string_view module);
// The file behind a mapping: below the target's root, or the mapping itself where it was deleted.
std::string readable_path(pid_t pid, const LoadedObject& object);

}  // namespace kevt::target
