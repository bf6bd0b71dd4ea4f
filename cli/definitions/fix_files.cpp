// Fix-its, applied.
//
//   events.txt:3   p f +0(%di:u8   ->   p f +0(%di):u8        events.txt:3: insert `)`
//
// Problem: columns change with every replacement, and a file must never be half written. Idea: fix-its are applied from
// the last place to the first; the new text goes into a file beside the old one, which then takes its name.
// Not here: which fix-its there are (sema/advice.cpp).
#include "cli/definitions/fix_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "common/output_place.h"
#include "common/unique_fd.h"

namespace kevt::cli {
namespace {

struct Replacement {
  std::size_t begin;
  std::size_t end;
  const std::string* text;
  const diag::Located* mistake;
};

// Where line `number`, 1-based, begins.
std::size_t line_start(const std::string& text, int number) {
  std::size_t at = 0;
  for (int line = 1; line < number && at != std::string::npos; ++line) {
    at = text.find('\n', at);
    if (at != std::string::npos) ++at;
  }
  return at;
}

std::vector<Replacement> replacements_in(const std::string& text, const std::string& origin,
                                         std::span<const diag::Located> mistakes) {
  std::vector<Replacement> all;
  for (const diag::Located& mistake : mistakes) {
    if (mistake.origin != origin) continue;
    const std::size_t start = line_start(text, mistake.line);
    for (const diag::FixIt& fix : mistake.fixits) {
      if (start == std::string::npos || start + fix.end > text.size()) continue;
      all.push_back({start + fix.begin, start + fix.end, &fix.replacement, &mistake});
    }
  }
  std::ranges::stable_sort(all, {}, &Replacement::begin);
  return all;
}

Result<void> write_all(int fd, const std::string& text, const std::string& name) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t wrote = write(fd, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return std::unexpected(Error::from_errno(name));
    done += static_cast<std::size_t>(wrote);
  }
  return {};
}

// A new file beside the one to be replaced; removed unless it was renamed over it.
class Successor {
 public:
  explicit Successor(const OutputPlace& place) : made_(create_temporary_beside(place)) {}
  Successor(const Successor&) = delete;
  Successor& operator=(const Successor&) = delete;
  ~Successor() {
    if (made_ && !renamed_) unlinkat(made_->folder.get(), made_->name.c_str(), 0);
  }
  explicit operator bool() const { return made_.has_value(); }
  const Error& error() const { return made_.error(); }
  int fd() const { return made_->file.get(); }
  bool take_name(const std::string& name) {
    renamed_ = renameat(made_->folder.get(), made_->name.c_str(), made_->folder.get(), name.c_str()) == 0;
    return renamed_;
  }

 private:
  Result<OutputPlace> made_;
  bool renamed_ = false;
};

Result<void> make_file(const OutputPlace& place, const std::string& name, const std::string& text) {
  Successor successor(place);
  const mode_t mask = umask(0);
  umask(mask);
  if (!successor) return std::unexpected(successor.error());
  KEVT_TRY(write_all(successor.fd(), text, name));
  if (fchmod(successor.fd(), 0666 & ~mask) != 0 || !successor.take_name(place.name))
    return std::unexpected(Error::from_errno(name));
  return {};
}

}  // namespace

FixedText apply_fixes(std::string text, const std::string& origin, std::span<const diag::Located> mistakes) {
  std::vector<Replacement> all = replacements_in(text, origin, mistakes);
  std::vector<Replacement> kept;
  for (const Replacement& one : all) {
    if (kept.empty() || one.begin >= kept.back().end) kept.push_back(one);
  }
  FixedText fixed;
  for (const Replacement& one : kept) fixed.applied.push_back(one.mistake);
  for (auto one = kept.rbegin(); one != kept.rend(); ++one) text.replace(one->begin, one->end - one->begin, *one->text);
  fixed.text = std::move(text);
  return fixed;
}

Result<void> replace_file(const std::string& name, const std::string& text) {
  const auto place = find_output(name);
  if (!place) return std::unexpected(place.error());
  struct stat status = {};
  errno = ENOENT;
  if (!place->file || fstat(place->file.get(), &status) != 0) return std::unexpected(Error::from_errno(name));
  if (!S_ISREG(status.st_mode) || !place->folder) return std::unexpected(Error(name + ": not a regular file"));
  Successor successor(*place);
  if (!successor) return std::unexpected(successor.error());
  KEVT_TRY(write_all(successor.fd(), text, name));
  // Without the right to change the owner, at least the mode is kept.
  [[maybe_unused]] const int owner = fchown(successor.fd(), status.st_uid, status.st_gid);
  if (fchmod(successor.fd(), status.st_mode & 07777) != 0 || fsync(successor.fd()) != 0 ||
      !successor.take_name(place->name)) {
    return std::unexpected(Error::from_errno(name));
  }
  return {};
}

Result<void> write_file(const std::string& name, const std::string& text) {
  const auto place = find_output(name);
  if (!place) return std::unexpected(place.error());
  return place->file ? replace_file(name, text) : make_file(*place, name, text);
}

Result<std::string> read_whole(const std::string& name) {
  constexpr std::size_t kMaxBytes = 64u << 20;
  UniqueFd file(name == "-" ? dup(STDIN_FILENO) : open(name.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::unexpected(Error::from_errno(name));
  std::string text;
  char piece[16384];
  for (;;) {
    const ssize_t got = read(file.get(), piece, sizeof(piece));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::unexpected(Error::from_errno(name));
    if (got == 0) return text;
    text.append(piece, static_cast<std::size_t>(got));
    if (text.size() > kMaxBytes) return std::unexpected(Error("`" + name + "` is too large for a script"));
  }
}

}  // namespace kevt::cli
