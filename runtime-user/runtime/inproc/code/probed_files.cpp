// A program that becomes others by exec loads the same libraries again: libc's symbols and the jumps in its text are
// looked for once, not a second time for each of a hundred compilers that a `make` starts.
//
// A file that was written to since counts as another file; a file that is written to while it is read is not kept
// (ElfImage::problem()).
#include "runtime-user/runtime/inproc/code/probed_files.h"

#include <sys/stat.h>

#include <algorithm>

namespace kevt::inproc {

namespace {

constexpr std::size_t kMostFiles = 64;  // files that processes still use live on beside these

std::int64_t in_ns(const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

}  // namespace

ProbedFiles::Version ProbedFiles::version_of(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size), in_ns(status.st_mtim),
          in_ns(status.st_ctim)};
}

Result<std::shared_ptr<ProbedFile>> ProbedFiles::open(const std::string& path) {
  const Version version = version_of(path);
  const auto known = std::ranges::find(recent_, version, &Known::version);
  if (known != recent_.end() && !known->file->image.problem()) {
    recent_.splice(recent_.begin(), recent_, known);
    return recent_.front().file;
  }
  if (known != recent_.end()) recent_.erase(known);
  auto image = KEVT_TRY(target::ElfImage::open(path));
  auto file = std::make_shared<ProbedFile>(std::move(image));
  if (version != Version{} && version == version_of(path)) recent_.push_front({version, file});
  if (recent_.size() > kMostFiles) recent_.pop_back();
  return file;
}

}  // namespace kevt::inproc
