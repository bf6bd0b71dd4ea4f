// The module takes so many items at a time; larger batches go in parts. When a part is refused, what the parts before
// it did is undone, except removals.
#include "runtime-user/runtime/kmod/device.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace kevt::kmod {

Result<Device> Device::open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (fd) return Device(std::move(fd));
  const int reason = errno;
  std::string text = path + ": " + std::strerror(reason);
  if (reason == ENOENT || reason == ENODEV) text += "; kevtrace.ko is not loaded";
  if (reason == EACCES || reason == EPERM)
    text += "; it is for root, or whoever may open it and has CAP_BPF and CAP_PERFMON";
  return std::unexpected(Error(std::move(text), reason));
}

Device::Done Device::request(unsigned long command, void* items, std::uint32_t item_bytes, std::size_t count,
                             kevt_kmod_status* results) const {
  Done done;
  while (done.items < count) {
    const std::size_t part = std::min<std::size_t>(count - done.items, KEVT_KMOD_MAX_BATCH);
    kevt_kmod_request request = {};
    request.version = KEVT_KMOD_VERSION;
    request.item_size = item_bytes;
    request.count = static_cast<std::uint32_t>(part);
    request.items = reinterpret_cast<std::uint64_t>(static_cast<char*>(items) + done.items * item_bytes);
    if (results) request.results = reinterpret_cast<std::uint64_t>(results + done.items);
    if (::ioctl(fd_.get(), command, &request) != 0) {
      done.error = errno;
      done.refused = done.items + request.failed;
      return done;
    }
    done.items += part;
  }
  return done;
}

namespace {

Error refusal(const char* what, int reason) {
  std::string text = std::string(what) + ": " + std::strerror(reason);
  if (reason == ENOSPC)
    text = std::string(what) + ": more than kevtrace.ko takes; max_probes, max_programs and max_memory_mib in " +
           "/sys/module/kevtrace/parameters are the limits of all clients";
  return Error(std::move(text), reason);
}

std::uint32_t* ids_of(std::span<const std::uint32_t> ids) { return const_cast<std::uint32_t*>(ids.data()); }

}  // namespace

Result<void> Device::add(std::span<kevt_kmod_probe> probes, std::size_t& refused) {
  const Done done = request(KEVT_KMOD_ADD, probes.data(), sizeof(kevt_kmod_probe), probes.size(), nullptr);
  if (!done.error) return {};
  refused = done.refused;
  std::vector<std::uint32_t> made;
  for (const kevt_kmod_probe& probe : probes.first(done.items)) made.push_back(probe.id);
  (void)remove(made);
  return std::unexpected(refusal("adding probes", done.error));
}

Result<void> Device::remove(std::span<const std::uint32_t> ids) {
  const Done done = request(KEVT_KMOD_REMOVE, ids_of(ids), sizeof(std::uint32_t), ids.size(), nullptr);
  if (done.error) return std::unexpected(refusal("removing probes", done.error));
  return {};
}

Result<void> Device::change(unsigned long command, unsigned long back, std::span<const std::uint32_t> ids,
                            std::size_t& refused) {
  const Done done = request(command, ids_of(ids), sizeof(std::uint32_t), ids.size(), nullptr);
  if (!done.error) return {};
  refused = done.refused;
  (void)request(back, ids_of(ids), sizeof(std::uint32_t), done.items, nullptr);
  return std::unexpected(refusal("switching probes", done.error));
}

Result<void> Device::enable(std::span<const std::uint32_t> ids, std::size_t& refused) {
  return change(KEVT_KMOD_ENABLE, KEVT_KMOD_DISABLE, ids, refused);
}
Result<void> Device::disable(std::span<const std::uint32_t> ids, std::size_t& refused) {
  return change(KEVT_KMOD_DISABLE, KEVT_KMOD_ENABLE, ids, refused);
}

Result<std::vector<kevt_kmod_status>> Device::status(std::span<const std::uint32_t> ids) const {
  std::vector<kevt_kmod_status> results(ids.size());
  const Done done = request(KEVT_KMOD_STATUS, ids_of(ids), sizeof(std::uint32_t), ids.size(), results.data());
  if (done.error) return std::unexpected(refusal("asking for the state of probes", done.error));
  return results;
}

}  // namespace kevt::kmod
