// Whenever a single event of a CPU is switched on, the kernel takes all of that CPU's events out and puts them in
// again: 1,300 events one after the other are a million steps. Events of a group whose leader is off are merely noted,
// and the leader switches them on together:
//
//   leader (dummy, off) ◄── sched_switch, irq_handler_entry, …   opened, noted
//   leader on                                                    once through all of them
//
// Mirrors what perf_install_in_context() and __perf_event_enable() of kernel/events/core.c (6.1) do.
#include "runtime-user/runtime/bpf/event_group.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include <cerrno>

#include "runtime-user/runtime/bpf/array_map.h"

namespace kevt::bpf {

Result<void> EventGroup::switch_on() {
  for (const UniqueFd& fd : leaders_)
    if (::ioctl(fd.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) {
      Error error = bpf_error("switching events on", errno);
      switch_off();
      return std::unexpected(std::move(error));
    }
  is_on_ = true;
  return {};
}

void EventGroup::switch_off() {
  for (const UniqueFd& fd : leaders_) ::ioctl(fd.get(), PERF_EVENT_IOC_DISABLE, 0);
  is_on_ = false;
}

Result<void> OpenEvent::arm() {
  for (const UniqueFd& fd : fds)
    if (!is_armed && ::ioctl(fd.get(), PERF_EVENT_IOC_ENABLE, 0) != 0)
      return std::unexpected(bpf_error("switching an event on", errno));
  is_armed = true;
  return {};
}

void OpenEvent::disarm() {
  for (const UniqueFd& fd : fds)
    if (is_armed) ::ioctl(fd.get(), PERF_EVENT_IOC_DISABLE, 0);
  is_armed = false;
}

}  // namespace kevt::bpf
