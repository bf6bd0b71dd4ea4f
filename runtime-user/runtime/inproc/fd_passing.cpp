// /proc/OUR-PID/fd/N is another process's file, or nobody's, in another PID namespace, and a process of another user
// may not open it. A socket needs no name:
//
//   target:  socketpair(AF_UNIX)  → a, b
//   we:      pidfd_getfd(a), sendmsg(SCM_RIGHTS, our file)
//   target:  recvmsg(b) → the file; close(a), close(b)
//
// pidfd_getfd needs Linux 5.6, and no more permission than ptrace did.
#include "runtime-user/runtime/inproc/fd_passing.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "common/unique_fd.h"
#include "runtime-user/runtime/inproc/remote_mapper.h"

namespace kevt::inproc {

namespace {

// What the target's recvmsg reads and fills, in its scratch page.
struct Message {
  msghdr head;
  iovec part;
  char byte;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
};

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
  if (sendmsg(socket, &head, 0) != 1) return std::unexpected(Error::from_errno("sending a file to the target"));
  return {};
}

Result<UniqueFd> fd_of(pid_t pid, int theirs) {
  const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process) return std::unexpected(Error::from_errno("pidfd_open"));
  UniqueFd ours(static_cast<int>(syscall(SYS_pidfd_getfd, process.get(), theirs, 0)));
  if (!ours) return std::unexpected(Error::from_errno("pidfd_getfd"));
  return ours;
}

using Pair = std::array<int, 2>;

Result<Pair> read_pair(const RemoteMapper& mapper, RemoteAddr page) {
  Pair pair{};
  if (auto got = mapper.tracee().read(page, {reinterpret_cast<std::uint8_t*>(&pair), sizeof pair}); !got)
    return std::unexpected(std::move(got.error()));
  return pair;
}

Result<void> forget_pair(const RemoteMapper& mapper, RemoteAddr page) {
  return mapper.tracee().write(page, std::array<std::uint8_t, sizeof(Pair)>{});
}

// What is written to one comes out of the other.
bool are_connected(pid_t pid, const Pair& pair) {
  const auto first = fd_of(pid, pair[0]), second = fd_of(pid, pair[1]);
  std::uint64_t said = __rdtsc(), heard = 0;
  return first && second && send(first->get(), &said, sizeof said, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof said &&
         recv(second->get(), &heard, sizeof heard, MSG_DONTWAIT) == sizeof heard && heard == said;
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
  if (auto put = mapper.tracee().write(page, {bytes, sizeof message}); !put)
    return std::unexpected(std::move(put.error()));
  auto got = mapper.call("recvmsg", SYS_recvmsg,
                         {static_cast<std::uint64_t>(socket), page.value, MSG_CMSG_CLOEXEC | MSG_DONTWAIT, 0, 0, 0});
  if (!got) return got;
  if (auto back = mapper.tracee().read(page, {bytes, sizeof message}); !back)
    return std::unexpected(std::move(back.error()));
  int fd = -1;
  std::memcpy(&fd, message.control + CMSG_LEN(0), sizeof fd);
  if (message.head.msg_controllen < CMSG_LEN(sizeof fd) || fd < 0)
    return std::unexpected(Error("the target did not receive the file"));
  return fd;
}

}  // namespace

Result<void> close_in_target(RemoteMapper& mapper, std::int64_t fd) {
  auto closed = mapper.call("close", SYS_close, {static_cast<std::uint64_t>(fd), 0, 0, 0, 0, 0});
  if (!closed) return std::unexpected(std::move(closed.error()));
  return {};
}

Result<std::int64_t> send_fd(RemoteMapper& mapper, int our_fd) {
  const Tracee& tracee = mapper.tracee();
  auto page = mapper.scratch_page();
  if (!page) return std::unexpected(std::move(page.error()));
  auto made = mapper.call("socketpair", SYS_socketpair, {AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, page->value, 0, 0});
  if (!made) return made;
  auto pair = read_pair(mapper, *page);
  if (!pair) return std::unexpected(std::move(pair.error()));
  Result<std::int64_t> received = std::unexpected(Error("nothing was sent"));
  if (auto end = fd_of(tracee.pid(), (*pair)[0]); !end)
    received = std::unexpected(std::move(end.error()));
  else if (auto sent = send_through(end->get(), our_fd); !sent)
    received = std::unexpected(std::move(sent.error()));
  else
    received = receive(mapper, *page, (*pair)[1]);
  for (int fd : *pair)
    if (auto closed = close_in_target(mapper, fd); !closed) return std::unexpected(std::move(closed.error()));
  if (auto forgotten = forget_pair(mapper, *page); !forgotten) return std::unexpected(std::move(forgotten.error()));
  if (!received)
    return std::unexpected(std::move(received.error()).while_doing("giving the target the tracer's memory"));
  return received;
}

// A number may be the program's own by now: a file of ours is known by its name, a pair of sockets by being one.
Result<void> close_left_descriptors(RemoteMapper& mapper) {
  const pid_t pid = mapper.tracee().pid();
  std::vector<int> left;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid), failed)) {
    const auto shown = std::filesystem::read_symlink(entry.path(), failed).string();
    if (shown.starts_with("/memfd:kevtrace")) left.push_back(std::atoi(entry.path().filename().c_str()));
  }
  auto page = mapper.scratch_page();
  if (!page) return std::unexpected(std::move(page.error()));
  auto pair = read_pair(mapper, *page);
  if (!pair) return std::unexpected(std::move(pair.error()));
  if (*pair != Pair{} && are_connected(pid, *pair)) left.insert(left.end(), pair->begin(), pair->end());
  for (int fd : left)
    if (auto closed = close_in_target(mapper, fd); !closed) return closed;
  return forget_pair(mapper, *page);
}

}  // namespace kevt::inproc
