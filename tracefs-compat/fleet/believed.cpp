#include "tracefs-compat/fleet/believed.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

namespace kevt::fleet {
namespace {

bool is_ours(const struct stat& status) { return status.st_uid == 0 || status.st_uid == geteuid(); }
bool is_open(const struct stat& status) { return (status.st_mode & (S_IWGRP | S_IWOTH)) != 0; }

}  // namespace

Result<std::string> believed_path(const std::string& path, const std::string& purpose) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  if (!real) return std::unexpected(Error::from_errno(path));
  const std::string whole = real.get();
  for (std::string at = whole;;) {
    struct stat status = {};
    if (::lstat(at.c_str(), &status) < 0) return std::unexpected(Error::from_errno(at));
    const bool is_kept = at != whole && (status.st_mode & S_ISVTX) != 0;
    if (!is_ours(status) || (is_open(status) && !is_kept))
      return std::unexpected(
          Error(fmt::format("{} {}, and others may write to {}; it must belong to root or this user, "
                            "and nobody else may write to it (chmod go-w)",
                            path, purpose, at == whole ? "it" : at),
                EPERM));
    if (at == "/") return whole;
    const auto slash = at.rfind('/');
    at.resize(slash == 0 ? 1 : slash);
  }
}

}  // namespace kevt::fleet
