// libdwfl unwinds a process that stands still. Here one is described that stood there when it hit: its registers are
// those of the sample, its memory is the piece of stack, everything else cannot be read.
//
//   frame 0   pc of the probe         CFI: the caller's frame, and where the return address lies on the stack
//   frame 1   a return address        …
//
// The process goes on meanwhile, may load libraries, and may be gone before its records are read: files are opened when
// they are seen in its maps, each as it is mapped (mapped_file.h), not when an address in them is first looked at.
// Where an address is in no known file, what is mapped is read again, once for each such page. Addresses of our own
// code (calls under a return probe come back to it) end a stack.
#include "compiler/target/stack_unwinder.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "common/page.h"
#include "compiler/target/mapped_file.h"

namespace kevt::target {
namespace {

constexpr std::size_t kMaxUnknownPages = 256;

// CFI is in the file itself; files with debug information are not looked for.
int no_debug_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word, char**) {
  return -1;
}

// What load() reads now: libdwfl hands a callback no pointer of ours.
struct MappedFiles {
  pid_t pid = 0;
  std::vector<LoadedObject> objects;
};
thread_local const MappedFiles* loading = nullptr;

// libdwfl would open the name as we see it, which may be another file.
int open_mapped(Dwfl_Module* module, void** data, const char* name, Dwarf_Addr base, char** file_name, Elf** elf) {
  if (!loading) return -1;
  const auto object =
      std::ranges::find_if(loading->objects, [&](const LoadedObject& one) { return one.contains({base}); });
  if (object == loading->objects.end())
    return name[0] == '/' ? -1 : dwfl_linux_proc_find_elf(module, data, name, base, file_name, elf);  // [vdso]
  const std::string path = readable_path(loading->pid, *object);
  return path.empty() ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

int open_now(Dwfl_Module* module, void**, const char*, Dwarf_Addr, void*) {
  GElf_Addr bias = 0;
  (void)dwfl_module_getelf(module, &bias);
  return DWARF_CB_OK;
}

const Dwfl_Callbacks kFiles = {
    .find_elf = open_mapped, .find_debuginfo = no_debug_file, .section_address = nullptr, .debuginfo_path = nullptr};

}  // namespace

struct StackUnwinder::State {
  pid_t pid = 0;
  Dwfl* dwfl = nullptr;
  StackSample sample;
  std::vector<std::uint64_t> frames;
  std::uint64_t unknown = 0;  // the address where the last stack ended
  std::unordered_set<std::uint64_t> unknown_pages;

  ~State() {
    if (dwfl) dwfl_end(dwfl);
  }
  Result<void> load();
  bool knows(std::uint64_t address);
  bool is_code_of_a_file(std::uint64_t address) const;
  void run();
};

namespace {

Error dwfl_error(pid_t pid, const char* what) {
  const char* why = dwfl_errmsg(-1);
  return Error(std::string(what) + " of process " + std::to_string(pid) + ": " + (why ? why : "no reason is told"));
}

}  // namespace

// What libdwfl asks of the process that stood there.
struct StackUnwinder::Callbacks {
  using Sampled = StackUnwinder::State;

