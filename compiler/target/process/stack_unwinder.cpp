// libdwfl unwinds a process that stands still. Here it gets a process that stands still at the hit: its registers are
// those of the sample, its memory is the piece of stack, everything else cannot be read.
//
//   frame 0   pc of the probe         CFI: the caller's frame, and where the return address lies on the stack
//   frame 1   a return address        …
//   frame 2   code without a file     its rule (jit_frames.h); libdwfl goes on behind it, if files come again
//
// The real process goes on meanwhile and may load libraries: if an address is in no known file, the process's map is
// read again, once for each page of such addresses.
//
// libdwfl would open and map the files by itself. It gets private copies instead (private_elf.h). The files are
// opened when the process's map is read: the process may have ended when a stack is asked for. The vdso is taken from
// this process, since the kernel has one for all.
#include "compiler/target/process/stack_unwinder.h"

#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include "common/abi/hit_stack.h"
#include "common/clock.h"
#include "common/page.h"
#include "compiler/target/elf/mapped_file.h"
#include "compiler/target/elf/private_elf.h"
#include "compiler/target/process/frame_rows.h"
#include "compiler/target/process/jit_frames.h"
#include "compiler/target/process/process_map.h"

namespace kevt::target {
namespace {

constexpr std::size_t kMaxUnknownPages = 256;
// Of CPU time: what a hostile file makes of its frames may take any time to read.
constexpr std::int64_t kMostOfAFileNs = 2'000'000'000, kMostOfAllFilesNs = 10'000'000'000;

// CFI is in the file itself; files with debug information are not looked for.
int no_debug_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word, char**) {
  return -1;
}

SectionUse use_for_frames(std::string_view section) {
  const bool tells_frames = section == ".eh_frame" || section == ".eh_frame_hdr" || section == ".debug_frame";
  return tells_frames ? SectionUse::Read : SectionUse::None;
}

// Reads the frames of a file without section headers: .eh_frame_hdr, and from the .eh_frame that it points to up to the
// end of the segment.
void read_frame_segment(const FileContents& contents, Elf* elf) {
  std::size_t sections = 0, count = 0;
  if (elf_getshdrnum(elf, &sections) != 0 || sections != 0 || elf_getphdrnum(elf, &count) != 0) return;
  const CheckedBytes file(contents);
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr || header.p_type != PT_GNU_EH_FRAME) continue;
    const auto table = file.part(header.p_offset, header.p_filesz);
    const auto distance = table ? table->unbroken().read<std::int32_t>(4) : std::nullopt;
    if (!distance || table->unbroken().span().empty()) continue;
    const std::uint64_t frames = header.p_offset + 4 + static_cast<std::uint64_t>(std::int64_t{*distance});
    for (std::size_t k = 0; k < count; ++k) {
      GElf_Phdr segment;
      if (gelf_getphdr(elf, static_cast<int>(k), &segment) == nullptr || segment.p_type != PT_LOAD ||
          frames - segment.p_offset >= segment.p_filesz)
        continue;
      if (const auto rest = file.part(frames, segment.p_filesz - (frames - segment.p_offset)))
        (void)rest->unbroken().span();
    }
  }
}

// The file with its frames read; nullptr if it cannot be read, or changes meanwhile.
std::shared_ptr<FileContents> read_frames(const std::string& path) {
  auto contents = FileContents::open(path);
  if (!contents) return nullptr;
  const auto elf = open_private_elf(**contents, use_for_frames);
  if (!elf) return nullptr;
  read_frame_segment(**contents, elf->get());
  (*contents)->close();
  return (*contents)->problem() ? nullptr : *contents;
}

// The vdso of this process. Its section headers are its last bytes.
std::span<const std::uint8_t> own_vdso() {
  const auto* at = reinterpret_cast<const std::uint8_t*>(::getauxval(AT_SYSINFO_EHDR));
  if (at == nullptr) return {};
  Elf64_Ehdr header;
  std::memcpy(&header, at, sizeof header);
  return {at, header.e_shoff + std::size_t{header.e_shnum} * sizeof(Elf64_Shdr)};
}

bool is_vdso(std::string_view module) { return module.starts_with("[vdso: "); }
// Whether a module's name is a file's. The agent's code lies in memory without a file (memfd).
bool is_file(const char* module) { return module && std::strncmp(module, "/memfd:kevtrace", 15) != 0; }

}  // namespace

