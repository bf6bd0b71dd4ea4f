// A name in /proc/PID/maps may be out of date: the file may have been deleted, replaced by a new build, mounted
// over, or be in a mount namespace of its own. The mapped file is recognized by its inode:
//
//   /proc/PID/root/PATH                 the process's own view; containers
//   PATH                                our view: files that a process mapped before it went into a chroot
//   /proc/PID/map_files/START-END       the mapping itself: deleted files, too. Needs CAP_CHECKPOINT_RESTORE (Linux 5.9
//                                       and later) or CAP_SYS_ADMIN
//   /proc/PID/exe                       the program, without a capability
//
// Inodes are compared, never the device in maps (overlayfs shows another one there).
#include "compiler/target/elf/mapped_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace kevt::target {

std::optional<FileId> file_id(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileId{status.st_dev, status.st_ino};
}

namespace {

bool is_the_file(const std::string& path, const LoadedObject& object) {
  const std::optional<FileId> id = file_id(path);
  return id && id->inode == object.inode;
}

}  // namespace

std::string_view library_stem(std::string_view name) {
  const std::size_t at = name.find(".so");
  if (at == 0 || at == std::string_view::npos) return name;
  const std::string_view tail = name.substr(at + 3);
  return tail.empty() || tail.front() == '.' ? name.substr(0, at) : name;
}

std::span<const char* const> library_folders() {
  static constexpr const char* kFolders[] = {
      "/lib",          "/usr/lib", "/lib64", "/usr/lib64", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
      "/usr/local/lib"};
  return kFolders;
}

std::string installed_library(const std::string& root, std::string_view module) {
  for (const char* folder : library_folders()) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(root + folder, ignored)) {
      const std::string name = entry.path().filename();
      if (name.contains(".so") && (name == module || library_stem(name) == module)) return entry.path();
    }
  }
  return "";
}

std::string readable_path(pid_t pid, const LoadedObject& object) {
  const std::string rooted = fmt::format("/proc/{}/root{}", pid, object.path);
  if (!object.deleted)
    for (const std::string& path : {rooted, object.path})
      if (is_the_file(path, object)) return path;
  const Mapping& first = object.ranges.front();
  const std::string mapped = fmt::format("/proc/{}/map_files/{:x}-{:x}", pid, first.start.value, first.end.value);
  if (::access(mapped.c_str(), R_OK) == 0) return mapped;
  const std::string program = fmt::format("/proc/{}/exe", pid);
  if (is_the_file(program, object)) return program;
  // Some file systems (btrfs, some overlayfs) show another inode in maps than in stat(2).
  return object.deleted || ::access(rooted.c_str(), R_OK) != 0 ? std::string{} : rooted;
}

std::string unreadable_text(const LoadedObject& object) {
  return fmt::format(
      "`{}`, as it is mapped, cannot be read: {}; as root (CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN) it is read through "
      "its mapping, or start the program again",
      object.path, object.deleted ? "it was deleted or replaced" : "its name leads to no such file here");
}

std::optional<std::string> file_and_offset(const std::vector<Mapping>& maps, RemoteAddr address) {
  const auto behind = std::ranges::upper_bound(maps, address, {}, &Mapping::start);
  if (behind == maps.begin() || !std::prev(behind)->contains(address)) return std::nullopt;
  const Mapping& mapping = *std::prev(behind);
  if (mapping.path.empty()) return std::nullopt;
  const std::string name = mapping.is_file() ? mapping.path.substr(mapping.path.rfind('/') + 1) : mapping.path;
  return fmt::format("{}+{:#x}", name, address - mapping.start + static_cast<std::int64_t>(mapping.offset.value));
}

}  // namespace kevt::target
