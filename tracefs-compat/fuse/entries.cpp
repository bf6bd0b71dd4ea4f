// Names and attributes: what the kernel asks when somebody walks a path.
//
// The kernel may cache names that last. It asks for names of probes each time, since they come and go by writes to
// other files. A folder of instances/ lasts until the kernel itself asks to remove it, and the kernel then forgets the
// names below it.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "tracefs-compat/fuse/mount_state.h"

namespace kevt::fuse {

namespace {

// trace_pipe_raw reports this size, so that splice(2) reads it.
constexpr off_t kEndless = off_t{1} << 60;
constexpr double kLong = 3600;  // seconds

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

}  // namespace

int errno_of(const Error& error) { return error.errno_value() != 0 ? error.errno_value() : EIO; }

std::string joined(const std::string& directory, const char* name) {
  return directory.empty() ? name : directory + "/" + name;
}

fuse_entry_param known_entry(Mount::State& state, const std::string& path, const tree::Attributes& attributes) {
  fuse_entry_param entry = {};
  entry.ino = state.inodes.look_up(path);
  entry.generation = 1;
  entry.entry_timeout = entry.attr_timeout = attributes.lasts ? kLong : 0;
  entry.attr = status_of(state, path, attributes, entry.ino);
  return entry;
}

void reply_entry(Mount::State& state, fuse_req_t request, const std::string& path) {
  const auto attributes = state.tree.attributes(path);
  if (!attributes) {
    fuse_reply_err(request, errno_of(attributes.error()));
    return;
  }
  const fuse_entry_param entry = known_entry(state, path, *attributes);
  if (fuse_reply_entry(request, &entry) != 0) state.inodes.forget(entry.ino, 1);
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

void forget_many(fuse_req_t request, std::size_t count, fuse_forget_data* all) {
  Mount::State& state = state_of(request);
  state.queue.post([&state, gone = std::vector(all, all + count)] {
    for (const fuse_forget_data& one : gone) state.inodes.forget(one.ino, one.nlookup);
  });
  fuse_reply_none(request);
}

void getattr(fuse_req_t request, fuse_ino_t inode, fuse_file_info*) {
  serve_later(request, [request, inode](Mount::State& state) { reply_attributes(state, request, inode); });
}

// Changes of owner and mode take effect, as in the kernel's directory; a change of size is accepted without effect.
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

}  // namespace kevt::fuse
