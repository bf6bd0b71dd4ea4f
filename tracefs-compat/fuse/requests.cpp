// Requests of the kernel, one function each: the arguments are copied, the work is done on the serving thread.
//
// A traced process may be stopped by ptrace while the serving thread changes it. If it waited for the mount at that
// moment, both would wait for ever; so its requests, and our own, are refused right here with EDEADLK.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "tracefs-compat/fuse/mount_state.h"

namespace kevt::fuse {

namespace {

constexpr std::size_t kMaxWrite = 1 << 20;

bool is_ours(pid_t tid) { return tid == getpid() || access(fmt::format("/proc/self/task/{}", tid).c_str(), F_OK) == 0; }

std::string comm_of(pid_t tid) {
  std::ifstream file(fmt::format("/proc/{}/comm", tid));
  std::string comm;
  std::getline(file, comm);
  return comm;
}

void init(void*, fuse_conn_info* connection) {
  connection->want |= connection->capable & FUSE_CAP_ATOMIC_O_TRUNC;
  connection->want &= ~static_cast<unsigned>(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
  connection->max_write = kMaxWrite;
  connection->max_readahead = 0;
}

// ---- files ----------------------------------------------------------------------------------

void open(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info) {
  const pid_t tid = fuse_req_ctx(request)->pid;
  serve_later(request, [request, inode, tid, copy = *info](Mount::State& state) mutable {
    const std::string* path = state.inodes.path_of(inode);
    const int access = copy.flags & O_ACCMODE;
    const tree::OpenRequest wanted{.reads = access != O_WRONLY,
                                   .writes = access != O_RDONLY,
                                   .truncates = (copy.flags & O_TRUNC) != 0,
                                   .caller = {.tid = tid, .comm = ""}};
    auto opened = path ? state.tree.open(*path, wanted) : tree::fails(ENOENT);
    if (!opened) {
      fuse_reply_err(request, errno_of(opened.error()));
      return;
    }
    copy.fh = ++state.last_handle;
    copy.direct_io = 1;
    state.last_use = std::chrono::steady_clock::now();
    state.files[copy.fh] = {*std::move(opened), *path, tid, nullptr};
    if (fuse_reply_open(request, &copy) != 0) state.files.erase(copy.fh);
  });
}

void write(fuse_req_t request, fuse_ino_t, const char* data, std::size_t size, off_t, fuse_file_info* info) {
  const pid_t tid = fuse_req_ctx(request)->pid;
  serve_later(request, [request, tid, id = info->fh, data = std::string(data, size)](Mount::State& state) {
    const auto file = state.files.find(id);
    if (file == state.files.end()) {
      fuse_reply_err(request, EBADF);
      return;
    }
    const auto count = file->second.handle->write(data, {.tid = tid, .comm = comm_of(tid)});
    if (count)
      fuse_reply_write(request, *count);
    else
      fuse_reply_err(request, errno_of(count.error()));
  });
}

void release(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  Mount::State& mount = state_of(request);
  mount.queue.post([&mount, request, id = info->fh] {
    const auto file = mount.files.find(id);
    if (file != mount.files.end()) {
      if (file->second.poll) fuse_pollhandle_destroy(file->second.poll);
      mount.files.erase(file);
    }
    fuse_reply_err(request, 0);
    if (!mount.is_closing) retry_removals(mount);
  });
}

// ---- what a tracing directory does not do ---------------------------------------------------

void refuse_unlink(fuse_req_t request, fuse_ino_t, const char*) { fuse_reply_err(request, EPERM); }
void refuse_create(fuse_req_t request, fuse_ino_t, const char*, mode_t, fuse_file_info*) {
  fuse_reply_err(request, EACCES);
}
void refuse_mknod(fuse_req_t request, fuse_ino_t, const char*, mode_t, dev_t) { fuse_reply_err(request, EPERM); }
void refuse_symlink(fuse_req_t request, const char*, fuse_ino_t, const char*) { fuse_reply_err(request, EPERM); }
void refuse_link(fuse_req_t request, fuse_ino_t, fuse_ino_t, const char*) { fuse_reply_err(request, EPERM); }
void refuse_rename(fuse_req_t request, fuse_ino_t, const char*, fuse_ino_t, const char*, unsigned) {
  fuse_reply_err(request, EPERM);
}

}  // namespace

Mount::State& state_of(fuse_req_t request) { return *static_cast<Mount::State*>(fuse_req_userdata(request)); }

void serve_later(fuse_req_t request, std::function<void(Mount::State&)> work) {
  Mount::State& state = state_of(request);
  const pid_t tid = fuse_req_ctx(request)->pid;
  const RefusedProcesses* const refused = state.options.refused.get();
  const bool is_known = !refused && tid == state.last_caller;
  if (!is_known && (is_ours(tid) || (refused && refused->has_thread(tid)))) {
    fuse_reply_err(request, EDEADLK);
    return;
  }
  state.last_caller = tid;
  state.queue.post([&state, request, work = std::move(work)] {
    if (state.is_closing)
      fuse_reply_err(request, ENOTCONN);
    else
      work(state);
  });
}

const fuse_lowlevel_ops& mount_operations() {
  static const fuse_lowlevel_ops operations = [] {
    fuse_lowlevel_ops made = {};
    made.init = init;
    made.lookup = lookup;
    made.forget = forget;
    made.forget_multi = forget_many;
    made.getattr = getattr;
    made.setattr = setattr;
    made.opendir = opendir;
    made.readdir = readdir;
    made.readdirplus = readdirplus;
    made.releasedir = releasedir;
    made.mkdir = make_folder;
    made.rmdir = remove_folder;
    made.open = open;
    made.read = read_file;
    made.write = write;
    made.release = release;
    made.poll = poll_file;
    made.unlink = refuse_unlink;
    made.create = refuse_create;
    made.mknod = refuse_mknod;
    made.symlink = refuse_symlink;
    made.link = refuse_link;
    made.rename = refuse_rename;
    return made;
  }();
  return operations;
}

}  // namespace kevt::fuse
