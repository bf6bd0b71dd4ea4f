#include "common/user_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "common/fnv.h"
#include "common/output_place.h"
#include "common/unique_fd.h"

namespace kevt {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "kevtrace cache 1\n";
constexpr std::size_t kMostBytes = std::size_t{256} << 20;
constexpr std::string_view kSuffix = ".kept", kUnfinished = ".new";

std::string header_of(std::string_view bytes) {
  const std::uint64_t sum = fnv1a(bytes);
  std::string header(kMagic);
  header.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  return header;
}

std::optional<std::string> read_all(const UniqueFd& file, std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t at = 0; at < size;) {
    const ssize_t got = ::read(file.get(), bytes.data() + at, size - at);
    if (got <= 0) return std::nullopt;
    at += static_cast<std::size_t>(got);
  }
  return bytes;
}

bool write_all(const UniqueFd& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file.get(), bytes.data(), bytes.size());
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

void drop_oldest(const std::string& folder, std::size_t most_files) {
  std::vector<std::pair<fs::file_time_type, fs::path>> kept;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;  // another kevtrace may take it away meanwhile
    const auto written = at->last_write_time(gone);
    const std::string& path = at->path().native();
    if (!gone && (path.ends_with(kSuffix) || path.ends_with(kUnfinished))) kept.emplace_back(written, at->path());
  }
  if (kept.size() <= most_files) return;
  std::ranges::sort(kept);
  for (std::size_t i = 0; i < kept.size() - most_files; ++i) fs::remove(kept[i].second, error);
}

}  // namespace

std::string user_cache_folder() {
  const auto absolute = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value == '/' ? std::string(value) : std::string();
  };
  if (const std::string cache = absolute("XDG_CACHE_HOME"); !cache.empty()) return cache + "/kevtrace";
  const std::string home = absolute("HOME");
  return home.empty() ? std::string() : home + "/.cache/kevtrace";
}

std::optional<std::string> read_cached(const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name + std::string(kSuffix);
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != ::geteuid() ||
      (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return std::nullopt;
  const std::size_t header = kMagic.size() + sizeof(std::uint64_t);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size < header || size > kMostBytes) return std::nullopt;
  auto bytes = read_all(file, size);
  if (!bytes || !bytes->starts_with(header_of(std::string_view(*bytes).substr(header)))) return std::nullopt;
  bytes->erase(0, header);
  return bytes;
}

void write_cached(const std::string& folder, const std::string& name, std::string_view bytes, std::size_t most_files) {
  if (bytes.size() > kMostBytes) return;
  std::error_code error;
  fs::create_directories(fs::path(folder).parent_path(), error);
  const auto opened = open_output_folder(folder);
  if (!opened) return;
  auto place = create_temporary(folder + "/" + name, std::string(kUnfinished));
  if (!place) return;
  const bool is_whole = write_all(place->file, header_of(bytes)) && write_all(place->file, bytes);
  const std::string kept = name + std::string(kSuffix);
  if (!is_whole || ::renameat(place->folder.get(), place->name.c_str(), place->folder.get(), kept.c_str()) != 0)
    ::unlinkat(place->folder.get(), place->name.c_str(), 0);
  drop_oldest(folder, most_files);
}

}  // namespace kevt
