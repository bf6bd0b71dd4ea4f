// In another PID namespace /proc/OUR-PID/fd/N is another process's file, or none; and a process of another user may not
// open it. A socket needs no name:
//
//   target:  socketpair(AF_UNIX)  → a, b
//   we:      pidfd_getfd(a), sendmsg(SCM_RIGHTS, our file)
//   target:  recvmsg(b) → the file; close(a), close(b)
//
// pidfd_getfd needs Linux 5.6, and no more permission than ptrace did. Where a container refuses the call itself
// (systemd-nspawn of Debian 12 does), the target opens our file by its name after all, which works if it is root's or
// ours and has our PID namespace.
#include "runtime-user/runtime/inproc/process/fd_passing.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <vector>

#include "common/unique_fd.h"
#include "runtime-user/runtime/inproc/process/remote_mapper.h"

namespace kevt::inproc {

namespace {

// What the target's recvmsg reads and fills, in its scratch page.
struct Message {
  msghdr head;
  iovec part;
  char byte;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
};

// A process that shares the target's descriptors may have put another socket there: one that is full, or closed at its
// other end.
Result<void> send_through(int socket, int our_fd) {
  char byte = 0, control[CMSG_SPACE(sizeof(int))] = {};
  iovec part = {&byte, 1};
  msghdr head = {};
  head.msg_iov = &part;
  head.msg_iovlen = 1;
  head.msg_control = control;
  head.msg_controllen = sizeof control;
  cmsghdr* rights = CMSG_FIRSTHDR(&head);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof our_fd);
  std::memcpy(CMSG_DATA(rights), &our_fd, sizeof our_fd);
  if (sendmsg(socket, &head, MSG_DONTWAIT | MSG_NOSIGNAL) != 1)
    return std::unexpected(Error::from_errno("sending a file to the target"));
  return {};
}

Result<UniqueFd> fd_of(pid_t pid, int theirs) {
  const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process) return std::unexpected(Error::from_errno("pidfd_open"));
  UniqueFd ours(static_cast<int>(syscall(SYS_pidfd_getfd, process.get(), theirs, 0)));
  if (!ours) return std::unexpected(Error::from_errno("pidfd_getfd"));
  return ours;
}

// What the scratch page says of the pair of sockets that is open in the target. socketpair(2) writes the descriptors;
// the sockets' inodes are added then.
struct PairNote {
  std::array<int, 2> fds;
  std::array<std::uint64_t, 2> inodes;  // 0: not known yet
};
static_assert(sizeof(PairNote) <= RemoteMapper::kScratchAt);

Result<PairNote> read_note(const RemoteMapper& mapper, RemoteAddr page) {
  PairNote note{};
  KEVT_TRY(mapper.tracee().read(page, {reinterpret_cast<std::uint8_t*>(&note), sizeof note}));
  return note;
}

Result<void> write_note(const RemoteMapper& mapper, RemoteAddr page, const PairNote& note) {
  return mapper.tracee().write(page, {reinterpret_cast<const std::uint8_t*>(&note), sizeof note});
}

std::uint64_t inode_of(int fd) {
  struct stat file = {};
  return fd >= 0 && fstat(fd, &file) == 0 ? file.st_ino : 0;
}

// Whether what is written to the first socket comes out of the second.
bool are_connected(int first, int second) {
  std::uint64_t said = __rdtsc(), heard = 0;
  return send(first, &said, sizeof said, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof said &&
         recv(second, &heard, sizeof heard, MSG_DONTWAIT) == sizeof heard && heard == said;
}

// The sockets of the noted pair that are still open. A descriptor's number may be the program's own by now.
std::vector<int> left_sockets(pid_t pid, const PairNote& note) {
  std::vector<int> left;
  const std::array<UniqueFd, 2> ours = {fd_of(pid, note.fds[0]).value_or(UniqueFd()),
                                        fd_of(pid, note.fds[1]).value_or(UniqueFd())};
  const bool is_pair = !note.inodes[0] && ours[0] && ours[1] && are_connected(ours[0].get(), ours[1].get());
  for (std::size_t i = 0; i < ours.size(); ++i)
    if (is_pair || (note.inodes[i] && inode_of(ours[i].get()) == note.inodes[i])) left.push_back(note.fds[i]);
  return left;
}

Result<std::int64_t> receive(RemoteMapper& mapper, RemoteAddr page, int socket) {
  page = page + RemoteMapper::kScratchAt;
  Message message = {};
  message.head.msg_iov = reinterpret_cast<iovec*>(page.value + offsetof(Message, part));
  message.head.msg_iovlen = 1;
  message.head.msg_control = reinterpret_cast<void*>(page.value + offsetof(Message, control));
  message.head.msg_controllen = sizeof message.control;
  message.part = {reinterpret_cast<void*>(page.value + offsetof(Message, byte)), 1};
  auto* bytes = reinterpret_cast<std::uint8_t*>(&message);
  KEVT_TRY(mapper.tracee().write(page, {bytes, sizeof message}));
  auto got = mapper.call("recvmsg", SYS_recvmsg,
                         {static_cast<std::uint64_t>(socket), page.value, MSG_CMSG_CLOEXEC | MSG_DONTWAIT, 0, 0, 0});
  if (!got) return got;
  KEVT_TRY(mapper.tracee().read(page, {bytes, sizeof message}));
  int fd = -1;
  std::memcpy(&fd, message.control + CMSG_LEN(0), sizeof fd);
  if (message.head.msg_controllen < CMSG_LEN(sizeof fd) || fd < 0)
    return std::unexpected(Error("the target did not receive the file"));
  return fd;
}

// No error where somebody who shares the descriptors has closed it first.
Result<void> close_in_target(RemoteMapper& mapper, std::int64_t fd) {
  auto closed = mapper.call("close", SYS_close, {static_cast<std::uint64_t>(fd), 0, 0, 0, 0, 0});
  if (!closed && closed.error().errno_value() != EBADF) return std::unexpected(std::move(closed.error()));
  return {};
}

bool has_inode(const std::string& path, std::uint64_t inode) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 && status.st_ino == inode;
}

