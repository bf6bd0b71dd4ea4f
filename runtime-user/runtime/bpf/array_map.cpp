// One mapping of the whole array: counters are read, and events switched, without a system call.
#include "runtime-user/runtime/bpf/array_map.h"

#include <bpf/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "common/page.h"

namespace kevt::bpf {

namespace {}

Error bpf_error(const std::string& what, int errno_value) {
  std::string text = what + ": " + std::strerror(errno_value);
  if (errno_value == EPERM || errno_value == EACCES)
    text += "; CAP_BPF and CAP_PERFMON are needed (root has them), and a kernel that is not locked down";
  if (errno_value == ENOSYS) text += "; this kernel has no BPF";
  return Error(std::move(text), errno_value);
}

Result<ArrayMap> ArrayMap::create(const std::string& name, std::uint32_t value_bytes, std::uint32_t entries) {
  ArrayMap map;
  map.stride_ = (std::size_t{value_bytes} + 7) & ~std::size_t{7};
  LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
  map.fd_ = UniqueFd(
      bpf_map_create(BPF_MAP_TYPE_ARRAY, name.c_str(), 4, static_cast<std::uint32_t>(map.stride_), entries, &options));
  if (!map.fd_) return std::unexpected(bpf_error("making BPF map `" + name + "`", errno));
  const std::size_t bytes = page_up(map.stride_ * entries);
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map.fd_.get(), 0);
  if (at == MAP_FAILED) return std::unexpected(Error::from_errno("mapping BPF map `" + name + "`"));
  map.bytes_ = static_cast<std::uint8_t*>(at);
  map.mapped_ = bytes;
  return map;
}

ArrayMap::ArrayMap(ArrayMap&& other) noexcept
    : fd_(std::move(other.fd_)),
      bytes_(std::exchange(other.bytes_, nullptr)),
      mapped_(std::exchange(other.mapped_, 0)),
      stride_(other.stride_) {}

ArrayMap& ArrayMap::operator=(ArrayMap&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_, other.mapped_);
  std::swap(stride_, other.stride_);
  return *this;
}

ArrayMap::~ArrayMap() {
  if (bytes_) ::munmap(bytes_, mapped_);
}

}  // namespace kevt::bpf
