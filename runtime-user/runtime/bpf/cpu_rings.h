// CpuRings: one BPF ring buffer for each CPU, and the records in them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "common/error.h"
#include "common/unique_fd.h"

namespace kevt::bpf {

class CpuRings {
 public:
  // `bytes` of each ring: a power of two, and a multiple of a page.
  static Result<CpuRings> create(unsigned cpus, std::uint32_t bytes);
  CpuRings(CpuRings&& other) noexcept;
  CpuRings& operator=(CpuRings&&) = delete;
  ~CpuRings();

  int map_fd() const { return outer_.get(); }  // the array of rings
  // Hands out the committed records ring by ring, each ring's in order. The bytes live until `take` returns.
  using Take = std::function<void(unsigned cpu, std::span<const std::uint8_t> record)>;
  std::size_t drain(const Take& take);

 private:
  struct Ring {
    UniqueFd fd;
    std::uint8_t* consumer = nullptr;  // the page with the reader's position, which we write
    std::uint8_t* producer = nullptr;  // the page with the writers' position, then the data twice in a row
  };
  CpuRings() = default;
  Result<void> add(unsigned cpu);
  std::size_t drain_ring(unsigned cpu, const Take& take);

  UniqueFd outer_;
  std::vector<Ring> rings_;
  std::uint32_t bytes_ = 0;
};

}  // namespace kevt::bpf
