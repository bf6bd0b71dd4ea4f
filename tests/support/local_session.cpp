// What Placement does in a traced process by remote system calls, done here by plain ones: the session's files are
// mapped a second time by their plan, the agent's private memory is anonymous, and one window of the code
// arena is mapped read-execute near this program's text.
//
//   controller's view: SessionMemory's own mapping, CodeArena's own mapping (writable)
//   target's view:     target_, priv_, selves_, window_
//
// The signals are taken by raw system calls, as the agent's restorer must be used and libc's would not be.
#include "tests/support/local_session.h"

#include <asm/prctl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "common/assert.h"
#include "common/page.h"
#include "compiler/target/process/process_map.h"
#include "runtime-user/runtime/inproc/code/agent_image.h"

extern "C" void kevt_test_call_extractor(const kevt_registers* registers, std::uint64_t code,
                                         std::uint64_t return_address);

namespace kevt::test {

namespace {

constexpr std::uint64_t kReach = 1ull << 30;
constexpr std::uint64_t kRestorerFlag = 0x04000000;
constexpr int kOwned[] = {SIGTRAP, SIGBUS, SIGSEGV};

std::uint64_t number_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

Result<void*> map_anonymous(std::uint64_t bytes, int protection) {
  void* at = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return std::unexpected(Error::from_errno("mapping the agent's memory"));
  return at;
}

// Free address space that a jump in this program's text reaches.
Result<RemoteAddr> gap_near_text(std::uint64_t bytes) {
  auto maps = KEVT_TRY(target::read_maps(getpid()));
  const RemoteAddr text{reinterpret_cast<std::uint64_t>(&gap_near_text)};
  auto gap = target::find_gap(maps, text, bytes, kReach);
  if (!gap) return std::unexpected(Error("no free address space near the test's text"));
  return *gap;
}

// Where this thread's id stands behind its thread pointer; see Placement::find_check_offset.
std::uint32_t find_check_offset() {
  std::uint64_t thread_pointer = 0;
  asm("movq %%fs:0, %0" : "=r"(thread_pointer));
  const auto tid = static_cast<std::uint32_t>(gettid());
  for (std::uint32_t at = 8; at < 2048; at += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, reinterpret_cast<const std::uint8_t*>(thread_pointer) + at, sizeof word);
    if (word == tid) return at;
  }
  return 0;
}

}  // namespace

LocalSession::Mapping::~Mapping() {
  if (at) munmap(at, bytes);
}

LocalSession::LocalSession(inproc::SessionMemory memory, inproc::CodeArena arena)
    : memory_(std::move(memory)), arena_(std::move(arena)) {}

Result<std::unique_ptr<LocalSession>> LocalSession::create(const inproc::SessionOptions& options) {
  auto memory = KEVT_TRY(inproc::SessionMemory::create(options));
  auto arena = KEVT_TRY(inproc::CodeArena::create());
  std::unique_ptr<LocalSession> session(new LocalSession(std::move(memory), std::move(arena)));
  for (auto step :
       {&LocalSession::map_session, &LocalSession::map_window, &LocalSession::place_agent, &LocalSession::own_signals})
    KEVT_TRY((session.get()->*step)());
  return session;
}

Result<void> LocalSession::map_session() {
  target_.at = KEVT_TRY(map_anonymous(memory_.span(), PROT_NONE));
  target_.bytes = memory_.span();
  for (const inproc::MapPiece& piece : memory_.plan()) {
    void* at = static_cast<std::uint8_t*>(target_.at) + piece.at;
    const int protection = piece.is_writable() ? PROT_READ | PROT_WRITE : PROT_READ;
    if (mmap(at, piece.length, protection, MAP_SHARED | MAP_FIXED, memory_.file(piece.from).fd(),
             static_cast<off_t>(piece.file_offset)) == MAP_FAILED)
      return std::unexpected(Error::from_errno("mapping the session again"));
  }
  priv_.bytes = inproc::SessionMemory::private_bytes(memory_.options().max_threads);
  priv_.at = KEVT_TRY(map_anonymous(priv_.bytes, PROT_READ | PROT_WRITE));
  selves_.bytes = inproc::SessionMemory::wiped_bytes(memory_.options().max_threads);
  selves_.at = KEVT_TRY(map_anonymous(selves_.bytes, PROT_READ | PROT_WRITE));
  if (madvise(selves_.at, selves_.bytes, MADV_WIPEONFORK) != 0)
    return std::unexpected(Error::from_errno("MADV_WIPEONFORK"));
  memory_.set_target({number_of(target_.at)});
  memory_.set_private({number_of(priv_.at)}, {number_of(selves_.at)}, memory_.options().max_threads);
  return {};
}