  static pid_t next_thread(Dwfl*, void* state, void** thread) {
    if (*thread) return 0;
    *thread = state;
    return static_cast<Sampled*>(state)->pid;
  }
  static bool get_thread(Dwfl*, pid_t, void* state, void** thread) {
    *thread = state;
    return true;
  }
  static bool memory_read(Dwfl*, Dwarf_Addr address, Dwarf_Word* result, void* state) {
    const StackSample& sample = static_cast<Sampled*>(state)->sample;
    const std::uint64_t at = address - sample.sp;
    if (at >= sample.stack.size() || sample.stack.size() - at < sizeof *result) return false;
    std::memcpy(result, sample.stack.data() + at, sizeof *result);
    return true;
  }
  static bool set_registers(Dwfl_Thread* thread, void* state) {
    const StackSample& s = static_cast<Sampled*>(state)->sample;
    const Dwarf_Word bx[] = {s.bx}, frame[] = {s.bp, s.sp}, kept[] = {s.r12, s.r13, s.r14, s.r15};
    dwfl_thread_state_register_pc(thread, s.pc);
    return dwfl_thread_state_registers(thread, 3, 1, bx) && dwfl_thread_state_registers(thread, 6, 2, frame) &&
           dwfl_thread_state_registers(thread, 12, 4, kept);
  }
  static int frame(Dwfl_Frame* frame, void* state) {
    auto& self = *static_cast<Sampled*>(state);
    Dwarf_Addr pc = 0;
    if (!dwfl_frame_pc(frame, &pc, nullptr) || pc == 0) return DWARF_CB_ABORT;
    if (!self.is_code_of_a_file(pc)) {
      self.unknown = pc;
      return DWARF_CB_ABORT;
    }
    self.frames.push_back(pc);
    return self.frames.size() < StackUnwinder::kMaxFrames ? DWARF_CB_OK : DWARF_CB_ABORT;
  }
};

Result<void> StackUnwinder::State::load() {
  static const Dwfl_Thread_Callbacks kThread = {.next_thread = Callbacks::next_thread,
                                                .get_thread = Callbacks::get_thread,
                                                .memory_read = Callbacks::memory_read,
                                                .set_initial_registers = Callbacks::set_registers,
                                                .detach = nullptr,
                                                .thread_detach = nullptr};
  auto maps = read_maps(pid);
  if (!maps) return std::unexpected(std::move(maps.error()));
  if (maps->empty()) return std::unexpected(Error("process " + std::to_string(pid) + " has ended"));
  Dwfl* fresh = dwfl_begin(&kFiles);
  if (!fresh) return std::unexpected(dwfl_error(pid, "unwinding the stacks"));
  const MappedFiles files{pid, loaded_objects(*maps)};
  loading = &files;
  bool is_ready = dwfl_linux_proc_report(fresh, pid) == 0 && dwfl_report_end(fresh, nullptr, nullptr) == 0;
  if (is_ready) dwfl_getmodules(fresh, open_now, nullptr, 0);
  is_ready = is_ready && dwfl_attach_state(fresh, nullptr, pid, &kThread, this);
  loading = nullptr;
  if (!is_ready) {
    Error error = dwfl_error(pid, "unwinding the stacks");
    dwfl_end(fresh);
    return std::unexpected(std::move(error));
  }
  if (dwfl) dwfl_end(dwfl);
  dwfl = fresh;
  return {};
}

// Not of memory without a file's name: the agent's code is such.
bool StackUnwinder::State::is_code_of_a_file(std::uint64_t address) const {
  Dwfl_Module* module = dwfl_addrmodule(dwfl, address);
  if (!module) return false;
  const char* name = dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  return name && std::strncmp(name, "/memfd:", 7) != 0;
}

bool StackUnwinder::State::knows(std::uint64_t address) {
  if (is_code_of_a_file(address)) return true;
  if (unknown_pages.size() >= kMaxUnknownPages || !unknown_pages.insert(address / kPage).second) return false;
  return load() && is_code_of_a_file(address);  // a process that is gone: what was known stays
}

void StackUnwinder::State::run() {
  do {
    frames.clear();
    unknown = 0;
    if (knows(sample.pc)) (void)dwfl_getthread_frames(dwfl, pid, Callbacks::frame, this);
  } while (unknown && knows(unknown));
  if (frames.empty()) frames.push_back(sample.pc);
}

Result<StackUnwinder> StackUnwinder::of_process(pid_t pid) {
  auto state = std::make_unique<State>();
  state->pid = pid;
  if (auto loaded = state->load(); !loaded) return std::unexpected(std::move(loaded.error()));
  return StackUnwinder(std::move(state));
}

StackUnwinder::StackUnwinder(std::unique_ptr<State> state) : state_(std::move(state)) {}
StackUnwinder::StackUnwinder(StackUnwinder&&) noexcept = default;
StackUnwinder& StackUnwinder::operator=(StackUnwinder&&) noexcept = default;
StackUnwinder::~StackUnwinder() = default;

pid_t StackUnwinder::pid() const { return state_->pid; }

void StackUnwinder::refresh() { (void)state_->load(); }

std::vector<std::uint64_t> StackUnwinder::unwind(const StackSample& sample) {
  state_->sample = sample;
  state_->run();
  return state_->frames;
}

}  // namespace kevt::target
