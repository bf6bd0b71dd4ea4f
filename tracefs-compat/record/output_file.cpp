// write, pwrite and copy_file_range until everything is out; short writes go on, EINTR is retried.
#include "tracefs-compat/record/output_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace kevt::record {

OutputFile::OutputFile(OutputPlace place, std::string path) : place_(std::move(place)), path_(std::move(path)) {
  controls_ = controls_for(fd());
}

OutputFile::OutputFile(OutputFile&& other) noexcept { *this = std::move(other); }

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  if (this == &other) return *this;
  std::swap(place_, other.place_);
  std::swap(path_, other.path_);
  std::swap(controls_, other.controls_);
  std::swap(goes_, other.goes_);
  std::swap(buffer_, other.buffer_);
  std::swap(written_, other.written_);
  return *this;
}

OutputFile::~OutputFile() {
  if (goes_) unlinkat(place_.folder.get(), place_.name.c_str(), 0);
}

Result<OutputFile> OutputFile::create(const std::string& path) {
  if (path.empty() || path == "-") return OutputFile({}, "standard output");
  auto place = KEVT_TRY(open_output(path));
  return OutputFile(std::move(place), path);
}

Result<OutputFile> OutputFile::create_in(const UniqueFd& folder, const std::string& name) {
  auto place = KEVT_TRY(open_output_in(folder, name));
  return OutputFile(std::move(place), name);
}

Result<OutputFile> OutputFile::create_beside(const OutputFile& other) {
  auto place = KEVT_TRY(create_temporary_beside(other.place_));
  OutputFile made(std::move(place), other.path_);
  made.goes_ = true;
  return made;
}

Result<OutputFile> OutputFile::create_temporary(const std::string& path, const std::string& suffix) {
  auto place = KEVT_TRY(kevt::create_temporary(path, suffix));
  const auto slash = path.rfind('/');
  std::string name = path.substr(0, slash == std::string::npos ? 0 : slash + 1) + place.name;
  return OutputFile(std::move(place), std::move(name));
}

bool OutputFile::is_regular() const {
  struct stat status = {};
  return fstat(fd(), &status) == 0 && S_ISREG(status.st_mode);
}

Result<void> OutputFile::flush() {
  std::size_t at = 0;
  while (at < buffer_.size()) {
    const ssize_t put = ::write(fd(), buffer_.data() + at, buffer_.size() - at);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) {
      pollfd wait = {fd(), POLLOUT, 0};
      poll(&wait, 1, -1);
      continue;
    }
    if (put < 0) {
      Error error = Error::from_errno("writing " + path_);
      buffer_.clear();
      return std::unexpected(std::move(error));
    }
    at += static_cast<std::size_t>(put);
  }
  written_ += buffer_.size();
  buffer_.clear();
  return {};
}

Result<void> OutputFile::write_at(std::uint64_t offset, std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = pwrite(fd(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return std::unexpected(Error::from_errno("writing " + path_));
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
  return {};
}

Result<void> OutputFile::write_at(std::uint64_t offset, std::string_view bytes) {
  return write_at(offset, std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
}

Result<void> OutputFile::copy_from(const OutputFile& other, std::uint64_t from, std::uint64_t to,
                                   std::uint64_t length) {
  constexpr std::uint64_t kAtOnce = 1 << 20;
  bool in_kernel = true;
  std::vector<std::uint8_t> piece;
  while (length > 0) {
    loff_t in = static_cast<loff_t>(from), out = static_cast<loff_t>(to);
    ssize_t done = in_kernel ? copy_file_range(other.fd(), &in, fd(), &out, length, 0) : 0;
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      in_kernel = false;
      piece.resize(std::min(length, kAtOnce));
      done = pread(other.fd(), piece.data(), piece.size(), static_cast<off_t>(from));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) return std::unexpected(Error::from_errno("reading " + other.path_));
      KEVT_TRY(write_at(to, std::span(piece).first(static_cast<std::size_t>(done))));
    }
    from += static_cast<std::uint64_t>(done);
    to += static_cast<std::uint64_t>(done);
    length -= static_cast<std::uint64_t>(done);
  }
  return {};
}

void OutputFile::remove() {
  if (place_.is_new) unlinkat(place_.folder.get(), place_.name.c_str(), 0);
}

Result<void> OutputFile::take_place_of(const OutputFile& other) {
  if (renameat(place_.folder.get(), place_.name.c_str(), other.place_.folder.get(), other.place_.name.c_str()) != 0)
    return std::unexpected(Error::from_errno("putting " + place_.name + " in the place of " + other.path_));
  goes_ = false;
  place_.name = other.place_.name;
  return {};
}

}  // namespace kevt::record
