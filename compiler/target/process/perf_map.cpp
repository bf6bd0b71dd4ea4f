// What a line says is the program's word, which may be anything: it is believed only of memory that the process has
// mapped, executable and without a file (jit_code.h).
#include "compiler/target/process/perf_map.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <map>
#include <utility>

#include "common/proc.h"
#include "common/regular_file.h"

namespace kevt::target {

namespace {

constexpr std::uint64_t kMostMapBytes = 64 << 20;
constexpr std::size_t kLongestLineName = 4096;
constexpr std::uint64_t kEndOfAddresses = std::uint64_t{1} << 47;

std::optional<std::uint64_t> take_hexadecimal(std::string_view& line) {
  if (line.starts_with("0x")) line.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value, 16);
  if (error != std::errc()) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  if (!line.starts_with(' ')) return std::nullopt;
  line.remove_prefix(1);
  return value;
}

std::optional<PerfMapEntry> parse_entry(std::string_view line) {
  const auto start = take_hexadecimal(line);
  const auto size = start ? take_hexadecimal(line) : std::nullopt;
  if (!size || *size == 0 || *start >= kEndOfAddresses || *size >= kEndOfAddresses - *start) return std::nullopt;
  if (line.empty() || line.size() > kLongestLineName || line.contains('\0')) return std::nullopt;
  return PerfMapEntry{.start = {*start}, .size = *size, .name = std::string(line)};
}

// The status of the map, if it is one that may be believed: the process's own, or root's.
Result<struct stat> look_at_map(int fd, pid_t pid, const std::string& path) {
  struct stat map {
  }, process{};
  if (::fstat(fd, &map) != 0) return std::unexpected(Error::from_errno("stat " + path));
  if (::stat(fmt::format("/proc/{}", pid).c_str(), &process) != 0)
    return std::unexpected(Error::from_errno(fmt::format("stat /proc/{}", pid)));
  if (map.st_uid != process.st_uid && map.st_uid != 0)
    return std::unexpected(Error(fmt::format("`{}` is not believed: it belongs to user {}, the process to user {}",
                                             path, map.st_uid, process.st_uid)));
  if (static_cast<std::uint64_t>(map.st_size) > kMostMapBytes)
    return std::unexpected(Error(fmt::format("`{}` is not read: it has more than {} MiB", path, kMostMapBytes >> 20)));
  return map;
}

// In the process's own /tmp, by the number that the process has for itself.
std::string path_of_map(pid_t pid) {
  const std::string numbers = proc::status(pid, "NSpid");
  const std::size_t last = numbers.find_last_of(" \t");
  const std::string own =
      numbers.empty() ? std::to_string(pid) : numbers.substr(last == std::string::npos ? 0 : last + 1);
  return fmt::format("/proc/{}/root/tmp/perf-{}.map", pid, own);
}

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }

}  // namespace

std::vector<PerfMapEntry> parse_perf_map(std::string_view text) {
  std::map<std::uint64_t, PerfMapEntry> entries;
  std::size_t line = 0;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    auto entry = parse_entry(text.substr(0, end));
    text.remove_prefix(end + 1);
    ++line;
    if (!entry) continue;
    entry->line = line;
    auto at = entries.lower_bound(entry->start.value);
    if (at != entries.begin() && std::prev(at)->second.end() > entry->start) --at;
    while (at != entries.end() && at->second.start < entry->end()) at = entries.erase(at);
    const std::uint64_t start = entry->start.value;
    entries.emplace_hint(at, start, *std::move(entry));
    if (entries.size() > kMostPerfMapEntries) break;
  }
  std::vector<PerfMapEntry> sorted;
  sorted.reserve(entries.size());
  for (auto& [_, entry] : entries) sorted.push_back(std::move(entry));
  return sorted;
}

// V8 says the kind of code before a colon, and how it was compiled in one sign (src/logging/log.cc,
// src/diagnostics/perf-jit.cc): `LazyCompile:*fib`, `JS:^fib`, `Function:~fib`.
std::string_view jit_identity(std::string_view name) {
  if (name.starts_with("py::")) return name;
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 >= name.size()) return name;
  const bool is_kind = std::ranges::all_of(name.substr(0, colon), is_of_word) && name[colon + 1] != ':';
  if (!is_kind) return name;
  std::string_view rest = name.substr(colon + 1);
  if (std::string_view("*~^+").contains(rest.front())) rest.remove_prefix(1);
  return rest;
}

std::string jit_function_name(std::string_view line_name) {
  std::string_view name = jit_identity(line_name);
  if (name.starts_with("py::")) {  // CPython, Python/perf_trampoline.c: py::QUALNAME:FILE
    name.remove_prefix(4);
    return std::string(name.substr(0, name.find(':')));
  }
  if (const std::size_t parameters = name.find('('); parameters != std::string_view::npos && parameters > 0) {
    name = name.substr(0, parameters);  // OpenJDK, CodeCache::write_perf_map: RESULT CLASS.METHOD(PARAMETERS)
    return std::string(name.substr(name.rfind(' ') + 1));
  }
  name = name.substr(0, name.find(' '));
  if (const std::size_t of_class = name.find(";::"); name.starts_with('L') && of_class != std::string_view::npos) {
    std::string java = std::string(name.substr(1, of_class - 1)) + std::string(name.substr(of_class + 1));
    std::ranges::replace(java, '/', '.');
    return java;
  }
  return std::string(name);
}

// V8's functions without a name: `LazyCompile:* /app/a.js:6:23`.
std::string jit_shown_name(std::string_view line_name) {
  if (std::string name = jit_function_name(line_name); !name.empty()) return name;
  std::string_view place = jit_identity(line_name);
  place.remove_prefix(std::min(place.find_last_of(" /") + 1, place.size()));
  return std::string(place.empty() ? line_name : place);
}

Result<std::optional<PerfMap>> read_perf_map(pid_t pid) {
  const std::string path = path_of_map(pid);
  struct stat there {};
  if (::stat(path.c_str(), &there) != 0) return std::optional<PerfMap>();
  const UniqueFd file = KEVT_TRY(open_regular(path));
  const struct stat status = KEVT_TRY(look_at_map(file.get(), pid, path));
  PerfMap map{.version = version_of(status), .text = std::string(static_cast<std::size_t>(status.st_size), '\0')};
  std::size_t have = 0;
  while (have < map.text.size()) {
    const ssize_t got = ::read(file.get(), map.text.data() + have, map.text.size() - have);
    if (got < 0) return std::unexpected(Error::from_errno("read " + path));
    if (got == 0) break;  // it was made shorter
    have += static_cast<std::size_t>(got);
  }
  map.text.resize(have);
  return map;
}

std::optional<FileVersion> perf_map_version(pid_t pid) {
  const std::string path = path_of_map(pid);
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return version_of(status);
}

}  // namespace kevt::target
