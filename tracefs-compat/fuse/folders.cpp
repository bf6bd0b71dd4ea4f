// Folders: listing them, making and removing those of instances/.
//
// A listing gives the kernel all attributes at once (readdirplus): `ls -lR` of an instance walks 11,000 names, and
// would ask for each. A folder whose names never change is listed once, and the kernel caches the list. A listing is
// made when it is read from its start; later changes show when it is read from the start again.
#include <sys/stat.h>

#include <cerrno>

#include "tracefs-compat/fuse/mount_state.h"

namespace kevt::fuse {

namespace {

constexpr std::chrono::milliseconds kRemovalPatience{200};

// Names alone, or names with their attributes.
enum class Listing : std::uint8_t { Names, Entries };

// The part of a listing that fits into one answer.
class ListingPiece {
 public:
  ListingPiece(Mount::State& state, fuse_req_t request, std::size_t size, Listing listing)
      : state_(state), request_(request), buffer_(size, '\0'), listing_(listing) {}

  // False: there is no room for the entry. `next`: the offset at which the reader goes on behind the entry.
  bool add_dots(const std::string& name, off_t next) {
    struct stat status = {};
    status.st_ino = 1;
    status.st_mode = S_IFDIR;
    return add(name, status, next);
  }
  bool add_entry(const std::string& path, const tree::DirectoryEntry& entry, off_t next) {
    struct stat status = {};
    status.st_ino = state_.inodes.number_of(path);
    status.st_mode = entry.is_directory ? S_IFDIR : S_IFREG;
    if (listing_ == Listing::Names || !entry.lasts) return add(entry.name, status, next);
    const std::size_t needs = fuse_add_direntry_plus(request_, nullptr, 0, entry.name.c_str(), nullptr, 0);
    if (needs > buffer_.size() - used_) return false;
    const fuse_entry_param known = known_entry(
        state_, path, {.is_directory = entry.is_directory, .mode = entry.mode, .lasts = true, .keeps_names = false});
    told_.push_back(known.ino);
    used_ += fuse_add_direntry_plus(request_, buffer_.data() + used_, buffer_.size() - used_, entry.name.c_str(),
                                    &known, next);
    return true;
  }
  void reply() {
    if (fuse_reply_buf(request_, buffer_.data(), used_) == 0) return;
    for (const fuse_ino_t inode : told_) state_.inodes.forget(inode, 1);
  }

 private:
  bool add(const std::string& name, const struct stat& status, off_t next) {
    char* const place = buffer_.data() + used_;
    const std::size_t room = buffer_.size() - used_;
    std::size_t needs = 0;
    if (listing_ == Listing::Names) {
      needs = fuse_add_direntry(request_, place, room, name.c_str(), &status, next);
    } else {
      fuse_entry_param unknown = {};  // inode 0: the kernel asks for the entry itself
      unknown.attr = status;
      needs = fuse_add_direntry_plus(request_, place, room, name.c_str(), &unknown, next);
    }
    if (needs > room) return false;
    used_ += needs;
    return true;
  }

  Mount::State& state_;
  fuse_req_t request_;
  std::string buffer_;
  std::size_t used_ = 0;
  Listing listing_;
  std::vector<fuse_ino_t> told_;
};

void reply_listing(Mount::State& state, fuse_req_t request, std::uint64_t id, std::size_t size, off_t offset,
                   Listing listing) {
  const auto it = state.directories.find(id);
  if (it == state.directories.end()) {
    fuse_reply_err(request, EBADF);
    return;
  }
  OpenDirectory& directory = it->second;
  if (offset == 0) {
    const std::string* path = state.inodes.path_of(directory.inode);
    auto list = path ? state.tree.list(*path) : tree::fails(ENOENT);
    if (!list) {
      fuse_reply_err(request, errno_of(list.error()));
      return;
    }
    directory.entries = *std::move(list);
    directory.path = *path;
  }
  if (!state.inodes.path_of(directory.inode)) directory.entries.clear();  // it was removed meanwhile
  ListingPiece piece(state, request, size, listing);
  for (auto i = static_cast<std::size_t>(offset); i < directory.entries.size() + 2; ++i) {
    const auto next = static_cast<off_t>(i + 1);
    const bool fits = i < 2 ? piece.add_dots(std::string(i + 1, '.'), next)
                            : piece.add_entry(joined(directory.path, directory.entries[i - 2].name.c_str()),
                                              directory.entries[i - 2], next);
    if (!fits) break;
  }
  piece.reply();
}

}  // namespace

void opendir(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info) {
  serve_later(request, [request, inode, copy = *info](Mount::State& state) mutable {
    const std::string* path = state.inodes.path_of(inode);
    const auto attributes = path ? state.tree.attributes(*path) : tree::fails(ENOENT);
    if (!attributes) {
      fuse_reply_err(request, errno_of(attributes.error()));
      return;
    }
    copy.fh = ++state.last_handle;
    copy.cache_readdir = copy.keep_cache = attributes->keeps_names ? 1 : 0;
    state.directories[copy.fh] = {.entries = {}, .path = *path, .inode = inode};
    if (fuse_reply_open(request, &copy) != 0) state.directories.erase(copy.fh);
  });
}

void readdir(fuse_req_t request, fuse_ino_t, std::size_t size, off_t offset, fuse_file_info* info) {
  serve_later(request, [request, size, offset, id = info->fh](Mount::State& state) {
    reply_listing(state, request, id, size, offset, Listing::Names);
  });
}

void readdirplus(fuse_req_t request, fuse_ino_t, std::size_t size, off_t offset, fuse_file_info* info) {
  serve_later(request, [request, size, offset, id = info->fh](Mount::State& state) {
    reply_listing(state, request, id, size, offset, Listing::Entries);
  });
}

void releasedir(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  serve_later(request, [request, id = info->fh](Mount::State& state) {
    state.directories.erase(id);
    fuse_reply_err(request, 0);
  });
}

void make_folder(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t) {
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

void remove_folder(fuse_req_t request, fuse_ino_t parent, const char* name) {
  serve_later(request, [request, parent, name = std::string(name)](Mount::State& state) {
    const std::string* directory = state.inodes.path_of(parent);
    state.removals.push_back({.request = request,
                              .path = directory ? joined(*directory, name.c_str()) : "",
                              .until = std::chrono::steady_clock::now() + kRemovalPatience});
    retry_removals(state);
  });
}

void retry_removals(Mount::State& state) {
  for (auto it = state.removals.begin(); it != state.removals.end();) {
    const auto done = state.tree.remove_directory(it->path);
    const int error = done ? 0 : errno_of(done.error());
    if (error == EBUSY && std::chrono::steady_clock::now() < it->until) {
      ++it;
      continue;
    }
    if (done) state.inodes.remove(it->path);
    fuse_reply_err(it->request, error);
    it = state.removals.erase(it);
  }
}

}  // namespace kevt::fuse