struct StackUnwinder::State {
  using FileKey = std::pair<std::string, std::uint64_t>;  // path and inode, as the map has them
  // A file that is still mapped when the map is read again keeps its contents.
  struct Files {
    std::map<FileKey, std::shared_ptr<FileContents>> by_name;  // null: it cannot be read
    std::map<std::uint64_t, FileContents*> by_address;         // by the address of the object's first byte
  };
  // Where a walk is: in the frame of pc, which is a return address, but at the beginning.
  struct Position {
    std::uint64_t pc = 0, sp = 0, bp = 0;
    bool is_return = false;
    // As a call's own: behind a call that does not return another function may begin.
    std::uint64_t call() const { return pc - (is_return ? 1 : 0); }
  };

  pid_t pid = 0;
  Files files;  // must outlive `dwfl`
  Dwfl* dwfl = nullptr;
  JitFrames jit;
  std::vector<Mapping> code;  // executable, ascending, as the map had it when the modules were made
  StackSample sample;
  Position at;
  std::vector<std::uint64_t> frames;
  std::uint64_t unknown = 0;  // the address where the last stack ended
  std::unordered_set<std::uint64_t> unknown_pages;
  std::map<const FileContents*, FrameRows> rows;  // of `files`; nullptr: of the vdso
  std::int64_t cpu_left_ns = kMostOfAllFilesNs;   // for reading rows
  std::uint64_t version = 1;

  ~State() {
    if (dwfl) dwfl_end(dwfl);
  }
  Result<void> load();
  Files open_files(const std::vector<Mapping>& maps) const;
  bool is_code(std::uint64_t address) const { return is_code_of_a_file(address) || is_jit_code(address); }
  bool learns(std::uint64_t address);
  bool is_code_of_a_file(std::uint64_t address) const;
  bool is_jit_code(std::uint64_t address) const { return jit.rule_at(address) != KEVT_STACK_NO_RULE; }
  const FrameRows& rows_of(Dwfl_Module* module, std::string_view name, std::uint64_t start, std::size_t most);
  std::optional<std::uint64_t> word_at(std::uint64_t address) const;
  bool is_full() const { return frames.size() >= kMaxFrames; }
  bool follow_rule();
  bool unwind_files();
  void walk();
  void run();
};

namespace {

Error dwfl_error(pid_t pid, const char* what) {
  const char* why = dwfl_errmsg(-1);
  return Error(std::string(what) + " of process " + std::to_string(pid) + ": " + (why ? why : "no reason is told"));
}

}  // namespace

// Answers what libdwfl asks about the process at the hit, and about its files.
struct StackUnwinder::Callbacks {
  using Sampled = StackUnwinder::State;

  static int find_elf(Dwfl_Module*, void** state, const char* name, Dwarf_Addr base, char** file_name, Elf** elf) {
    const auto& self = *static_cast<const Sampled*>(*state);
    if (name[0] == '/') {
      const auto found = self.files.by_address.find(base);
      if (found == self.files.by_address.end()) return -1;
      if (auto opened = open_private_elf(*found->second, use_for_frames)) *elf = opened->release();
    } else if (const auto vdso = own_vdso(); !vdso.empty() && is_vdso(name)) {
      *elf = elf_memory(const_cast<char*>(reinterpret_cast<const char*>(vdso.data())), vdso.size());
    }
    if (*elf) *file_name = ::strdup(name);
    return -1;  // no descriptor
  }
  static int give_state(Dwfl_Module*, void** userdata, const char*, Dwarf_Addr, void* state) {
    *userdata = state;
    return DWARF_CB_OK;
  }

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
    const auto word = static_cast<Sampled*>(state)->word_at(address);
    if (word) *result = *word;
    return word.has_value();
  }
  // Behind code without a file only the position is known.
  static bool set_registers(Dwfl_Thread* thread, void* state) {
    const auto& self = *static_cast<Sampled*>(state);
    const StackSample& s = self.sample;
    const Dwarf_Word bx[] = {s.bx}, frame[] = {self.at.bp, self.at.sp}, kept[] = {s.r12, s.r13, s.r14, s.r15};
    dwfl_thread_state_register_pc(thread, self.at.call());
    return dwfl_thread_state_registers(thread, 6, 2, frame) &&
           (self.at.is_return ||
            (dwfl_thread_state_registers(thread, 3, 1, bx) && dwfl_thread_state_registers(thread, 12, 4, kept)));
  }
  // The first frame is the one at `at`.
  static int frame(Dwfl_Frame* frame, void* state) {
    auto& [self, is_first, leads_on] = *static_cast<Segment*>(state);
    Position here = self.at;
    if (!std::exchange(is_first, false)) {
      here.is_return = true;
      if (!dwfl_frame_pc(frame, &here.pc, nullptr) || here.pc == 0) return DWARF_CB_ABORT;
    }
    const bool is_jit = self.is_jit_code(here.call());
    if (!is_jit && self.is_code_of_a_file(here.pc)) {
      self.frames.push_back(here.pc);
      return self.is_full() ? DWARF_CB_ABORT : DWARF_CB_OK;
    }
    leads_on = dwfl_frame_reg(frame, kSp, &here.sp) == 0 && dwfl_frame_reg(frame, kBp, &here.bp) == 0;
    self.at = here;
    self.unknown = is_jit ? 0 : here.pc;
    return DWARF_CB_ABORT;
  }

  struct Segment {
    Sampled& self;
    bool is_first = true;
    bool leads_on = false;  // into code without a file, or unknown code
  };
  using Position = Sampled::Position;
  static constexpr unsigned kBp = 6, kSp = 7;  // DWARF's numbers (psABI of x86-64, figure 3.36)
};

