// Two small classes over the same paths: one calls the tree, one the system.
#include "tracefs-compat/tree/tracing_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "common/unique_fd.h"

namespace kevt::tree {

namespace {

constexpr std::size_t kPiece = 64 * 1024;

class InProcessDir final : public TracingDir {
 public:
  explicit InProcessDir(Tree& tree) : tree_(tree) {}

  Result<std::string> read(std::string_view path) override {
    auto handle = KEVT_TRY(tree_.open(path, {}));
    std::string text, piece(kPiece, '\0');
    for (;;) {
      auto count = KEVT_TRY(handle->read(text.size(), piece, Waiting::Refused));
      if (count == 0) return text;
      text.append(piece, 0, count);
    }
  }
  Result<void> write(std::string_view path, std::string_view text, WriteMode mode) override {
    const Caller self{.tid = getpid(), .comm = "kevtrace"};
    auto handle =
        tree_.open(path, {.reads = false, .writes = true, .truncates = mode == WriteMode::Replace, .caller = self});
    if (!handle) return std::unexpected(std::move(handle.error()));
    while (!text.empty()) {
      auto count = KEVT_TRY((*handle)->write(text, self));
      if (count == 0) return fails(EIO);
      text.remove_prefix(count);
    }
    return {};
  }
  Result<std::vector<DirectoryEntry>> list(std::string_view path) override { return tree_.list(path); }
  Result<void> make_directory(std::string_view path) override { return tree_.make_directory(path); }
  Result<void> remove_directory(std::string_view path) override { return tree_.remove_directory(path); }
  Result<std::string> read_ready(std::string_view path, std::size_t limit) override {
    auto& handle = open_[std::string(path)];
    if (!handle) {
      handle = KEVT_TRY(tree_.open(path, {}));
    }
    std::string text(limit, '\0');
    auto count = handle->read(0, text, Waiting::Refused);
    if (!count && count.error().errno_value() != EAGAIN) return std::unexpected(std::move(count.error()));
    text.resize(count.value_or(0));
    return text;
  }

 private:
  Tree& tree_;
  std::map<std::string, std::unique_ptr<Handle>> open_;
};

class SystemDir final : public TracingDir {
 public:
  explicit SystemDir(std::string root) : root_(std::move(root)) {}

  Result<std::string> read(std::string_view path) override {
    const UniqueFd fd(open(full(path).c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return std::unexpected(Error::from_errno(full(path)));
    std::string text, piece(kPiece, '\0');
    for (;;) {
      const ssize_t count = ::read(fd.get(), piece.data(), piece.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return std::unexpected(Error::from_errno(full(path)));
      if (count == 0) return text;
      text.append(piece, 0, static_cast<std::size_t>(count));
    }
  }
  Result<void> write(std::string_view path, std::string_view text, WriteMode mode) override {
    const int flags = O_WRONLY | O_CLOEXEC | (mode == WriteMode::Replace ? O_TRUNC : O_APPEND);
    const UniqueFd fd(open(full(path).c_str(), flags));
    if (!fd) return std::unexpected(Error::from_errno(full(path)));
    while (!text.empty()) {
      const ssize_t count = ::write(fd.get(), text.data(), text.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return std::unexpected(Error::from_errno(full(path)));
      text.remove_prefix(static_cast<std::size_t>(count));
    }
    return {};
  }
  Result<std::vector<DirectoryEntry>> list(std::string_view path) override {
    DIR* directory = opendir(full(path).c_str());
    if (!directory) return std::unexpected(Error::from_errno(full(path)));
    std::vector<DirectoryEntry> entries;
    while (const dirent* entry = readdir(directory)) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") entries.push_back({std::string(name), entry->d_type == DT_DIR});
    }
    closedir(directory);
    return entries;
  }
  Result<void> make_directory(std::string_view path) override {
    if (mkdir(full(path).c_str(), 0750) == 0) return {};
    return std::unexpected(Error::from_errno(full(path)));
  }
  Result<void> remove_directory(std::string_view path) override {
    if (rmdir(full(path).c_str()) == 0) return {};
    return std::unexpected(Error::from_errno(full(path)));
  }
  Result<std::string> read_ready(std::string_view path, std::size_t limit) override {
    UniqueFd& fd = open_[std::string(path)];
    if (!fd) fd = UniqueFd(open(full(path).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!fd) return std::unexpected(Error::from_errno(full(path)));
    std::string text(limit, '\0');
    const ssize_t count = ::read(fd.get(), text.data(), text.size());
    if (count < 0 && errno != EAGAIN && errno != EINTR) return std::unexpected(Error::from_errno(full(path)));
    text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    return text;
  }

 private:
  std::string full(std::string_view path) const { return root_ + "/" + std::string(path); }
  std::string root_;
  std::map<std::string, UniqueFd> open_;
};

}  // namespace

std::unique_ptr<TracingDir> tracing_dir(Tree& tree) { return std::make_unique<InProcessDir>(tree); }
std::unique_ptr<TracingDir> tracing_dir(std::string directory) {
  return std::make_unique<SystemDir>(std::move(directory));
}

}  // namespace kevt::tree
