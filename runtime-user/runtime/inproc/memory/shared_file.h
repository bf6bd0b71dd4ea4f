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
  // `bytes` long for ever: it can neither be cut off under who has it mapped, nor grow. `name` shows in /proc/PID/maps.
  static Result<SharedFile> create(const std::string& name, std::uint64_t bytes, Contents contents);

  // From now on nobody can write to it who has no writable mapping yet, whatever descriptor of it he gets hold of, and
  // mappings made from now on stay read-only (memfd_create(2), F_SEAL_FUTURE_WRITE).
  Result<void> seal_against_writing() const;
  // Nobody adds a seal any more, which would stop us from mapping it.
  Result<void> seal() const;

  // Where its pages lie that there are, between two places that are multiples of a page. Makes none.
  std::vector<std::uint64_t> pages_between(std::uint64_t begin, std::uint64_t end) const;

  // Its bytes from there on are 0 again and take no memory.
  void clear(std::uint64_t offset, std::uint64_t bytes) const;

  int fd() const { return fd_.get(); }
  // Tell its mappings from others.
  std::uint64_t inode() const { return inode_; }
  std::uint64_t device() const { return device_; }

 private:
  UniqueFd fd_;
  std::uint64_t inode_ = 0, device_ = 0;
};

}  // namespace kevt::inproc
