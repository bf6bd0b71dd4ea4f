// Our files are sent to the target over a socket and closed again at once (fd_passing.h). A descriptor is a number that
// another process may share: somebody could put another file behind it between two calls. So what has been mapped is
// looked at in /proc/PID/maps, device, inode, offset and rights, before anything uses it.
#include "runtime-user/runtime/inproc/process/remote_mapper.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "runtime-user/runtime/inproc/process/fd_passing.h"

namespace kevt::inproc {

namespace {
PreparationNote* preparation = nullptr;

// Far from where the kernel puts what programs map, which begins at the top, and from the heap.
constexpr RemoteAddr kPiecesLieNear{0x6f00'0000'0000};
}  // namespace

void note_preparations_in(PreparationNote* note) { preparation = note; }
void note_preparation(pid_t pid, RemoteAddr at, std::uint64_t bytes) {
  if (preparation)
    *preparation = {
        .pid = pid, .at = at.value, .bytes = bytes, .has_failed_to_leave = preparation->has_failed_to_leave};
}
void note_failed_departure() {
  if (preparation) preparation->has_failed_to_leave = true;
}

// The session's files are those mapped at the addresses that its tables name; a window that came after the fork is not
// there.
Result<RemoteMapper> RemoteMapper::of_session(Tracee& tracee, const kevt_tables& tables) {
  auto maps = KEVT_TRY(target::read_maps(tracee.pid()));
  RemoteMapper mapper(tracee);
  mapper.agent_ = {{tables.code_begin}, {tables.priv}, {tables.selves}, tables.max_threads};
  const auto bounded = std::min<std::uint64_t>(tables.mapped_count, KEVT_MAX_MAPPINGS);
  for (const kevt_mapping& piece : std::span(tables.mapped).first(bounded))
    if (is_there(maps, piece)) mapper.anonymous_.push_back(piece);
  if (!mapper.anonymous_.empty()) mapper.scratch_ = RemoteAddr{mapper.anonymous_.front().at};
  for (const auto& window : tables.windows)
    if (window[1] > window[0]) mapper.windows_.push_back({window[0], window[1] - window[0]});
  std::set<std::uint64_t> named = {tables.self, tables.session};
  for (const kevt_mapping& window : mapper.windows_) named.insert(window.at);
  std::set<std::uint64_t> inodes;
  for (const target::Mapping& m : maps)
    if (m.shared && m.path.starts_with("/memfd:kevtrace") && named.contains(m.start.value)) inodes.insert(m.inode);
  for (const target::Mapping& m : maps)
    if (m.shared && m.path.starts_with("/memfd:kevtrace") && inodes.contains(m.inode))
      mapper.files_.push_back({m.start.value, static_cast<std::uint64_t>(m.end - m.start)});
  const auto agent_is_there = [&](const kevt_mapping& file) { return tables.code_begin - file.at < file.bytes; };
  if (std::ranges::none_of(mapper.files_, agent_is_there)) mapper.agent_.base = {};  // noted, or taken away again
  return mapper;
}

Result<std::int64_t> RemoteMapper::call(const char* what, std::int64_t number,
                                        std::array<std::uint64_t, 6> arguments) const {
  auto result = tracee_.syscall(number, arguments);
  if (!result) return std::unexpected(std::move(result.error()).while_doing(what));
  if (*result < 0 && *result > -4096)
    return std::unexpected(Error(std::string(what) + " in the target: " + std::strerror(static_cast<int>(-*result)),
                                 static_cast<int>(-*result)));
  return *result;
}

// The place is chosen and noted before anything is mapped there, so that whoever cleans up after us finds all that is
// mapped.
Result<RemoteAddr> RemoteMapper::map_anonymous(std::uint64_t bytes, int protection) {
  auto maps = KEVT_TRY(target::read_maps(tracee_.pid()));
  constexpr std::uint64_t kAnywhere = ~0ull;
  const auto gap = target::find_gap(maps, kPiecesLieNear, bytes, kAnywhere);
  if (!gap) return std::unexpected(Error("no free address space for the tracer's memory", ENOMEM));
  anonymous_.push_back({gap->value, bytes});
  note_(anonymous_);
  constexpr std::uint64_t kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  auto mapped = call("mmap", SYS_mmap, {gap->value, bytes, static_cast<std::uint64_t>(protection), kFlags, ~0ull, 0});
  if (mapped) return *gap;
  if (auto now = target::read_maps(tracee_.pid()); now && is_there(*now, anonymous_.back()))
    return std::unexpected(std::move(mapped.error()));  // made, but nobody has heard of it
  anonymous_.pop_back();
  note_(anonymous_);
  return std::unexpected(std::move(mapped.error()));
}

Result<RemoteAddr> RemoteMapper::scratch_page() {
  if (scratch_.value) return scratch_;
  auto page = map_anonymous(4096, PROT_READ | PROT_WRITE);
  if (page) scratch_ = *page;
  return page;
}

Result<void> RemoteMapper::map_window(const SharedFile& file, RemoteAddr at, std::uint64_t bytes,
                                      std::uint64_t offset) {
  auto fd = KEVT_TRY(send_fd(*this, file.fd()));
  constexpr int kRights = PROT_READ | PROT_EXEC;
  unclear_ = {.at = at.value, .bytes = bytes, .inode = file.inode()};
  KEVT_TRY(call("mmap", SYS_mmap,
                {at.value, bytes, static_cast<std::uint64_t>(kRights), MAP_SHARED | MAP_FIXED_NOREPLACE,
                 static_cast<std::uint64_t>(fd), offset}));
  files_.push_back({at.value, bytes});
  unclear_ = {};
  KEVT_TRY(close_sent(*this, fd));
  auto maps = KEVT_TRY(target::read_maps(tracee_.pid()));
  if (!shows_file(maps, file, at, bytes, offset, kRights)) return std::unexpected(exchanged_file());
  windows_.push_back({at.value, bytes});
  return {};
}

// Settles a mapping that we asked for and got no answer to: it was made if the place shows the file.
Result<void> RemoteMapper::settle_unclear() {
  if (!unclear_.bytes) return {};
  auto maps = KEVT_TRY(target::read_maps(tracee_.pid()));
  for (const target::Mapping& m : maps)
    if (m.start.value == unclear_.at && m.shared && m.inode == unclear_.inode)
      files_.push_back({unclear_.at, unclear_.bytes});
  unclear_ = {};
  return {};
}

// Newest first: what was mapped into a larger piece goes with it, and the tables, by which somebody else could go on,
// are the last. No piece is unmapped twice: its place may be the program's own by then.
Result<void> RemoteMapper::take_away() {
  KEVT_TRY(settle_unclear());
  for (std::vector<kevt_mapping>* mapped : {&files_, &anonymous_})
    while (!mapped->empty()) {
      const kevt_mapping last = mapped->back();
      mapped->pop_back();
      KEVT_TRY(call("munmap", SYS_munmap, {last.at, last.bytes, 0, 0, 0, 0}));
    }
  return {};
}

bool RemoteMapper::is_code(RemoteAddr at) const {
  return std::ranges::any_of(windows_, [&](const kevt_mapping& w) { return at.value - w.at < w.bytes; });
}

bool is_there(const std::vector<target::Mapping>& maps, const kevt_mapping& piece) {
  std::uint64_t seen = 0;
  for (const target::Mapping& m : maps) {
    const std::uint64_t from = std::max(m.start.value, piece.at), to = std::min(m.end.value, piece.at + piece.bytes);
    if (from >= to) continue;
    const bool is_ours = m.path.starts_with("/memfd:kevtrace");  // mapped into the piece
    if (!is_ours && (m.shared || m.inode || !m.path.empty())) return false;
    seen += to - from;
  }
  return seen == piece.bytes;
}

bool shows_file(const std::vector<target::Mapping>& maps, const SharedFile& file, RemoteAddr at, std::uint64_t bytes,
                std::uint64_t offset, int protection) {
  const RemoteAddr end = at + bytes;
  for (const target::Mapping& m : maps) {
    if (m.end <= at || m.start >= end) continue;
    const bool is_file = m.shared && m.inode == file.inode() &&
                         makedev(m.device_major, m.device_minor) == static_cast<dev_t>(file.device()) &&
                         m.offset.value - m.start.value == offset - at.value;
    const bool has_rights =
        m.readable && m.writable == ((protection & PROT_WRITE) != 0) && m.executable == ((protection & PROT_EXEC) != 0);
    if (!is_file || !has_rights || m.start > at) return false;
    const auto seen = static_cast<std::uint64_t>(std::min(m.end, end) - at);
    at = at + seen;
    offset += seen;
  }
  return at == end;
}

Error exchanged_file() {
  return Error(
      "what the target has mapped is not the tracer's memory: another process, which shares its descriptors, has put "
      "something else in its place");
}

}  // namespace kevt::inproc
