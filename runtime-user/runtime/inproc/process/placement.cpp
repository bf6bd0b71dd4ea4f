// The order: the session's files, compared with what was asked for; memory of the target's own; the agent's code. The
// tables say from the first moment on what has been mapped, so that somebody else can take it away when we die.
#include "runtime-user/runtime/inproc/process/placement.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>

#include "common/page.h"
#include "common/proc.h"
#include "compiler/target/process/process_map.h"
#include "runtime-user/runtime/inproc/code/agent_image.h"
#include "runtime-user/runtime/inproc/process/agent_threads.h"
#include "runtime-user/runtime/inproc/process/fd_passing.h"
#include "runtime-user/runtime/inproc/process/startup.h"

namespace kevt::inproc {

namespace {

constexpr std::uint64_t kPopulateLimit = 16u << 20;  // per ring
constexpr std::uint64_t kReach = (1ull << 31) - (64ull << 20);

int rights_of(const MapPiece& piece) { return piece.is_writable() ? PROT_READ | PROT_WRITE : PROT_READ; }

}  // namespace

// Rings are mapped with their pages, so that a hit never pays for one.
Result<void> Placement::map_session_files(RemoteAddr base) {
  for (const MapPiece::From from : {MapPiece::From::Tables, MapPiece::From::Session}) {
    auto fd = KEVT_TRY(send_fd(mapper_, memory_.file(from).fd()));
    for (const MapPiece& piece : memory_.plan()) {
      if (piece.from != from) continue;
      const std::uint64_t populate = piece.is_ring && piece.length <= kPopulateLimit ? MAP_POPULATE : 0;
      auto mapped =
          mapper_.call("mapping the rings", SYS_mmap,
                       {base.value + piece.at, piece.length, static_cast<std::uint64_t>(rights_of(piece)),
                        MAP_SHARED | MAP_FIXED | populate, static_cast<std::uint64_t>(fd), piece.file_offset});
      if (!mapped) return std::unexpected(std::move(mapped.error()));
    }
    KEVT_TRY(close_sent(mapper_, fd));
  }
  return {};
}

Result<void> Placement::check_session(RemoteAddr base) const {
  auto maps = KEVT_TRY(target::read_maps(tracee().pid()));
  for (const MapPiece& piece : memory_.plan())
    if (!shows_file(maps, memory_.file(piece.from), base + piece.at, piece.length, piece.file_offset, rights_of(piece)))
      return std::unexpected(exchanged_file());
  return {};
}

// Address space for many threads; a target that is short of it (`ulimit -v`) gets room for fewer.
Result<PlacedAgent> Placement::map_private() {
  constexpr std::uint64_t kFewest = 256;
  PlacedAgent agent{.base = {}, .priv = {}, .selves = {}, .max_threads = memory_.options().max_threads};
  const auto map = [&] {
    return mapper_.map_anonymous(SessionMemory::private_bytes(agent.max_threads), PROT_READ | PROT_WRITE);
  };
  auto priv = map();
  while (!priv && priv.error().errno_value() == ENOMEM && agent.max_threads > kFewest) {
    agent.max_threads /= 2;
    priv = map();
  }
  if (!priv) return std::unexpected(std::move(priv.error()));
  const std::uint64_t wiped_bytes = SessionMemory::wiped_bytes(agent.max_threads);
  auto selves = KEVT_TRY(mapper_.map_anonymous(wiped_bytes, PROT_READ | PROT_WRITE));
  KEVT_TRY(mapper_.call("madvise", SYS_madvise, {selves.value, wiped_bytes, MADV_WIPEONFORK, 0, 0, 0}));
  constexpr std::uint8_t kNotWiped = 1;
  KEVT_TRY(tracee().write(selves + sizeof(kevt_self) * agent.max_threads, {&kNotWiped, 1}));
  agent.priv = *priv;
  agent.selves = selves;
  return agent;
}

// One piece for all that is to be mapped, with the scratch page in front. Until the tables are in it nothing tells that
// it is ours.
Result<RemoteAddr> Placement::reserve_session() {
  mapper_.note_in([pid = tracee().pid()](const std::vector<kevt_mapping>& mapped) {
    if (!mapped.empty()) note_preparation(pid, RemoteAddr{mapped.back().at}, mapped.back().bytes);
  });
  auto at = mapper_.map_anonymous(kPage + memory_.span(), PROT_READ | PROT_WRITE);
  if (!at) return at;
  mapper_.set_scratch_page(*at);
  memory_.set_target(*at + kPage);
  memory_.note_mapped({{{at->value, kPage + memory_.span()}}});
  mapper_.note_in([this](const std::vector<kevt_mapping>& mapped) { memory_.note_mapped(mapped); });
  return *at + kPage;
}

Result<void> Placement::map_session() {
  auto base = KEVT_TRY(reserve_session());
  KEVT_TRY(map_session_files(base));
  KEVT_TRY(check_session(base));
  // A core file is the program's; our rings would make it hundreds of times larger.
  KEVT_TRY(mapper_.call("madvise", SYS_madvise, {base.value, memory_.span(), MADV_DONTDUMP, 0, 0, 0}));
  auto agent = KEVT_TRY(map_private());
  mapper_.set_agent(agent);
  memory_.set_private(agent.priv, agent.selves, agent.max_threads);
  return {};
}

// Where the agent goes: near the first thread's place, if that is in a file. The vDSO lies next to the stack, which
// must be able to grow.
Result<RemoteAddr> Placement::agent_neighbour() {
  auto registers = KEVT_TRY(tracee().registers(tracee().threads().front()));
  auto maps = KEVT_TRY(target::read_maps(tracee().pid()));
  const auto objects = target::loaded_objects(maps);
  for (const target::LoadedObject& object : objects)
    if (object.contains(RemoteAddr{registers.rip})) return RemoteAddr{registers.rip};
  if (objects.empty()) return std::unexpected(Error("the target has no program file mapped"));
  return objects.back().start();
}

// Notes how hits find their thread. A check_offset of 0 names the control block's own address: a new thread at an old
// thread's address then goes unnoticed until it is enrolled again.
Result<void> Placement::note_threads() {
  kevt_tables& tables = memory_.tables();
  tables.marks_threads = is_go_alone(tracee().pid());
  if (tables.marks_threads) return mark_threads(mapper_.tracee());
  tables.check_offset = KEVT_TRY(thread_id_offset(tracee()));
  return {};
}

Result<void> Placement::place_agent() {
  KEVT_TRY(map_session());
  KEVT_TRY(note_threads());
  auto near = KEVT_TRY(agent_neighbour());
  auto code = KEVT_TRY(allocate(near, near + 1, agent_table().size));
  PlacedAgent agent = mapper_.agent();
  agent.base = code.at;
  mapper_.set_agent(agent);
  arena_.write(agent.base, agent_image_for(memory_.target()));
  memory_.set_agent(agent.base, agent_table().size, agent_services(agent.base));
  for (const AgentFault& fault : agent_faults())
    KEVT_TRY(note_fault(code, agent.base + fault.fault, agent.base + fault.fixup));

  constexpr std::uint64_t kRegisterSyncCore = 64;  // MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE
  KEVT_TRY(mapper_.call("membarrier", SYS_membarrier, {kRegisterSyncCore, 0, 0, 0, 0, 0}));
  return {};
}

// Maps the file into a piece that was noted before. The piece itself allows no access, so no memory is charged for it.
Result<RemoteAddr> Placement::map_hit_table(const HitTables& tables, std::uint32_t table) {
  constexpr int kRights = PROT_READ | PROT_WRITE;
  const std::uint64_t bytes = tables.bytes(), offset = tables.file_offset(table);
  auto at = mapper_.map_anonymous(bytes, PROT_NONE);
  if (!at) return at;
  auto fd = KEVT_TRY(send_fd(mapper_, tables.file().fd()));
  KEVT_TRY(mapper_.call(
      "mapping what hits count", SYS_mmap,
      {at->value, bytes, std::uint64_t{kRights}, MAP_SHARED | MAP_FIXED, static_cast<std::uint64_t>(fd), offset}));
  KEVT_TRY(close_sent(mapper_, fd));
  auto maps = KEVT_TRY(target::read_maps(tracee().pid()));
  if (!shows_file(maps, tables.file(), *at, bytes, offset, kRights)) return std::unexpected(exchanged_file());
  KEVT_TRY(mapper_.call("madvise", SYS_madvise, {at->value, bytes, MADV_DONTDUMP, 0, 0, 0}));
  KEVT_TRY(count_mapped(*at, bytes));
  return at;
}

Result<void> Placement::count_mapped(RemoteAddr at, std::uint64_t bytes) {
  static_assert(CodeArena::kMaxWindows + KEVT_HIT_TABLES <= KEVT_MAP_NEEDS_MAX);
  mapped_.push_back({at.value, bytes});
  const std::uint64_t count = mapped_.size();
  return tracee().write(agent().priv + offsetof(kevt_private, mapped),
                        {reinterpret_cast<const std::uint8_t*>(&count), sizeof count});
}

std::uint32_t Placement::mapped_with(RemoteAddr at) const {
  const auto found =
      std::ranges::find_if(mapped_, [at](const kevt_mapping& piece) { return at.value - piece.at < piece.bytes; });
  return found == mapped_.end() ? 0 : static_cast<std::uint32_t>(found - mapped_.begin()) + 1;
}

Result<PlacedCode> Placement::allocate(RemoteAddr begin, RemoteAddr end, std::uint64_t bytes) {
  auto window = KEVT_TRY(window_for(begin, end, bytes));
  auto at = KEVT_TRY(arena_.allocate(*window, bytes));
  return PlacedCode{.at = at, .bytes = bytes, .since = proc::clock_ticks(), .mapped = {}};
}

Result<void> Placement::note_fault(PlacedCode& code, RemoteAddr fault, RemoteAddr fixup) {
  KEVT_TRY(memory_.map_address(fault, fixup));
  code.mapped.push_back(fault);
  return {};
}

void Placement::give_back(const PlacedCode& code) {
  for (const RemoteAddr key : code.mapped) memory_.unmap_address(key);
  arena_.give_back(code.at, code.bytes);
}

Result<CodeArena::Window*> Placement::window_for(RemoteAddr begin, RemoteAddr end, std::uint64_t bytes) {
  constexpr std::uint64_t kBytes = CodeArena::kWindowBytes;
  if (CodeArena::Window* known = arena_.window_near(begin, end, bytes)) return known;
  auto index = KEVT_TRY(arena_.next_window());
  auto maps = KEVT_TRY(target::read_maps(tracee().pid()));
  auto gap = target::find_gap(maps, begin, kBytes, kReach - static_cast<std::uint64_t>(end - begin));
  if (!gap) return std::unexpected(Error("no free address space within 2 GiB of the probed code"));
  memory_.note_window(index, *gap, kBytes);  // before it is there: see RemoteMapper::map_anonymous
  if (auto mapped = mapper_.map_window(arena_.file(), *gap, kBytes, index * kBytes); !mapped) {
    memory_.note_window(index, {}, 0);
    return std::unexpected(std::move(mapped.error()));
  }
  KEVT_TRY(count_mapped(*gap, kBytes));
  return arena_.add_window(index, *gap);
}

}  // namespace kevt::inproc