Result<void> LocalSession::map_window() {
  auto gap = KEVT_TRY(gap_near_text(inproc::CodeArena::kWindowBytes));
  auto index = KEVT_TRY(arena_.next_window());
  void* at = mmap(reinterpret_cast<void*>(gap.value), inproc::CodeArena::kWindowBytes, PROT_READ | PROT_EXEC,
                  MAP_SHARED | MAP_FIXED_NOREPLACE, arena_.file().fd(),
                  static_cast<off_t>(index * inproc::CodeArena::kWindowBytes));
  if (at == MAP_FAILED) return std::unexpected(Error::from_errno("mapping the code window"));
  window_.at = at;
  window_.bytes = inproc::CodeArena::kWindowBytes;
  arena_.add_window(index, {number_of(at)});
  memory_.tables().windows[index][0] = number_of(at);
  memory_.tables().windows[index][1] = number_of(at) + window_.bytes;
  return {};
}

Result<void> LocalSession::place_agent() {
  kevt_tables& tables = memory_.tables();
  tables.check_offset = find_check_offset();
  agent_ = KEVT_TRY(place_code(inproc::agent_image_for(memory_.target())));
  tables.code_begin = agent_.value;
  tables.code_end = agent_.value + inproc::agent_table().size;
  tables.services = inproc::agent_services(agent_);
  for (const inproc::AgentFault& fault : inproc::agent_faults())
    KEVT_TRY(memory_.map_address(agent_ + fault.fault, agent_ + fault.fixup));
  return {};
}

Result<void> LocalSession::own_signals() {
  const kevt_disposition ours = {agent_.value + inproc::agent_table().on_signal,
                                 SA_SIGINFO | SA_NODEFER | SA_ONSTACK | SA_RESTART | kRestorerFlag,
                                 agent_.value + inproc::agent_table().restorer, 0};
  for (const int signal : kOwned)
    if (syscall(SYS_rt_sigaction, signal, &ours, &priv().dispositions[signal], 8) != 0)
      return std::unexpected(Error::from_errno("taking a signal"));
  priv().signals_owned = 1;
  return {};
}

LocalSession::~LocalSession() {
  if (!priv_.at || !priv().signals_owned) return;
  priv().signals_owned = 0;
  syscall(SYS_arch_prctl, ARCH_SET_GS, 0);  // of this thread; others end before the session does
  for (const int signal : kOwned) syscall(SYS_rt_sigaction, signal, &priv().dispositions[signal], nullptr, 8);
}

Result<RemoteAddr> LocalSession::place_code(std::span<const std::uint8_t> code) {
  inproc::CodeArena::Window* window = arena_.window_near({number_of(window_.at)}, {number_of(window_.at)}, code.size());
  if (!window) return std::unexpected(Error("the code window is full"));
  auto at = arena_.allocate(*window, code.size());
  if (at) arena_.write(*at, code);
  return at;
}

Result<RemoteAddr> LocalSession::place(const model::NativeImage& image) {
  auto base = place_code(image.bytes);
  if (!base) return base;
  for (const model::FaultEntry& fault : image.faults)
    KEVT_TRY(memory_.map_address(*base + fault.fault, *base + fault.fixup));
  return base;
}

Result<LocalEvent> LocalSession::add_event(const inproc::DetourEvent& code, std::uint32_t sinks) {
  auto* local = reinterpret_cast<kevt_event*>(arena_.local(code.event, sizeof(kevt_event)));
  KEVT_TRY(memory_.add_event(local, code.event, sinks));
  inproc::set_gates(*local, ~0u);
  return LocalEvent{local, code.event, code};
}

kevt_counts LocalSession::counts(const LocalEvent& event, std::uint32_t sink) const {
  return memory_.counts(event.block->row + sink);
}

std::uint32_t LocalSession::hit_table(std::size_t index) {
  while (shared_tables_.size() <= index) {
    auto made = hit_tables_->take();
    KEVT_ASSERT(made);
    hit_tables_->note_mapped(*made, {number_of(hit_tables_->local(*made))});
    shared_tables_.push_back(*made);
  }
  return shared_tables_[index];
}

void LocalSession::clear_hit_tables() {
  shared_tables_.clear();
  hit_tables_.emplace(memory_);
}

void LocalSession::hit(const LocalEvent& event, kevt_registers& registers, std::uint64_t return_address) {
  kevt_test_call_extractor(&registers, event.code.extractor.value, return_address);
}

Result<std::unique_ptr<TestText>> TestText::create(std::uint64_t bytes) {
  auto gap = KEVT_TRY(gap_near_text(bytes));
  void* at = mmap(reinterpret_cast<void*>(gap.value), bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (at == MAP_FAILED) return std::unexpected(Error::from_errno("mapping test text"));
  return std::unique_ptr<TestText>(new TestText(static_cast<std::uint8_t*>(at), bytes));
}

TestText::~TestText() { munmap(base_, bytes_); }

}  // namespace kevt::test
