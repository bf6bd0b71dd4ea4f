// Device: the requests of common/abi/kmod.h. Probes that were added are removed when the device is closed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/abi/kmod.h"
#include "common/error.h"
#include "common/unique_fd.h"

namespace kevt::kmod {

class Device {
 public:
  static Result<Device> open(const std::string& path = "/dev/kevtrace");

  // Each batch is done as a whole or not at all, whatever its size; only a removal may stop half way. The error carries
  // the kernel's errno, and `refused` the index of the item that was in the way.
  Result<void> add(std::span<kevt_kmod_probe> probes, std::size_t& refused);  // fills in the ids
  Result<void> remove(std::span<const std::uint32_t> ids);
  Result<void> enable(std::span<const std::uint32_t> ids, std::size_t& refused);
  Result<void> disable(std::span<const std::uint32_t> ids, std::size_t& refused);
  Result<std::vector<kevt_kmod_status>> status(std::span<const std::uint32_t> ids) const;

 private:
  explicit Device(UniqueFd fd) : fd_(std::move(fd)) {}
  // Sends the items in parts of a size that the module takes.
  struct Done {
    std::size_t items = 0;
    int error = 0;
    std::size_t refused = 0;
  };
  Done request(unsigned long command, void* items, std::uint32_t item_bytes, std::size_t count,
               kevt_kmod_status* results) const;
  Result<void> change(unsigned long command, unsigned long back, std::span<const std::uint32_t> ids,
                      std::size_t& refused);
  UniqueFd fd_;
};

}  // namespace kevt::kmod