// Whether the system has the call and no seccomp filter refuses it.
bool can_get_descriptors() {
  static const bool can = [] {
    const auto own = fd_of(getpid(), STDERR_FILENO);
    return own || (own.error().errno_value() != EPERM && own.error().errno_value() != ENOSYS);
  }();
  return can;
}

Result<std::int64_t> open_by_name(RemoteMapper& mapper, int our_fd, const struct stat& ours) {
  const RemoteAddr page = KEVT_TRY(mapper.scratch_page()) + RemoteMapper::kScratchAt;
  const std::string name = fmt::format("/proc/{}/fd/{}", getpid(), our_fd);
  KEVT_TRY(mapper.tracee().write(page, {reinterpret_cast<const std::uint8_t*>(name.c_str()), name.size() + 1}));
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NONBLOCK;  // what another process has by that name may be a pipe
  auto fd = mapper.call("openat", SYS_openat, {static_cast<std::uint64_t>(AT_FDCWD), page.value, kFlags, 0, 0, 0});
  if (!fd) return std::unexpected(std::move(fd.error()).while_doing("opening it by its name: pidfd_getfd is refused"));
  struct stat theirs = {};
  const std::string there = fmt::format("/proc/{}/fd/{}", mapper.tracee().pid(), *fd);
  if (stat(there.c_str(), &theirs) == 0 && theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino) return fd;
  KEVT_TRY(close_in_target(mapper, *fd));
  return std::unexpected(Error("it is in another PID namespace, and the call pidfd_getfd is refused"));
}

}  // namespace

Result<void> close_sent(RemoteMapper& mapper, std::int64_t fd) {
  auto closed = close_in_target(mapper, fd);
  if (closed) mapper.note_sending(std::nullopt);
  return closed;
}

Result<std::int64_t> send_fd(RemoteMapper& mapper, int our_fd) {
  const Tracee& tracee = mapper.tracee();
  struct stat ours = {};
  if (fstat(our_fd, &ours) < 0) return std::unexpected(Error::from_errno("sending a file to the target"));
  mapper.note_sending(ours.st_ino);
  if (!can_get_descriptors()) {
    auto opened = open_by_name(mapper, our_fd, ours);
    if (!opened) return std::unexpected(std::move(opened.error()).while_doing("giving the target the tracer's memory"));
    return opened;
  }
  auto page = KEVT_TRY(mapper.scratch_page());
  auto made = mapper.call("socketpair", SYS_socketpair, {AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, page.value, 0, 0});
  if (!made) return made;
  auto pair = KEVT_TRY(read_note(mapper, page));
  auto end = fd_of(tracee.pid(), pair.fds[0]), other_end = fd_of(tracee.pid(), pair.fds[1]);
  Result<std::int64_t> received = std::unexpected(Error("nothing was sent"));
  if (!end || !other_end) {
    received = std::unexpected(std::move(end ? other_end.error() : end.error()));
  } else {
    pair.inodes = {inode_of(end->get()), inode_of(other_end->get())};
    if (auto noted = write_note(mapper, page, pair); !noted)
      received = std::unexpected(std::move(noted.error()));
    else if (auto sent = send_through(end->get(), our_fd); !sent)
      received = std::unexpected(std::move(sent.error()));
    else
      received = receive(mapper, page, pair.fds[1]);
  }
  for (int fd : pair.fds) KEVT_TRY(close_in_target(mapper, fd));
  KEVT_TRY(write_note(mapper, page, {}));
  if (!received)
    return std::unexpected(std::move(received.error()).while_doing("giving the target the tracer's memory"));
  return received;
}

// A file of ours is known by its name, a socket by its inode, or by being one of a pair.
Result<void> close_left_descriptors(RemoteMapper& mapper) {
  const pid_t pid = mapper.tracee().pid();
  std::vector<int> left;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid), failed)) {
    const auto shown = std::filesystem::read_symlink(entry.path(), failed).string();
    if (!shown.starts_with("/memfd:kevtrace")) continue;
    if (!mapper.sending() || has_inode(entry.path().string(), *mapper.sending()))
      left.push_back(std::atoi(entry.path().filename().c_str()));
  }
  auto page = KEVT_TRY(mapper.scratch_page());
  auto pair = KEVT_TRY(read_note(mapper, page));
  std::ranges::copy(left_sockets(pid, pair), std::back_inserter(left));
  for (int fd : left) KEVT_TRY(close_in_target(mapper, fd));
  mapper.note_sending(std::nullopt);
  return write_note(mapper, page, {});
}

}  // namespace kevt::inproc
