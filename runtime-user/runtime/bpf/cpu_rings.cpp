// A BPF ring as its reader sees it (Documentation/bpf/ringbuf.rst of the kernel): a page with the reader's position, a
// page with the writers', the data mapped twice so that no record wraps. A record is 8 bytes of header (length, with a
// bit while it is being written and one when it was given up) and its bytes, rounded up to 8.
//
// libbpf's reader hands out ring after ring by epoll; here the reader comes by itself (programs wake nobody), and what
// it takes is put in order of time by its caller.
#include "runtime-user/runtime/bpf/cpu_rings.h"

#include <bpf/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string>
#include <utility>

#include "common/page.h"
#include "runtime-user/runtime/bpf/array_map.h"

namespace kevt::bpf {

namespace {

std::uint64_t position(const std::uint8_t* page) {
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(const_cast<std::uint8_t*>(page))).load();
}
void set_position(std::uint8_t* page, std::uint64_t value) {
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(page)).store(value);
}

}  // namespace

Result<CpuRings> CpuRings::create(unsigned cpus, std::uint32_t bytes) {
  CpuRings out;
  out.bytes_ = bytes;
  for (unsigned cpu = 0; cpu < cpus; ++cpu) KEVT_TRY(out.add(cpu));
  LIBBPF_OPTS(bpf_map_create_opts, options, .inner_map_fd = static_cast<std::uint32_t>(out.rings_.front().fd.get()));
  out.outer_ = UniqueFd(bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "kevt_rings", 4, 4, cpus, &options));
  if (!out.outer_) return std::unexpected(bpf_error("making the array of rings", errno));
  for (unsigned cpu = 0; cpu < cpus; ++cpu) {
    const int fd = out.rings_[cpu].fd.get();
    if (bpf_map_update_elem(out.outer_.get(), &cpu, &fd, 0) != 0)
      return std::unexpected(bpf_error("filling the array of rings", errno));
  }
  return out;
}

Result<void> CpuRings::add(unsigned cpu) {
  Ring& ring = rings_.emplace_back();
  ring.fd = UniqueFd(bpf_map_create(BPF_MAP_TYPE_RINGBUF, "kevt_ring", 0, 0, bytes_, nullptr));
  if (!ring.fd) return std::unexpected(bpf_error("making the ring of CPU " + std::to_string(cpu), errno));
  void* consumer = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd.get(), 0);
  if (consumer == MAP_FAILED) return std::unexpected(Error::from_errno("mapping a ring"));
  ring.consumer = static_cast<std::uint8_t*>(consumer);
  void* producer = ::mmap(nullptr, kPage + 2 * std::size_t{bytes_}, PROT_READ, MAP_SHARED, ring.fd.get(), kPage);
  if (producer == MAP_FAILED) return std::unexpected(Error::from_errno("mapping a ring"));
  ring.producer = static_cast<std::uint8_t*>(producer);
  return {};
}

CpuRings::CpuRings(CpuRings&& other) noexcept
    : outer_(std::move(other.outer_)), rings_(std::move(other.rings_)), bytes_(other.bytes_) {
  other.rings_.clear();
}

CpuRings::~CpuRings() {
  for (Ring& ring : rings_) {
    if (ring.consumer) ::munmap(ring.consumer, kPage);
    if (ring.producer) ::munmap(ring.producer, kPage + 2 * std::size_t{bytes_});
  }
}

std::size_t CpuRings::drain_ring(unsigned cpu, const Take& take) {
  Ring& ring = rings_[cpu];
  std::uint64_t at = position(ring.consumer);
  const std::uint64_t end = position(ring.producer);
  std::size_t count = 0;
  while (at < end) {
    std::uint8_t* header = ring.producer + kPage + (at & (bytes_ - 1));
    const std::uint32_t word = std::atomic_ref(*reinterpret_cast<std::uint32_t*>(header)).load();
    if (word & BPF_RINGBUF_BUSY_BIT) break;
    const std::uint32_t length = std::min(word & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT), bytes_ - 8);
    if (!(word & BPF_RINGBUF_DISCARD_BIT)) {
      take(cpu, {header + BPF_RINGBUF_HDR_SZ, length});
      ++count;
    }
    at += (length + BPF_RINGBUF_HDR_SZ + 7) & ~std::uint64_t{7};
    set_position(ring.consumer, at);
  }
  return count;
}

std::size_t CpuRings::drain(const Take& take) {
  std::size_t count = 0;
  for (unsigned cpu = 0; cpu < rings_.size(); ++cpu) count += drain_ring(cpu, take);
  return count;
}

}  // namespace kevt::bpf
