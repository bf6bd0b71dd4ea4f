#include "common/installed_file.h"

#include <filesystem>
#include <system_error>

namespace kevt {

std::expected<std::string, std::string> installed_file(const std::string& name) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  if (folder.empty()) return std::unexpected(std::string());
  std::string last;
  for (const char* place : {"../lib", "../lib/kevtrace", "."}) {
    last = (folder / place / name).lexically_normal().string();
    if (std::filesystem::exists(last, error)) return last;
  }
  return std::unexpected(last);
}

}  // namespace kevt
