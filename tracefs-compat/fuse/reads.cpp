// Reading, and waiting for something to read.
//
// A read that finds nothing is kept with its request. It is tried again after every round of the serving thread, and
// answered with EINTR when its caller gets a signal (Ctrl-C on `cat trace_pipe`): the kernel sends that as a request of
// its own. O_NONBLOCK is taken from each read: a descriptor may change it while it is open.
#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "tracefs-compat/fuse/mount_state.h"

namespace kevt::fuse {

namespace {

// True: it was answered.
bool try_read(Mount::State& state, const WaitingRead& read, tree::Waiting waiting) {
  state.last_use = std::chrono::steady_clock::now();
  const auto file = state.files.find(read.file);
  if (file == state.files.end()) {
    fuse_reply_err(read.request, EBADF);
    return true;
  }
  state.buffer.resize(std::max(state.buffer.size(), read.size));
  auto count = file->second.handle->read(read.offset, std::span(state.buffer.data(), read.size), waiting);
  if (count) {
    fuse_reply_buf(read.request, state.buffer.data(), *count);
    return true;
  }
  if (count.error().errno_value() == EAGAIN && waiting == tree::Waiting::Allowed) return false;
  fuse_reply_err(read.request, errno_of(count.error()));
  return true;
}

void interrupted(fuse_req_t request, void* data) {
  Mount::State& state = state_of(request);
  const auto id = reinterpret_cast<std::uintptr_t>(data);
  state.queue.post([&state, id] {
    const auto it = std::ranges::find(state.waiting, id, &WaitingRead::id);
    if (it == state.waiting.end()) return;  // it was answered just before
    const fuse_req_t waiting = it->request;
    state.waiting.erase(it);
    fuse_reply_err(waiting, EINTR);
  });
}

void wait_for_more(Mount::State& state, WaitingRead read) {
  read.id = ++state.last_handle;
  state.waiting.push_back(read);
  fuse_req_interrupt_func(read.request, interrupted, reinterpret_cast<void*>(static_cast<std::uintptr_t>(read.id)));
}

}  // namespace

void read_file(fuse_req_t request, fuse_ino_t, std::size_t size, off_t offset, fuse_file_info* info) {
  const bool may_wait = (info->flags & O_NONBLOCK) == 0;
  const WaitingRead read{
      .id = 0, .request = request, .file = info->fh, .offset = static_cast<std::uint64_t>(offset), .size = size};
  serve_later(request, [read, may_wait](Mount::State& state) {
    if (!try_read(state, read, may_wait ? tree::Waiting::Allowed : tree::Waiting::Refused)) wait_for_more(state, read);
  });
}

void poll_file(fuse_req_t request, fuse_ino_t, fuse_file_info* info, fuse_pollhandle* handle) {
  serve_later(request, [request, handle, id = info->fh](Mount::State& state) {
    const auto file = state.files.find(id);
    if (file == state.files.end()) {
      if (handle) fuse_pollhandle_destroy(handle);
      fuse_reply_err(request, EBADF);
      return;
    }
    const tree::PollState poll = file->second.handle->poll();
    if (handle) {
      if (file->second.poll) fuse_pollhandle_destroy(file->second.poll);
      file->second.poll = handle;
    }
    unsigned events = 0;
    if (poll.is_readable) events |= POLLIN | POLLRDNORM;
    if (poll.is_writable) events |= POLLOUT | POLLWRNORM;
    if (poll.has_news) events |= POLLPRI;
    if (poll.is_gone) events |= POLLERR;
    fuse_reply_poll(request, events);
  });
}

void answer_waiting(Mount::State& state) {
  retry_removals(state);
  for (auto it = state.waiting.begin(); it != state.waiting.end();) {
    const auto file = state.files.find(it->file);
    const bool ready = file == state.files.end() || file->second.handle->is_ready();
    it = ready && try_read(state, *it, tree::Waiting::Allowed) ? state.waiting.erase(it) : std::next(it);
  }
  for (auto& [id, file] : state.files) {
    if (!file.poll || !file.handle->wakes_poll()) continue;
    fuse_lowlevel_notify_poll(file.poll);
    fuse_pollhandle_destroy(file.poll);
    file.poll = nullptr;
  }
}

void refuse_waiting(Mount::State& state) {
  for (const WaitingRead& read : state.waiting) fuse_reply_err(read.request, ENODEV);
  for (const WaitingRemoval& removal : state.removals) fuse_reply_err(removal.request, EBUSY);
  state.removals.clear();
  state.waiting.clear();
}

}  // namespace kevt::fuse
