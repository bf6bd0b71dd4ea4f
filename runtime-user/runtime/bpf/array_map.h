// ArrayMap: a BPF array map that is also mapped into our memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "common/error.h"
#include "common/unique_fd.h"

namespace kevt::bpf {

class ArrayMap {
 public:
  // Values are rounded up to 8 bytes, and 0 at first.
  static Result<ArrayMap> create(const std::string& name, std::uint32_t value_bytes, std::uint32_t entries);
  ArrayMap(ArrayMap&& other) noexcept;
  ArrayMap& operator=(ArrayMap&& other) noexcept;
  ~ArrayMap();

  int fd() const { return fd_.get(); }
  // The kernel changes these bytes at any time.
  std::uint8_t* value(std::uint32_t index) const { return bytes_ + std::size_t{index} * stride_; }

 private:
  ArrayMap() = default;
  UniqueFd fd_;
  std::uint8_t* bytes_ = nullptr;
  std::size_t mapped_ = 0;
  std::size_t stride_ = 0;
};

// The error of a failed BPF call; says what is missing where the caller lacks the right.
Error bpf_error(const std::string& what, int errno_value);

}  // namespace kevt::bpf
