// The BPF program at the entry of a return probe's function: it keeps the arguments of the call for its return.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "common/error.h"
#include "common/unique_fd.h"

namespace kevt::bpf {

// Room for the arguments of calls that are under way.
struct KeptMap {
  UniqueFd fd;
  // A map that `events` events share. When it is full, the calls used least recently are dropped.
  static Result<KeptMap> create(std::size_t arguments, std::uint32_t events, unsigned cpus);
};

struct EntryRequest {
  std::string event;                         // for errors
  std::span<const std::uint16_t> arguments;  // their numbers, from 1; in this order in the map's values
  int kept = -1;
  std::uint64_t return_trampoline = 0;  // what replaces a return address while a return probe waits
};
// For kprobes: a program's return probes have no `$argN` (sema refuses it).
Result<UniqueFd> load_entry_program(const EntryRequest& request);

}  // namespace kevt::bpf
