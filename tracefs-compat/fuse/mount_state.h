// What the parts of Mount share; private to tracefs-compat/fuse.
#pragma once

#define FUSE_USE_VERSION 35
#include <fuse3/fuse_lowlevel.h>

#include <atomic>
#include <chrono>
#include <list>
#include <thread>
#include <unordered_map>

#include "tracefs-compat/fuse/inode_table.h"
#include "tracefs-compat/fuse/mount.h"
#include "tracefs-compat/fuse/work_queue.h"

namespace kevt::fuse {

struct OpenFile {
  std::unique_ptr<tree::Handle> handle;
  std::string path;
  pid_t opener = 0;
  fuse_pollhandle* poll = nullptr;  // set: a poll(2) waits for the file to become ready
};

struct OpenDirectory {
  std::vector<tree::DirectoryEntry> entries;  // as they were when it was last read from its start
  std::string path;
  fuse_ino_t inode = 0;
};

// A read that found nothing and waits.
struct WaitingRead {
  std::uint64_t id = 0;
  fuse_req_t request = nullptr;
  std::uint64_t file = 0;
  std::uint64_t offset = 0;
  std::size_t size = 0;
};

// An rmdir that was answered EBUSY and is tried again: the kernel may report the close of its files later than the
// rmdir.
struct WaitingRemoval {
  fuse_req_t request = nullptr;
  std::string path;
  std::chrono::steady_clock::time_point until;
};

struct Mount::State {
  State(tree::Tree& served, MountOptions given) : tree(served), options(std::move(given)) {}

  tree::Tree& tree;
  MountOptions options;
  fuse_session* session = nullptr;
  bool is_mounted = false;
  std::optional<std::string> device;  // of the mount, as mountinfo names it; nullopt: not known
  bool made_directory = false;
  std::thread receiver;
  pid_t last_caller = 0;                           // last one known not to be ours; used without `refused`
  std::chrono::steady_clock::time_point last_use;  // when a file was last opened or read
  std::atomic<bool> stops_receiver = false;
  bool is_closing = false;              // on the serving thread: all requests but releases fail
  std::atomic<bool> has_ended = false;  // the receiver has returned: the kernel has taken the mount away, or it stops
  WorkQueue queue;

  // On the serving thread.
  InodeTable inodes;
  std::unordered_map<std::uint64_t, OpenFile> files;
  std::unordered_map<std::uint64_t, OpenDirectory> directories;
  std::list<WaitingRead> waiting;
  std::list<WaitingRemoval> removals;
  std::uint64_t last_handle = 0;
  std::vector<char> buffer;
};

// Requests that libfuse hands over on the receiving thread (requests.cpp).
const fuse_lowlevel_ops& mount_operations();
Mount::State& state_of(fuse_req_t request);
// Carries `work` out on the serving thread. A caller that must not wait for that thread (kevtrace itself,
// RefusedProcesses) gets EDEADLK instead.
void serve_later(fuse_req_t request, std::function<void(Mount::State&)> work);
int errno_of(const Error& error);
std::string joined(const std::string& directory, const char* name);

// entries.cpp
void lookup(fuse_req_t request, fuse_ino_t parent, const char* name);
void forget(fuse_req_t request, fuse_ino_t inode, std::uint64_t lookups);
void forget_many(fuse_req_t request, std::size_t count, fuse_forget_data* all);
void getattr(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info);
void setattr(fuse_req_t request, fuse_ino_t inode, struct stat* wanted, int which, fuse_file_info* info);
// The entry that is sent to the kernel for a path; adds 1 to the kernel's lookup count.
fuse_entry_param known_entry(Mount::State& state, const std::string& path, const tree::Attributes& attributes);
void reply_entry(Mount::State& state, fuse_req_t request, const std::string& path);

// folders.cpp
void opendir(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info);
void readdir(fuse_req_t request, fuse_ino_t inode, std::size_t size, off_t offset, fuse_file_info* info);
void readdirplus(fuse_req_t request, fuse_ino_t inode, std::size_t size, off_t offset, fuse_file_info* info);
void releasedir(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info);
void make_folder(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode);
void remove_folder(fuse_req_t request, fuse_ino_t parent, const char* name);
// Tries the waiting rmdirs again.
void retry_removals(Mount::State& state);

// reads.cpp
void read_file(fuse_req_t request, fuse_ino_t inode, std::size_t size, off_t offset, fuse_file_info* info);
void poll_file(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info, fuse_pollhandle* handle);
// Answers waiting reads, polls and rmdirs that have become ready.
void answer_waiting(Mount::State& state);
// Fails all waiting reads and rmdirs, since the mount goes away.
void refuse_waiting(Mount::State& state);

}  // namespace kevt::fuse
