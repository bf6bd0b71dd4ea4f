// SharedFile: anonymous memory that is mapped here and in targets, which may be hostile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/unique_fd.h"

namespace kevt::inproc {

enum class Contents : std::uint8_t { Data, Code };

class SharedFile {
 public:
  SharedFile() = default;  // none
  // The file stays `bytes` long for ever: nobody can truncate it under those who have it mapped, or make it grow.
  // `name` shows in /proc/PID/maps.
  static Result<SharedFile> create(const std::string& name, std::uint64_t bytes, Contents contents);

  // From now on the file can be written only through mappings that are writable already: every new mapping stays
  // read-only, whatever descriptor it is made from (memfd_create(2), F_SEAL_FUTURE_WRITE).
  Result<void> seal_against_writing() const;
  // From now on nobody can add a seal, such as one that would stop us from mapping the file.
  Result<void> seal() const;

  // Offsets of the pages that exist in [begin, end), both multiples of a page. Makes none.
  std::vector<std::uint64_t> pages_between(std::uint64_t begin, std::uint64_t end) const;

  // Sets `bytes` bytes from `offset` on to 0 and frees their memory.
  void clear(std::uint64_t offset, std::uint64_t bytes) const;

  int fd() const { return fd_.get(); }
  // These two tell the file's mappings from others.
  std::uint64_t inode() const { return inode_; }
  std::uint64_t device() const { return device_; }

 private:
  UniqueFd fd_;
  std::uint64_t inode_ = 0, device_ = 0;
};

}  // namespace kevt::inproc