// Reads the sections with frames now: the process may end. For a file that is known already, its copy is used again.
StackUnwinder::State::Files StackUnwinder::State::open_files(const std::vector<Mapping>& maps) const {
  Files opened;
  for (const LoadedObject& object : loaded_objects(maps)) {
    const FileKey key(object.path, object.inode);
    std::shared_ptr<FileContents>& contents = opened.by_name[key];
    if (const auto known = files.by_name.find(key); known != files.by_name.end()) contents = known->second;
    if (!contents) contents = read_frames(readable_path(pid, object));
    if (contents) opened.by_address.emplace(object.start().value, contents.get());
  }
  return opened;
}

Result<void> StackUnwinder::State::load() {
  static const Dwfl_Callbacks kFiles = {.find_elf = Callbacks::find_elf,
                                        .find_debuginfo = no_debug_file,
                                        .section_address = nullptr,
                                        .debuginfo_path = nullptr};
  static const Dwfl_Thread_Callbacks kThread = {.next_thread = Callbacks::next_thread,
                                                .get_thread = Callbacks::get_thread,
                                                .memory_read = Callbacks::memory_read,
                                                .set_initial_registers = Callbacks::set_registers,
                                                .detach = nullptr,
                                                .thread_detach = nullptr};
  const auto maps = KEVT_TRY(read_maps(pid));
  if (maps.empty()) return std::unexpected(Error("process " + std::to_string(pid) + " has ended"));
  if (jit.look(pid, maps)) ++version;
  Files opened = open_files(maps);
  std::swap(files, opened);
  Dwfl* fresh = dwfl_begin(&kFiles);
  if (!fresh || dwfl_linux_proc_report(fresh, pid) != 0 || dwfl_report_end(fresh, nullptr, nullptr) != 0 ||
      dwfl_getmodules(fresh, Callbacks::give_state, this, 0) != 0 ||
      !dwfl_attach_state(fresh, nullptr, pid, &kThread, this)) {
    Error error = dwfl_error(pid, "unwinding the stacks");
    dwfl_end(fresh);
    std::swap(files, opened);
    return std::unexpected(std::move(error));
  }
  if (dwfl) dwfl_end(dwfl);
  dwfl = fresh;
  code.clear();
  std::ranges::copy_if(maps, std::back_inserter(code), &Mapping::executable);
  if (files.by_address != opened.by_address) ++version;  // `opened`: the former ones
  std::erase_if(rows, [this](const auto& of_file) {
    const auto is_of = [&](const auto& one) { return one.second == of_file.first; };
    return of_file.first && std::ranges::none_of(files.by_address, is_of);
  });
  return {};
}

bool StackUnwinder::State::is_code_of_a_file(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(code, RemoteAddr{address}, {}, &Mapping::start);
  if (after == code.begin() || !std::prev(after)->contains({address})) return false;
  Dwfl_Module* module = dwfl_addrmodule(dwfl, address);
  if (!module) return false;
  const char* name = dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  return is_file(name);
}

// Whether the process's map tells of code at an address that was none. If the process has ended, load() fails and
// changes nothing.
bool StackUnwinder::State::learns(std::uint64_t address) {
  if (is_code(address) || unknown_pages.size() >= kMaxUnknownPages || !unknown_pages.insert(address / kPage).second)
    return false;
  return load() && is_code(address);
}

std::optional<std::uint64_t> StackUnwinder::State::word_at(std::uint64_t address) const {
  const std::uint64_t at = address - sample.sp;
  std::uint64_t word = 0;
  if (at >= sample.stack.size() || sample.stack.size() - at < sizeof word) return std::nullopt;
  std::memcpy(&word, sample.stack.data() + at, sizeof word);
  return word;
}

