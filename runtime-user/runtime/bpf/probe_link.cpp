// perf's kprobe and uprobe units: a probe is an event of theirs, a program is linked to it with a cookie of its own.
//
//   perf_event_open({type: kprobe, address, retprobe?}) ─► bpf_link_create(program, event, cookie) ─► enable
//
//   perf_event_open({type: breakpoint, address, length}) for each CPU ─► the same
//   bpf_raw_tracepoint_open(name, program)     without perf: the program is run by the tracepoint itself
//
// A perf event is disabled until the program is there. Closing event and link waits until the kernel has no hit of the
// probe under way.
#include "runtime-user/runtime/bpf/probe_link.h"

#include <bpf/bpf.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "runtime-user/runtime/bpf/array_map.h"
#include "runtime-user/runtime/bpf/program.h"

namespace kevt::bpf {

namespace {

std::optional<std::uint32_t> unit_number(const char* unit) {
  std::ifstream file(std::string("/sys/bus/event_source/devices/") + unit + "/type");
  std::uint32_t number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

// "config:N": the bit that makes a probe a return probe.
std::optional<std::uint64_t> return_bit(const char* unit) {
  std::ifstream file(std::string("/sys/bus/event_source/devices/") + unit + "/format/retprobe");
  std::string text;
  if (!(file >> text) || !text.starts_with("config:")) return std::nullopt;
  const unsigned bit = static_cast<unsigned>(std::strtoul(text.c_str() + 7, nullptr, 10));
  return bit < 64 ? std::optional(std::uint64_t{1} << bit) : std::nullopt;
}

// "0-3,8": each of them.
std::vector<int> online_cpus() {
  std::ifstream file("/sys/devices/system/cpu/online");
  std::vector<int> cpus;
  int first = 0;
  while (file >> first) {
    int last = first;
    if (file.peek() == '-') file.ignore() >> last;
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (file.peek() == ',') file.ignore();
  }
  return cpus;
}

// struct bpf_link_info of 6.7 and later, as far as it is needed; our headers may be older.
struct LinkInfo {
  std::uint32_t type, id, program, spare;
  std::uint32_t kind, spare2;
  std::uint64_t name;
  std::uint32_t name_length, offset;
  std::uint64_t address, missed, cookie;
};

}  // namespace

Result<ProbeLink> ProbeLink::open(Program program, perf_event_attr& attributes, const char* unit,
                                  model::ProbeKind point) {
  const auto type = unit_number(unit);
  const auto bit = return_bit(unit);
  if (!type || !bit)
    return std::unexpected(Error(std::string("this kernel has no perf events of kind ") + unit, ENODEV));
  attributes.type = *type;
  if (point == model::ProbeKind::Return) attributes.config |= *bit;
  return link(program, attributes, unit);
}

// The event is opened on one CPU; the program runs on all CPUs, except a watch's.
Result<ProbeLink> ProbeLink::link(Program program, perf_event_attr& attributes, const char* what, int cpu) {
  attributes.size = sizeof attributes;
  attributes.disabled = 1;
  UniqueFd event(static_cast<int>(::syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
  if (!event) return std::unexpected(bpf_error(std::string("opening a perf ") + what, errno));
  LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event = {.bpf_cookie = program.cookie});
  UniqueFd link(bpf_link_create(program.fd, event.get(), BPF_PERF_EVENT, &options));
  if (!link) return std::unexpected(bpf_error("linking a BPF program", errno));
  if (::ioctl(event.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) return std::unexpected(bpf_error("enabling a probe", errno));
  return ProbeLink(std::move(event), std::move(link));
}

Result<ProbeLink> ProbeLink::kprobe(Program program, std::uint64_t address, model::ProbeKind point) {
  perf_event_attr attributes = {};
  attributes.kprobe_addr = address;
  return open(program, attributes, "kprobe", point);
}

Result<ProbeLink> ProbeLink::uprobe(Program program, const model::FilePlace& place, model::ProbeKind point) {
  constexpr unsigned kCounterShift = 32;  // where perf keeps a reference counter's offset
  perf_event_attr attributes = {};
  attributes.uprobe_path = reinterpret_cast<std::uint64_t>(place.path.c_str());
  attributes.probe_offset = place.offset;
  if (place.reference_counter) attributes.config |= *place.reference_counter << kCounterShift;
  return open(program, attributes, "uprobe", point);
}

Result<ProbeLink> ProbeLink::tracepoint(Program program, std::uint32_t id) {
  perf_event_attr attributes = {};
  attributes.type = PERF_TYPE_TRACEPOINT;
  attributes.config = id;  // it counts, and makes no samples
  return link(program, attributes, "tracepoint");
}

Result<ProbeLink> ProbeLink::raw_tracepoint(Program program, const std::string& name) {
  const auto skipped = skipped_runs(program.fd);
  UniqueFd link(bpf_raw_tracepoint_open(name.c_str(), program.fd));
  if (!link) return std::unexpected(bpf_error("attaching to tracepoint `" + name + "`", errno));
  ProbeLink made(UniqueFd(), std::move(link));
  made.program_ = program.fd;
  made.skipped_ = skipped.value_or(0);
  return made;
}

Result<ProbeLink> ProbeLink::watch(Program program, const model::WatchPlace& place, std::uint64_t address) {
  perf_event_attr attributes = {};
  attributes.type = PERF_TYPE_BREAKPOINT;
  attributes.bp_type = place.access == "w" ? HW_BREAKPOINT_W : HW_BREAKPOINT_RW;
  attributes.bp_addr = address;
  attributes.bp_len = place.length;
  attributes.sample_period = 1;
  std::optional<ProbeLink> made;
  for (const int cpu : online_cpus()) {
    auto one = link(program, attributes, "watchpoint", cpu);
    if (!one) return one;
    one->is_watch_ = true;
    if (made)
      made->others_.push_back(std::move(*one));
    else
      made.emplace(std::move(*one));
  }
  if (!made) return std::unexpected(Error("no CPU is known to be online", ENODEV));
  return std::move(*made);
}

std::optional<std::uint64_t> ProbeLink::accesses() const {
  if (!is_watch_) return std::nullopt;
  std::uint64_t sum = 0;
  if (::read(event_.get(), &sum, sizeof sum) != sizeof sum) return std::nullopt;
  for (const ProbeLink& other : others_) sum += other.accesses().value_or(0);
  return sum;
}

std::optional<std::uint64_t> ProbeLink::missed() const {
  if (program_ >= 0) {
    const auto skipped = skipped_runs(program_);
    return skipped ? std::optional(*skipped - skipped_) : std::nullopt;
  }
  LinkInfo info = {};
  std::uint32_t size = sizeof info;
  if (bpf_obj_get_info_by_fd(link_.get(), &info, &size) != 0) return std::nullopt;
  // Older kernels know less of it and say so by the size.
  if (size < offsetof(LinkInfo, cookie)) return std::nullopt;
  return info.missed;
}

}  // namespace kevt::bpf
