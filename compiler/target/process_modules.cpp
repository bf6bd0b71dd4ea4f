// Which files a process has loaded and how they are called.
//
// Files are opened below /proc/PID/root, so containers work, and compared by what stat says of them,
// never by the device in maps (overlayfs shows another one there). A file that was replaced since, as
// by an upgrade, is read through /proc/PID/map_files where that is allowed.
// `libc` and `libc.so.6` both name /usr/lib/x86_64-linux-gnu/libc.so.6.
// Not done: files that were deleted and cannot be read through the mapping.
#include "compiler/target/process_modules.h"

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

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string_view library_stem(std::string_view name) {
  const std::size_t at = name.find(".so");
  if (at == 0 || at == std::string_view::npos) return name;
  const std::string_view tail = name.substr(at + 3);
  return tail.empty() || tail.front() == '.' ? name.substr(0, at) : name;
}

std::string readable_path(pid_t pid, const LoadedObject& object) {
  const std::string rooted = fmt::format("/proc/{}/root{}", pid, object.path);
  const std::optional<FileId> id = file_id(rooted);
  if (!object.deleted && id && id->inode == object.inode) return rooted;
  const Mapping& first = object.ranges.front();
  const std::string mapped = fmt::format("/proc/{}/map_files/{:x}-{:x}", pid, first.start.value, first.end.value);
  if (::access(mapped.c_str(), R_OK) == 0) return mapped;
  return object.deleted ? std::string{} : rooted;
}

bool Loaded::covers(RemoteAddr address) const {
  if (!object.ranges.empty()) return object.contains(address);
  return image && image->is_mapped({address.value - module.bias});
}

const ElfImage* image_of(Loaded& loaded) {
  if (!loaded.tried) {
    loaded.tried = true;
    if (auto image = ElfImage::open(loaded.open_path)) {
      const std::optional<std::uint64_t> bias = load_bias(loaded.object, *image);
      if (bias) {
        loaded.module.bias = *bias;
        loaded.image = std::move(*image);
      }
    }
  }
  return loaded.image ? &*loaded.image : nullptr;
}

bool module_matches(const Loaded& loaded, std::string_view wanted) {
  if (wanted.contains('/')) {
    if (loaded.module.path == wanted) return true;
    return loaded.id && file_id(std::string(wanted)) == loaded.id;
  }
  const std::string_view name = loaded.module.name;
  return name == wanted || library_stem(name) == wanted;
}

bool is_installed_library(const std::string& root, std::string_view module) {
  constexpr const char* kFolders[] = {
      "/lib",          "/usr/lib", "/lib64", "/usr/lib64", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
      "/usr/local/lib"};
  return std::ranges::any_of(kFolders, [&](const char* folder) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(root + folder, ignored)) {
      const std::string name = entry.path().filename();
      if (name.contains(".so") && (name == module || library_stem(name) == module)) return true;
    }
    return false;
  });
}

}  // namespace kevt::target
