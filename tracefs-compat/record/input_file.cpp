// pread into a window; little-endian numbers put together byte by byte, so that nothing depends on alignment.
#include "tracefs-compat/record/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace kevt::record {
namespace {

constexpr std::size_t kLargestWindow = 64 << 10;

}  // namespace

Result<InputFile> InputFile::open(const std::string& path) {
  InputFile made;
  made.path_ = path;
  made.fd_ = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!made.fd_) return std::unexpected(Error::from_errno(path));
  struct stat status = {};
  if (fstat(made.fd_.get(), &status) != 0) return std::unexpected(Error::from_errno(path));
  if (!S_ISREG(status.st_mode)) return std::unexpected(Error(path + " is no regular file"));
  made.size_ = static_cast<std::uint64_t>(status.st_size);
  made.measure();
  return made;
}

void InputFile::measure() {
  const auto end = static_cast<off_t>(size_);
  for (off_t at = 0; at < end;) {
    const off_t data = lseek(fd_.get(), at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) return;
    const off_t hole = data < 0 ? -1 : lseek(fd_.get(), data, SEEK_HOLE);
    if (hole <= at) break;
    data_bytes_ += static_cast<std::uint64_t>(std::min(hole, end) - std::min(data, end));
    at = hole;
  }
  if (lseek(fd_.get(), 0, SEEK_DATA) < 0 && errno != ENXIO) data_bytes_ = size_;
}

std::uint64_t InputFile::next_data(std::uint64_t offset) const {
  if (offset >= size_ || data_bytes_ == size_) return std::min(offset, size_);
  const off_t data = lseek(fd_.get(), static_cast<off_t>(offset), SEEK_DATA);
  if (data < 0) return errno == ENXIO ? size_ : offset;
  return std::min(static_cast<std::uint64_t>(data), size_);
}

bool InputFile::has_data(std::uint64_t offset, std::uint64_t bytes) const {
  if (data_bytes_ == size_ || bytes == 0) return true;
  if (next_data(offset) != offset) return false;
  const off_t hole = lseek(fd_.get(), static_cast<off_t>(offset), SEEK_HOLE);
  return hole < 0 || static_cast<std::uint64_t>(hole) - offset >= bytes;
}

std::size_t InputFile::read_at(std::uint64_t offset, std::span<std::uint8_t> out) const {
  std::size_t done = 0;
  while (done < out.size() && offset + done < size_) {
    const ssize_t got = pread(fd_.get(), out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

bool Cursor::fill() {
  if (!file_) {
    if (window_at_ == 0 && window_.empty() && at_ < memory_.size()) return true;
    return false;
  }
  if (at_ >= window_at_ && at_ - window_at_ < window_.size()) return true;
  if (!file_->has_data(at_, 1)) return false;
  window_.resize(next_window_);
  next_window_ = std::min(2 * next_window_, kLargestWindow);
  window_at_ = at_;
  window_.resize(file_->read_at(at_, window_));
  return !window_.empty();
}

void Cursor::skip(std::uint64_t bytes) {
  const std::uint64_t end = file_ ? file_->size() : memory_.size();
  if (at_ > end || bytes > end - at_) good_ = false;
  if (good_) at_ += bytes;
}

std::uint64_t Cursor::number(unsigned bytes) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) {
    if (!good_ || !fill()) {
      good_ = false;
      return 0;
    }
    const std::uint8_t byte = file_ ? window_[at_ - window_at_] : memory_[at_];
    value |= std::uint64_t{byte} << 8 * i;
    ++at_;
  }
  return value;
}

std::string Cursor::string(std::size_t limit) {
  std::string out;
  for (;;) {
    const auto c = static_cast<char>(number(1));
    if (!good_ || c == '\0') break;
    out += c;
    if (out.size() > limit) good_ = false;
  }
  return good_ ? out : "";
}

std::string Cursor::bytes(std::uint64_t count, std::uint64_t limit) {
  const std::uint64_t end = file_ ? file_->size() : memory_.size();
  if (count > limit || at_ > end || count > end - at_) good_ = false;
  if (good_ && file_ && !file_->has_data(at_, count)) good_ = false;
  if (!good_ || count == 0) return "";
  std::string out(count, '\0');
  if (file_)
    good_ = file_->read_at(at_, {reinterpret_cast<std::uint8_t*>(out.data()), out.size()}) == out.size();
  else
    std::ranges::copy(memory_.subspan(at_, count), out.begin());
  at_ += count;
  return good_ ? out : "";
}

}  // namespace kevt::record
