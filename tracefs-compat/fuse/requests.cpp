// Requests of the kernel, one function each: what is asked is copied, the rest happens on the serving thread.
//
// A process that is being traced may stand still under ptrace while the serving thread changes it. If it waited for the
// mount at that moment, both would wait for ever; so its requests, and our own, are refused right here with EDEADLK.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "tracefs-compat/fuse/mount_state.h"

namespace kevt::fuse {

namespace {

// trace_pipe_raw seems large, so that splice(2) reads it.
constexpr off_t kEndless = off_t{1} << 60;
constexpr std::size_t kMaxWrite = 1 << 20;
constexpr std::chrono::milliseconds kRemovalPatience{200};
constexpr double kLong = 3600;  // seconds: names that stay are asked for once

int errno_of(const Error& error) { return error.errno_value() != 0 ? error.errno_value() : EIO; }

bool is_thread_of(pid_t process, pid_t tid) {
  return process == tid || access(fmt::format("/proc/{}/task/{}", process, tid).c_str(), F_OK) == 0;
}

std::string comm_of(pid_t tid) {
  std::ifstream file(fmt::format("/proc/{}/comm", tid));
  std::string comm;
  std::getline(file, comm);
  return comm;
}

std::string joined(const std::string& directory, const char* name) {
  return directory.empty() ? name : directory + "/" + name;
}

struct stat status_of(Mount::State& state, const std::string& path, const tree::Attributes& attributes,
                      std::uint64_t inode) {
  struct stat status = {};
  status.st_ino = inode;
  status.st_mode = (attributes.is_directory ? S_IFDIR : S_IFREG) | attributes.mode;
  status.st_nlink = attributes.is_directory ? 2 : 1;
  status.st_uid = geteuid();
  status.st_gid = state.options.group.value_or(getegid());
  status.st_blksize = 4096;
  if (path.ends_with("/trace_pipe_raw")) status.st_size = kEndless;
  if (const AttributeChange* change = state.inodes.find_change(path)) {
    if (change->mode) status.st_mode = (status.st_mode & S_IFMT) | (*change->mode & 07777);
    status.st_uid = change->uid.value_or(status.st_uid);
    status.st_gid = change->gid.value_or(status.st_gid);
  }
  return status;
}

void reply_attributes(Mount::State& state, fuse_req_t request, fuse_ino_t inode) {
  const std::string* path = state.inodes.path_of(inode);
  auto attributes = path ? state.tree.attributes(*path) : tree::fails(ENOENT);
  if (!attributes) {
    fuse_reply_err(request, errno_of(attributes.error()));
    return;
  }
  const struct stat status = status_of(state, *path, *attributes, inode);
  fuse_reply_attr(request, &status, attributes->lasts ? kLong : 0);
}

void reply_entry(Mount::State& state, fuse_req_t request, const std::string& path) {
  const auto attributes = state.tree.attributes(path);
  if (!attributes) {
    fuse_reply_err(request, errno_of(attributes.error()));
    return;
  }
  fuse_entry_param entry = {};
  entry.ino = state.inodes.look_up(path);
  entry.generation = 1;
  entry.entry_timeout = entry.attr_timeout = attributes->lasts ? kLong : 0;
  entry.attr = status_of(state, path, *attributes, entry.ino);
  if (fuse_reply_entry(request, &entry) != 0) state.inodes.forget(entry.ino, 1);
}

// ---- names and attributes -------------------------------------------------------------------

void init(void*, fuse_conn_info* connection) {
  connection->want |= connection->capable & FUSE_CAP_ATOMIC_O_TRUNC;
  connection->want &= ~static_cast<unsigned>(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
  connection->max_write = kMaxWrite;
  connection->max_readahead = 0;
}

void lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  serve_later(request, [request, parent, name = std::string(name)](Mount::State& state) {
    const std::string* directory = state.inodes.path_of(parent);
    if (!directory) {
      fuse_reply_err(request, ENOENT);
      return;
    }
    reply_entry(state, request, joined(*directory, name.c_str()));
  });
}

void forget(fuse_req_t request, fuse_ino_t inode, std::uint64_t lookups) {
  Mount::State& state = state_of(request);
  state.queue.post([&state, inode, lookups] { state.inodes.forget(inode, lookups); });
  fuse_reply_none(request);
}

void getattr(fuse_req_t request, fuse_ino_t inode, fuse_file_info*) {
  serve_later(request, [request, inode](Mount::State& state) { reply_attributes(state, request, inode); });
}

// Owners and modes change as they do in the kernel's directory; sizes do not, and that is no error.
void setattr(fuse_req_t request, fuse_ino_t inode, struct stat* wanted, int which, fuse_file_info*) {
  serve_later(request, [request, inode, to = *wanted, which](Mount::State& state) {
    if (const std::string* path = state.inodes.path_of(inode)) {
      AttributeChange& change = state.inodes.change(*path);
      if (which & FUSE_SET_ATTR_MODE) change.mode = to.st_mode & 07777;
      if (which & FUSE_SET_ATTR_UID) change.uid = to.st_uid;
      if (which & FUSE_SET_ATTR_GID) change.gid = to.st_gid;
    }
    reply_attributes(state, request, inode);
  });
}

// ---- folders --------------------------------------------------------------------------------

void opendir(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info) {
  serve_later(request, [request, inode, copy = *info](Mount::State& state) mutable {
    const std::string* path = state.inodes.path_of(inode);
    auto list = path ? state.tree.list(*path) : tree::fails(ENOENT);
    if (!list) {
      fuse_reply_err(request, errno_of(list.error()));
      return;
    }
    copy.fh = ++state.last_handle;
    state.directories[copy.fh] = {*std::move(list), *path};
    if (fuse_reply_open(request, &copy) != 0) state.directories.erase(copy.fh);
  });
}

void readdir(fuse_req_t request, fuse_ino_t, std::size_t size, off_t offset, fuse_file_info* info) {
  serve_later(request, [request, size, offset, id = info->fh](Mount::State& state) {
    const auto it = state.directories.find(id);
    if (it == state.directories.end()) {
      fuse_reply_err(request, EBADF);
      return;
    }
    const OpenDirectory& directory = it->second;
    std::string buffer(size, '\0');
    std::size_t used = 0;
    const std::size_t all = directory.entries.size() + 2;
    for (auto i = static_cast<std::size_t>(offset); i < all; ++i) {
      const bool dots = i < 2;
      const std::string name = dots ? std::string(i + 1, '.') : directory.entries[i - 2].name;
      struct stat status = {};
      status.st_ino = dots ? 1 : state.inodes.number_of(joined(directory.path, name.c_str()));
      status.st_mode = dots || directory.entries[i - 2].is_directory ? S_IFDIR : S_IFREG;
      const std::size_t needs = fuse_add_direntry(request, buffer.data() + used, size - used, name.c_str(), &status,
                                                  static_cast<off_t>(i + 1));
      if (needs > size - used) break;
      used += needs;
    }
    fuse_reply_buf(request, buffer.data(), used);
  });
}

void releasedir(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  serve_later(request, [request, id = info->fh](Mount::State& state) {
    state.directories.erase(id);
    fuse_reply_err(request, 0);
  });
}

void mkdir(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t) {
  serve_later(request, [request, parent, name = std::string(name)](Mount::State& state) {
    const std::string* directory = state.inodes.path_of(parent);
    const std::string path = directory ? joined(*directory, name.c_str()) : "";
    if (auto made = state.tree.make_directory(path); !made) {
      fuse_reply_err(request, errno_of(made.error()));
      return;
    }
    reply_entry(state, request, path);
  });
}

void rmdir(fuse_req_t request, fuse_ino_t parent, const char* name) {
  serve_later(request, [request, parent, name = std::string(name)](Mount::State& state) {
    const std::string* directory = state.inodes.path_of(parent);
    state.removals.push_back({.request = request,
                              .path = directory ? joined(*directory, name.c_str()) : "",
                              .until = std::chrono::steady_clock::now() + kRemovalPatience});
    retry_removals(state);
  });
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

void retry_removals(Mount::State& state) {
  for (auto it = state.removals.begin(); it != state.removals.end();) {
    const auto done = state.tree.remove_directory(it->path);
    const int error = done ? 0 : errno_of(done.error());
    if (error == EBUSY && std::chrono::steady_clock::now() < it->until) {
      ++it;
      continue;
    }
    fuse_reply_err(it->request, error);
    it = state.removals.erase(it);
  }
}

Mount::State& state_of(fuse_req_t request) { return *static_cast<Mount::State*>(fuse_req_userdata(request)); }

void serve_later(fuse_req_t request, std::function<void(Mount::State&)> work) {
  Mount::State& state = state_of(request);
  const pid_t tid = fuse_req_ctx(request)->pid;
  const bool is_known = state.options.refused.empty() && tid == state.last_caller;
  const bool refused =
      !is_known && (is_thread_of(getpid(), tid) ||
                    std::ranges::any_of(state.options.refused, [&](pid_t pid) { return is_thread_of(pid, tid); }));
  if (refused) {
    fuse_reply_err(request, EDEADLK);
    return;
  }
  state.last_caller = tid;
  state.queue.post([&state, work = std::move(work)] { work(state); });
}

const fuse_lowlevel_ops& mount_operations() {
  static const fuse_lowlevel_ops operations = [] {
    fuse_lowlevel_ops made = {};
    made.init = init;
    made.lookup = lookup;
    made.forget = forget;
    made.getattr = getattr;
    made.setattr = setattr;
    made.opendir = opendir;
    made.readdir = readdir;
    made.releasedir = releasedir;
    made.mkdir = mkdir;
    made.rmdir = rmdir;
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
