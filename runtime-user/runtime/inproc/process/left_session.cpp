// The tables are a file that only the tracer could write, mapped read-only:
//
//   7f12… r--s 00000000 00:01 2051   /memfd:kevtrace-tables (deleted)
//
// A hostile process may map a file of that name with anything in it. What follows from it is done to that process
// alone, by system calls that it could make itself, and every number is bounded.
#include "runtime-user/runtime/inproc/process/left_session.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "common/proc.h"
#include "common/unique_fd.h"
#include "compiler/target/process/process_map.h"
#include "runtime-user/runtime/inproc/process/fd_passing.h"
#include "runtime-user/runtime/inproc/process/forked_children.h"

namespace kevt::inproc {

namespace {

std::vector<RemoteAddr> find_tables(pid_t pid) {
  std::vector<RemoteAddr> found;
  const auto maps = target::read_maps(pid);
  if (!maps) return found;
  for (const target::Mapping& m : *maps)
    if (m.shared && !m.writable && m.offset.value == 0 && m.path == "/memfd:kevtrace-tables") found.push_back(m.start);
  return found;
}

// Large, so not on a stack.
std::unique_ptr<kevt_tables> read_tables(int memory, RemoteAddr at) {
  auto tables = std::make_unique<kevt_tables>();
  const auto got = pread(memory, tables.get(), sizeof *tables, static_cast<off_t>(at.value));
  const bool is_whole = got == static_cast<ssize_t>(sizeof *tables);
  if (!is_whole || tables->version != KEVT_ABI_VERSION || tables->self != at.value) return nullptr;
  return tables;
}

UniqueFd open_memory(pid_t pid) {
  return UniqueFd(open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
}

bool is_left_by(pid_t pid, pid_t tracer) {
  const auto found = find_tables(pid);
  if (found.empty() || runs_in_its_parents_memory(pid)) return false;
  const UniqueFd memory = open_memory(pid);
  return memory && std::ranges::any_of(found, [&](RemoteAddr at) {
           const auto tables = read_tables(memory.get(), at);
           return tables && tables->controller == static_cast<std::uint64_t>(tracer);
         });
}

Result<std::vector<kevt_patch>> read_patches(const Tracee& tracee, const kevt_tables& tables) {
  std::vector<kevt_patch> patches(std::min<std::uint64_t>(tables.used_patches, KEVT_MAX_PATCHES));
  const std::span bytes(reinterpret_cast<std::uint8_t*>(patches.data()), patches.size() * sizeof(kevt_patch));
  if (patches.empty()) return patches;
  KEVT_TRY(tracee.read(RemoteAddr{tables.patches}, bytes));
  return patches;
}

Result<DetachResult> clean_up_session(Tracee& tracee, RemoteAddr at) {
  KEVT_TRY(Detacher::let_work_end(tracee));
  const UniqueFd memory = open_memory(tracee.pid());
  const auto tables = read_tables(memory.get(), at);
  if (!tables) return DetachResult::Unseen;
  auto patches = KEVT_TRY(read_patches(tracee, *tables));
  auto mapper = KEVT_TRY(RemoteMapper::of_session(tracee, *tables));
  KEVT_TRY(close_left_descriptors(mapper));
  SignalHandover signals(mapper);
  if (mapper.agent().base.value) signals.adopt();
  return Detacher(mapper, signals).leave(patches, tables->check_offset, [](const ThreadNote&, RemoteAddr) {});
}

}  // namespace

std::vector<pid_t> processes_left_by(pid_t tracer) {
  std::vector<pid_t> left;
  DIR* all = opendir("/proc");
  if (!all) return left;
  while (const dirent* entry = readdir(all)) {
    const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid > 0 && pid != getpid() && is_left_by(pid, tracer)) left.push_back(pid);
  }
  closedir(all);
  return left;
}

Result<void> clean_up(const PreparationNote& preparation) {
  if (!preparation.pid || !find_tables(preparation.pid).empty()) return {};
  auto tracee = Tracee::attach(preparation.pid);
  if (!tracee) return {};  // it has ended
  KEVT_TRY(Detacher::let_work_end(*tracee));
  if (!find_tables(preparation.pid).empty()) return {};  // they came only now
  RemoteMapper mapper(*tracee);
  SignalHandover signals(mapper);
  auto maps = KEVT_TRY(target::read_maps(preparation.pid));
  const kevt_mapping piece = {preparation.at, preparation.bytes};
  if (is_there(maps, piece)) {
    mapper.note_anonymous(piece);
    mapper.set_scratch_page(RemoteAddr{preparation.at});
    KEVT_TRY(close_left_descriptors(mapper));
  }
  KEVT_TRY(Detacher(mapper, signals).leave({}, 0, [](const ThreadNote&, RemoteAddr) {}));
  return {};
}

namespace {

bool is_of_our_namespace(const kevt_tables& tables) {
  return tables.controller_namespace == proc::pid_namespace(getpid());
}

// In another PID namespace nobody can tell.
bool is_left_by_the_dead(const kevt_tables& tables) {
  return is_of_our_namespace(tables) &&
         proc::start_time(static_cast<pid_t>(tables.controller)) != tables.controller_began;
}

Result<DetachResult> clean_up_sessions(pid_t pid, std::span<const RemoteAddr> tables) {
  DetachResult worst = DetachResult::Nothing;
  for (RemoteAddr at : tables) {
    auto tracee = KEVT_TRY(Tracee::attach(pid));
    auto left = clean_up_session(tracee, at);
    if (!left) return left;
    if (*left != DetachResult::Nothing) worst = *left;
  }
  return worst;
}

}  // namespace

Result<DetachResult> clean_up(pid_t pid) { return clean_up_sessions(pid, find_tables(pid)); }

Result<void> make_free(pid_t pid) {
  const std::vector<RemoteAddr> left = find_tables(pid);
  if (left.empty()) return {};
  const UniqueFd memory = open_memory(pid);
  for (RemoteAddr at : left) {
    const auto tables = memory ? read_tables(memory.get(), at) : nullptr;
    if (tables && !is_left_by_the_dead(*tables))
      return std::unexpected(
          Error(fmt::format("process {} is traced by kevtrace already (process {}{})", pid, tables->controller,
                            is_of_our_namespace(*tables) ? "" : " of another PID namespace"),
                EBUSY));
  }
  auto cleaned = clean_up_sessions(pid, left);
  if (!cleaned)
    return std::unexpected(std::move(cleaned.error()).while_doing("taking away what a tracer that died has left"));
  return {};
}

}  // namespace kevt::inproc
