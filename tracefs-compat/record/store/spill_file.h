// SpillFile: a file without a name that holds what does not fit into memory, mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "common/error.h"
#include "common/unique_fd.h"

namespace kevt::record {

class SpillFile {
 public:
  // Bytes of the file system that are left to others; looked at once for each 256 MB.
  static constexpr std::uint64_t kLeftFree = std::uint64_t{1} << 30;

  // A file that only this process knows, in the folder. It is gone when the process is, however that ends.
  static Result<std::unique_ptr<SpillFile>> create(const std::string& folder);
  // $TMPDIR, or else /var/tmp, which is on a disk where /tmp may be in memory (file-hierarchy(7)).
  static std::string usual_folder();

  struct Place {
    std::uint64_t at = 0;               // byte of the file
    std::shared_ptr<std::byte> mapped;  // only to be read
  };
  // Writes the bytes and gives them back mapped, at a multiple of 64. They stay as long as somebody has them, also
  // without this object. Error: there is no room, and nothing has changed.
  Result<Place> add(std::span<const std::byte> bytes);
  // Writes over bytes that were added; their mapping shows it.
  Result<void> write(std::uint64_t at, std::span<const std::byte> bytes);
  std::uint64_t bytes() const { return end_; }

 private:
  SpillFile(UniqueFd file, std::string folder) : file_(std::move(file)), folder_(std::move(folder)) {}
  Result<void> map_more(std::uint64_t bytes);

  UniqueFd file_;
  std::string folder_;
  std::shared_ptr<std::byte> segment_;  // the part of the file that is being filled
  std::uint64_t segment_begin_ = 0, segment_end_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace kevt::record
