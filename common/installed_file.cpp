#include "common/installed_file.h"

#include <filesystem>
#include <system_error>

namespace kevt {

namespace {

// Empty: it is not known.
std::filesystem::path folder_of_program() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

}  // namespace

std::optional<std::string> documentation_folder() {
  std::error_code error;
  const std::filesystem::path folder = folder_of_program();
  if (folder.empty()) return std::nullopt;
  for (const char* place : {"../share/doc/kevtrace/docs", "../../../docs"}) {
    const std::filesystem::path pages = (folder / place).lexically_normal();
    if (std::filesystem::exists(pages / "language.md", error)) return pages.string();
  }
  return std::nullopt;
}

std::expected<std::string, std::string> installed_file(const std::string& name) {
  std::error_code error;
  const std::filesystem::path folder = folder_of_program();
  if (folder.empty()) return std::unexpected(std::string());
  std::string last;
  for (const char* place : {"../lib", "../lib/kevtrace", "."}) {
    last = (folder / place / name).lexically_normal().string();
    if (std::filesystem::exists(last, error)) return last;
  }
  return std::unexpected(last);
}

}  // namespace kevt
