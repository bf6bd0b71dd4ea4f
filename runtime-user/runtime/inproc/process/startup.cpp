// The dynamic linker calls _dl_debug_state() whenever its list of libraries changes, for debuggers
// to break on; _r_debug.r_state tells "consistent" from "adding" (glibc elf/link.h, struct r_debug).
// The first consistent report comes after relocation, before any constructor.
#include "runtime-user/runtime/inproc/process/startup.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>
#include <thread>

#include "common/proc.h"
#include "compiler/target/elf/elf_image.h"
#include "compiler/target/elf/mapped_file.h"
#include "compiler/target/process/process_map.h"
#include "runtime-user/runtime/inproc/process/attach_refusal.h"

namespace kevt::inproc {

namespace {

std::map<std::uint64_t, std::uint64_t> auxiliary_vector(pid_t pid) {
  std::map<std::uint64_t, std::uint64_t> values;
  std::ifstream file("/proc/" + std::to_string(pid) + "/auxv", std::ios::binary);
  std::uint64_t pair[2];
  while (file.read(reinterpret_cast<char*>(pair), sizeof pair)) values[pair[0]] = pair[1];
  return values;
}

// Whether the dynamic linker still maps libraries, or the C library has not begun.
bool is_not_set_up(const Tracee& tracee) {
  if (tracee.threads().size() != 1) return false;
  const auto registers = tracee.registers(tracee.threads().front());
  return registers && registers->fs_base == 0;
}

constexpr std::uint64_t kStateOffset = 24;  // struct r_debug: version, map, brk, state
constexpr std::uint64_t kMapOffset = 8;

Result<bool> is_consistent(const Tracee& tracee, RemoteAddr r_debug) {
  std::uint8_t words[32];
  KEVT_TRY(tracee.read(r_debug, words));
  std::uint64_t map;
  std::int32_t state;
  std::memcpy(&map, words + kMapOffset, sizeof map);
  std::memcpy(&state, words + kStateOffset, sizeof state);
  return map != 0 && state == 0;
}

// Opens the linker as it is mapped: the program's root or mount namespace may have another file under that name.
Result<target::ElfImage> open_linker(pid_t pid, RemoteAddr base) {
  const auto maps = target::read_maps(pid);
  if (!maps) return std::unexpected(maps.error());
  for (const target::LoadedObject& object : target::loaded_objects(*maps)) {
    if (!object.contains(base)) continue;
    const std::string path = target::readable_path(pid, object);
    if (path.empty()) return std::unexpected(Error(target::unreadable_text(object)));
    return target::ElfImage::open(path);
  }
  return std::unexpected(Error("it is not mapped"));
}

}  // namespace

bool is_go_alone(pid_t pid) {
  const auto image = target::ElfImage::open("/proc/" + std::to_string(pid) + "/exe");
  const auto maps = target::read_maps(pid);
  const auto is_libc = [](const target::Mapping& m) {
    return m.path.contains("/libc.") || m.path.contains("/libc-") || m.path.contains("/ld-musl-");
  };
  return image && image->is_go() && image->find_functions("__libc_start_main").empty() && maps &&
         std::ranges::none_of(*maps, is_libc);
}

Result<std::uint32_t> thread_id_offset(const Tracee& tracee) {
  const pid_t thread = tracee.threads().front();
  auto registers = KEVT_TRY(tracee.registers(thread));
  std::uint64_t self = 0;
  const RemoteAddr pointer{registers.fs_base};
  // The x86-64 ABI for thread-local storage: the first word of the block is its own address.
  const bool is_mapped =
      KEVT_TRY(tracee.read_if_mapped(pointer, {reinterpret_cast<std::uint8_t*>(&self), sizeof self}));
  if (!is_mapped || self != pointer.value)
    return std::unexpected(
        Error("%fs is not the thread pointer of a C library or of the Go runtime: such programs cannot be traced"));
  std::uint8_t block[2048];
  std::uint32_t length = sizeof block;
  while (length > 64 && !tracee.read(pointer, {block, length})) length /= 2;
  for (std::uint32_t at = 8; at + 4 <= length; at += 4) {
    std::uint32_t word;
    std::memcpy(&word, block + at, sizeof word);
    if (word == static_cast<std::uint32_t>(thread)) return at;
  }
  return 0;
}

RemoteAddr program_entry(pid_t pid) { return RemoteAddr{auxiliary_vector(pid)[AT_ENTRY]}; }

Result<Tracee> attach_when_set_up(pid_t pid) {
  using namespace std::chrono_literals;
  const auto end = std::chrono::steady_clock::now() + 5s;
  for (auto pause = 1ms;; pause = std::min(2 * pause, 50ms)) {
    auto tracee = Tracee::attach(pid);
    if (!tracee || !is_not_set_up(*tracee) || std::chrono::steady_clock::now() >= end) return tracee;
    tracee->release();
    std::this_thread::sleep_for(pause);
  }
}

Result<void> run_until_loaded(Tracee& tracee) {
  if (is_32_bit(tracee.pid())) return std::unexpected(no_32_bit(fmt::format("{} is", proc::comm(tracee.pid()))));
  auto aux = auxiliary_vector(tracee.pid());
  const RemoteAddr entry{aux[AT_ENTRY]};
  const std::uint64_t base = aux[AT_BASE];
  if (!base) return run_until_thread_is_set_up(tracee);
  auto linker = open_linker(tracee.pid(), RemoteAddr{base});
  if (!linker) return std::unexpected(std::move(linker.error()).while_doing("looking at the dynamic linker"));
  const auto report = linker->find_functions("_dl_debug_state");
  const auto debug = linker->find_objects("_r_debug");
  if (report.size() != 1 || debug.size() != 1) return tracee.run_to(entry);

  const RemoteAddr report_at{base + report.front().address.value};
  const RemoteAddr debug_at{base + debug.front().address.value};
  for (int reports = 0; reports < 16; ++reports) {
    KEVT_TRY(tracee.run_to(report_at));
    auto consistent = KEVT_TRY(is_consistent(tracee, debug_at));
    if (consistent) return {};
    KEVT_TRY(tracee.step());
  }
  return std::unexpected(Error("the dynamic linker never reported its libraries as loaded"));
}

}  // namespace kevt::inproc
