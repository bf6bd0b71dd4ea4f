// Whether a mount is still in its place is not asked by a stat of the directory: the server would have to answer
// itself.
//
//   36 35 0:44 / /tmp/t rw,nosuid,nodev shared:7 - fuse.kevtrace kevtrace rw,user_id=0    blanks in paths are \040
//
// Mirrors show_mountinfo() of fs/proc_namespace.c (6.1).
#include "tracefs-compat/fuse/mount_table.h"

#include <fstream>
#include <sstream>

namespace kevt::fuse {

namespace {

bool is_octal(char c) { return c >= '0' && c <= '7'; }

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) && is_octal(text[i + 2]) &&
                           is_octal(text[i + 3]);
    if (!is_escape) {
      out += text[i];
      continue;
    }
    out += static_cast<char>((text[i + 1] - '0') << 6 | (text[i + 2] - '0') << 3 | (text[i + 3] - '0'));
    i += 3;
  }
  return out;
}

}  // namespace

std::optional<std::string> device_mounted_on(const std::string& directory, std::string_view mountinfo) {
  std::optional<std::string> found;
  std::istringstream lines{std::string(mountinfo)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string id, parent, device, root, place;
    if (words >> id >> parent >> device >> root >> place && unescaped(place) == directory) found = device;
  }
  return found;
}

std::optional<std::string> device_mounted_on(const std::string& directory) {
  std::ifstream file("/proc/self/mountinfo");
  std::ostringstream text;
  text << file.rdbuf();
  return device_mounted_on(directory, text.view());
}

}  // namespace kevt::fuse
