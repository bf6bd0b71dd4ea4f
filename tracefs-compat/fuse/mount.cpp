// Mounting, serving, unmounting.
//
//   receiving thread            serving thread (ptrace, runtime, engine, tree)
//   kernel ─► libfuse ─► post ─► queue ─► tree ─► reply
//
// Each reply tells the kernel how long it may cache a name (entries.cpp, folders.cpp). Reads bypass the page cache.
// Mirrors nothing: FUSE's own protocol (libfuse 3.14).
#include "tracefs-compat/fuse/mount.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "runtime-user/engine/tracing.h"
#include "tracefs-compat/fuse/mount_state.h"
#include "tracefs-compat/fuse/mount_table.h"

namespace kevt::fuse {

namespace {

constexpr auto kActivePause = std::chrono::microseconds(1000);
constexpr auto kIdlePause = std::chrono::microseconds(50'000);

// A daemon that was killed leaves its mount behind; every access says ENOTCONN.
void take_away_dead_mount(const std::string& directory) {
  struct stat status;
  if (stat(directory.c_str(), &status) == 0 || errno != ENOTCONN) return;
  if (umount2(directory.c_str(), MNT_DETACH) == 0) return;
  if (const pid_t child = fork(); child == 0) {
    execlp("fusermount3", "fusermount3", "-u", "-z", "--", directory.c_str(), nullptr);
    _exit(127);
  } else if (child > 0) {
    waitpid(child, nullptr, 0);
  }
}

// Receives requests until the session ends or stops_receiver is set. Signals belong to the serving thread.
void receive(Mount::State& state) {
  fuse_buf buffer = {};
  while (!fuse_session_exited(state.session) && !state.stops_receiver) {
    const int got = fuse_session_receive_buf(state.session, &buffer);
    if (got == -EINTR) continue;
    if (got <= 0) break;
    fuse_session_process_buf(state.session, &buffer);
  }
  std::free(buffer.mem);
  state.has_ended = true;
  state.queue.post([] {});
}

void do_nothing(int) {}

// SIGUSR1 wakes the receiver when it is to end, since unmounting does not if files are open.
void start_receiver(Mount::State& state) {
  struct sigaction action = {};
  action.sa_handler = do_nothing;
  sigaction(SIGUSR1, &action, nullptr);
  sigset_t all, before;
  sigfillset(&all);
  sigdelset(&all, SIGUSR1);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  state.receiver = std::thread([&state] { receive(state); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Afterwards all requests that the receiver has taken from the kernel are in the queue. (A session that has been told
// to exit would throw away what it reads.)
void stop_receiver(Mount::State& state) {
  if (!state.receiver.joinable()) return;
  state.stops_receiver = true;
  const timespec pause = {0, 1'000'000};
  while (!state.has_ended) {
    pthread_kill(state.receiver.native_handle(), SIGUSR1);
    nanosleep(&pause, nullptr);
  }
  state.receiver.join();
}

// Requests that the kernel has ready are taken here, without waiting for more. A file's release is one of them: the
// kernel queues it before close(2) returns, and nobody waits for its answer (fs/fuse/file.c, fuse_file_put). All other
// requests fail, as they would a moment later when the mount is gone.
void finish_requests(Mount::State& state) {
  constexpr int kMostRequests = 4096;  // bounded, so that endless requests do not keep the mount
  stop_receiver(state);
  state.is_closing = true;
  state.queue.run(std::chrono::microseconds(0));
  const int fd = fuse_session_fd(state.session);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  fuse_buf buffer = {};
  for (int i = 0; i < kMostRequests && fuse_session_receive_buf(state.session, &buffer) > 0; ++i) {
    fuse_session_process_buf(state.session, &buffer);
    state.queue.run(std::chrono::microseconds(0));
  }
  std::free(buffer.mem);
}

// To be called between requests, when no request holds a path.
void forget_gone(Mount::State& state) {
  state.inodes.remove_gone([&](const std::string& path) { return state.tree.attributes(path).has_value(); });
}

Result<void> check_directory(Mount::State& state) {
  const std::string& directory = state.options.directory;
  struct stat status;
  if (stat(directory.c_str(), &status) < 0 && errno == ENOENT) {
    if (mkdir(directory.c_str(), 0750) < 0) return std::unexpected(Error::from_errno("making " + directory));
    state.made_directory = true;
    return {};
  }
  if (stat(directory.c_str(), &status) < 0) return std::unexpected(Error::from_errno(directory));
  if (!S_ISDIR(status.st_mode)) return std::unexpected(Error(directory + " is no directory", ENOTDIR));
  std::error_code unreadable;
  const std::filesystem::directory_iterator files(directory, unreadable);
  if (!state.options.hides_files && !unreadable && files != std::filesystem::directory_iterator())
    return std::unexpected(
        Error(directory + " is not empty, and a mount would hide what is in it: name another one, or say --nonempty",
              ENOTEMPTY));
  return {};
}

// Resolves links, so that the path is as the kernel writes it in mountinfo.
void resolve_links(std::string& directory) {
  std::error_code failed;
  const auto resolved = std::filesystem::canonical(directory, failed);
  if (!failed) directory = resolved.string();
}

}  // namespace

Result<std::unique_ptr<Mount>> Mount::open(tree::Tree& tree, MountOptions options) {
  auto state = std::make_unique<State>(tree, std::move(options));
  if (access("/dev/fuse", F_OK) < 0)
    return std::unexpected(Error("/dev/fuse is missing: load the kernel module `fuse`", ENODEV));
  take_away_dead_mount(state->options.directory);
  KEVT_TRY(check_directory(*state));
  resolve_links(state->options.directory);
  std::vector<std::string> words = {"kevtrace", "-o", "fsname=kevtrace,subtype=kevtrace,default_permissions"};
  if (geteuid() == 0) words.back() += ",allow_other";
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  fuse_args args = FUSE_ARGS_INIT(static_cast<int>(argv.size()), argv.data());
  std::unique_ptr<Mount> mount(new Mount(std::move(state)));
  State& made = *mount->state_;
  made.session = fuse_session_new(&args, &mount_operations(), sizeof(fuse_lowlevel_ops), &made);
  if (!made.session) return std::unexpected(Error("libfuse refuses its options", EINVAL));
  if (fuse_session_mount(made.session, made.options.directory.c_str()) != 0)
    return std::unexpected(Error("mounting on " + made.options.directory + " failed (libfuse has said why)", EIO));
  made.is_mounted = true;
  made.device = device_mounted_on(made.options.directory);
  return mount;
}

Mount::Mount(std::unique_ptr<State> state) : state_(std::move(state)) {}

Mount::~Mount() {
  if (!state_->session) return;
  refuse_waiting(*state_);
  fuse_session_exit(state_->session);
  // Somebody may have unmounted the directory lazily; what is mounted there now is then not ours.
  const bool is_there = !state_->device || device_mounted_on(state_->options.directory) == state_->device;
  if (state_->is_mounted && is_there) fuse_session_unmount(state_->session);
  stop_receiver(*state_);
  for (auto& [id, file] : state_->files)
    if (file.poll) fuse_pollhandle_destroy(file.poll);
  state_->files.clear();
  fuse_session_destroy(state_->session);
  if (state_->made_directory) rmdir(state_->options.directory.c_str());
}

void Mount::serve(const std::function<bool()>& step) {
  if (state_->options.refused)
    serve_with_receiver(step);
  else
    serve_alone(step);
  finish_requests(*state_);
}

void Mount::serve_with_receiver(const std::function<bool()>& step) {
  start_receiver(*state_);
  while (!state_->has_ended) {
    state_->queue.run(state_->tree.tracing().switcher().is_active() ? kActivePause : kIdlePause);
    if (!step()) break;
    answer_waiting(*state_);
    forget_gone(*state_);
  }
}

// If no process is stopped while requests are served, one thread takes requests and carries them out.
void Mount::serve_alone(const std::function<bool()>& step) {
  using Clock = std::chrono::steady_clock;
  const int fd = fuse_session_fd(state_->session);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  fuse_buf buffer = {};
  auto next_step = Clock::now();
  while (!fuse_session_exited(state_->session)) {
    const auto pause = state_->tree.tracing().switcher().is_active() ? kActivePause : kIdlePause;
    next_step = std::min(next_step, Clock::now() + pause);
    pollfd one = {.fd = fd, .events = POLLIN, .revents = 0};
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(next_step - Clock::now()).count();
    const timespec wait = {left > 0 ? left / 1'000'000'000 : 0, left > 0 ? left % 1'000'000'000 : 0};
    if (ppoll(&one, 1, &wait, nullptr) > 0) {
      const int got = fuse_session_receive_buf(state_->session, &buffer);
      if (got > 0) fuse_session_process_buf(state_->session, &buffer);
      if (got == 0 || (got < 0 && got != -EINTR && got != -EAGAIN)) break;
      state_->queue.run(std::chrono::microseconds(0));
    }
    if (Clock::now() < next_step) continue;
    if (!step()) break;
    answer_waiting(*state_);
    forget_gone(*state_);
    next_step = Clock::now() + pause;
  }
  std::free(buffer.mem);
}

void Mount::let_go_in_copy() { close(fuse_session_fd(state_->session)); }

bool Mount::is_being_read() const {
  constexpr auto kMoment = std::chrono::seconds(1);
  const auto& files = state_->files;
  if (std::ranges::any_of(files, [](const auto& file) { return file.second.handle->awaits_end(); })) return true;
  return !files.empty() && std::chrono::steady_clock::now() - state_->last_use < kMoment;
}

std::vector<MountUser> Mount::users() const {
  std::vector<MountUser> users;
  for (const auto& [id, file] : state_->files) users.push_back({file.opener, file.path});
  return users;
}

}  // namespace kevt::fuse