// To the caller, as a hit would walk (runtime-user/agent/stack.c). False: the stack ends.
bool StackUnwinder::State::follow_rule() {
  const std::uint64_t rule = jit.rule_at(at.call());
  const bool is_from_bp = KEVT_STACK_KIND(rule) == KEVT_STACK_FROM_BP;
  frames.push_back(at.pc);
  const std::uint64_t frame = (is_from_bp ? at.bp : at.sp) + static_cast<std::uint64_t>(KEVT_STACK_FRAME(rule));
  const auto pc = word_at(frame - 8);
  const auto bp = KEVT_STACK_HAS_BP(rule) ? word_at(frame + static_cast<std::uint64_t>(KEVT_STACK_BP(rule))) : at.bp;
  if (frame <= at.sp || !pc || !bp || *pc == 0) return false;
  at = {.pc = *pc, .sp = frame, .bp = *bp, .is_return = true};
  return !is_full();
}

// Goes on from frame to frame up to code without a file. False: the stack ends.
bool StackUnwinder::State::unwind_files() {
  Callbacks::Segment segment{*this};
  (void)dwfl_getthread_frames(dwfl, pid, Callbacks::frame, &segment);
  return segment.leads_on && unknown == 0;
}

void StackUnwinder::State::walk() {
  at = {.pc = sample.pc, .sp = sample.sp, .bp = sample.bp};
  for (bool leads_on = true; leads_on;) {
    if (is_jit_code(at.call())) {
      leads_on = follow_rule();
    } else if (is_code_of_a_file(at.pc)) {
      leads_on = unwind_files();
    } else {
      unknown = at.pc;
      return;
    }
  }
}

// Once more from the beginning when the map tells of code that was unknown.
void StackUnwinder::State::run() {
  do {
    frames.clear();
    unknown = 0;
    if (is_code(sample.pc) || learns(sample.pc)) walk();
  } while (unknown && learns(unknown));
  if (frames.empty()) frames.push_back(sample.pc);
}

// A file's rows are read once, as long as it is mapped. A file that could not be read has none.
const FrameRows& StackUnwinder::State::rows_of(Dwfl_Module* module, std::string_view name, std::uint64_t start,
                                               std::size_t most) {
  static const FrameRows kNone;
  const auto contents = files.by_address.find(start);
  const bool has_contents = contents != files.by_address.end();
  if (!has_contents && !is_vdso(name)) return kNone;
  const auto [known, is_new] = rows.try_emplace(has_contents ? contents->second : nullptr);
  if (is_new && cpu_left_ns > 0) {
    const std::uint64_t began = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    known->second = frame_rows(module, most, std::min(cpu_left_ns, kMostOfAFileNs));
    cpu_left_ns -= static_cast<std::int64_t>(clock_ns(CLOCK_THREAD_CPUTIME_ID) - began);
  }
  return known->second.size() <= most ? known->second : kNone;
}

std::vector<kevt_stack_rule> StackUnwinder::rules(std::size_t most) {
  struct Request {
    State& state;
    std::size_t most;
    std::vector<kevt_stack_rule> rules;
  } request{*state_, most, {{.start = 0, .rule = KEVT_STACK_NO_RULE}}};
  const auto add = [](Dwfl_Module* module, void**, const char* name, Dwarf_Addr start, void* argument) {
    auto& [state, room, rules] = *static_cast<Request*>(argument);
    Dwarf_Addr end = 0;
    dwfl_module_info(module, nullptr, nullptr, &end, nullptr, nullptr, nullptr, nullptr);
    if (is_file(name) && rules.size() < room)
      append_rules(state.rows_of(module, name, start, room - rules.size()), start, end, room, rules);
    return int{DWARF_CB_OK};
  };
  dwfl_getmodules(state_->dwfl, add, &request, 0);
  if (state_->jit.rules().empty()) return std::move(request.rules);
  std::vector<kevt_stack_rule> joined = joined_rules(request.rules, state_->jit.rules());
  return joined.size() <= most ? std::move(joined) : std::move(request.rules);
}

std::uint64_t StackUnwinder::version() const { return state_->version; }

Result<StackUnwinder> StackUnwinder::of_process(pid_t pid) {
  auto state = std::make_unique<State>();
  state->pid = pid;
  KEVT_TRY(state->load());
  return StackUnwinder(std::move(state));
}

StackUnwinder::StackUnwinder(std::unique_ptr<State> state) : state_(std::move(state)) {}
StackUnwinder::StackUnwinder(StackUnwinder&&) noexcept = default;
StackUnwinder& StackUnwinder::operator=(StackUnwinder&&) noexcept = default;
StackUnwinder::~StackUnwinder() = default;

pid_t StackUnwinder::pid() const { return state_->pid; }

void StackUnwinder::refresh() { (void)state_->load(); }

void StackUnwinder::refresh_jit() {
  if (const auto maps = read_maps(pid()); maps && !maps->empty() && state_->jit.look(pid(), *maps)) ++state_->version;
}

std::vector<std::uint64_t> StackUnwinder::unwind(const StackSample& sample) {
  state_->sample = sample;
  state_->run();
  return state_->frames;
}

}  // namespace kevt::target
