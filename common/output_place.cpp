// Every step is taken on what is open already: a link is read, a file opened, only through the descriptor that was
// looked at, so nothing can be exchanged between the look and the use.
//
//   open(folder) ─► create NAME, exclusively ─► there is one: open it as a mere path, look at it ─► open that very
//   thing
//                                                └─ a link: the same again with what it says
#include "common/output_place.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <utility>

namespace kevt {
namespace {

constexpr mode_t kForUserAlone = 0600, kFolderForUserAlone = 0700;
constexpr int kMaxSteps = 40;  // links, and races that were lost

// The folder, and the name in it.
std::pair<std::string, std::string> split_path(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  if (slash + 1 == path.size()) return {path, "."};
  return {path.substr(0, slash + 1), path.substr(slash + 1)};
}

UniqueFd open_folder(int from, const std::string& path) {
  return UniqueFd(openat(from, path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

UniqueFd create_new(const UniqueFd& folder, const std::string& name) {
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  return UniqueFd(openat(folder.get(), name.c_str(), kFlags, kForUserAlone));
}

// Whether somebody else may have put `thing` into the folder.
bool may_be_planted(const struct stat& thing, const struct stat& folder) {
  if (!(folder.st_mode & (S_IWGRP | S_IWOTH)) || S_ISCHR(thing.st_mode) || S_ISBLK(thing.st_mode)) return false;
  if (S_ISREG(thing.st_mode) && thing.st_nlink > 1) return true;  // a second name of a file of ours
  return thing.st_uid != geteuid() && thing.st_uid != folder.st_uid;
}

Error planted(const std::string& path, const struct stat& thing) {
  const std::string folder = ", in a folder that others may write to; remove it or name another one";
  if (S_ISREG(thing.st_mode) && thing.st_uid == geteuid())
    return Error(path + ": the file has other names" + folder, EACCES);
  const char* kind = S_ISLNK(thing.st_mode) ? "a link" : S_ISDIR(thing.st_mode) ? "a folder" : "a file";
  return Error(path + ": " + kind + " of another user (uid " + std::to_string(thing.st_uid) + ")" + folder, EACCES);
}

class Opening {
 public:
  explicit Opening(std::string path) : path_(std::move(path)) {}
  // Enters the folder of `path`, which is relative to the folder `from`, and notes the name in it.
  Result<void> enter(int from, const std::string& path) {
    auto [folder, name] = split_path(path);
    place_.folder = open_folder(from, folder);
    place_.name = std::move(name);
    return place_.folder ? Result<void>() : fail();
  }
  Result<OutputPlace> found() {
    KEVT_TRY(find());
    return std::move(place_);
  }
  Result<OutputPlace> file();
  Result<UniqueFd> folder();

 private:
  std::unexpected<Error> fail() const { return std::unexpected(Error::from_errno(path_)); }
  Result<bool> find();
  Result<void> check(const struct stat& thing) const;
  Result<bool> follow();
  Result<void> open_again();

  std::string path_;   // as it was named, for messages
  OutputPlace place_;  // `file`: what is there, as a mere path
  struct stat there_ = {};
  int steps_ = 0;
};

Result<void> Opening::check(const struct stat& thing) const {
  struct stat folder = {};
  if (fstat(place_.folder.get(), &folder) != 0) return fail();
  if (may_be_planted(thing, folder)) return std::unexpected(planted(path_, thing));
  return {};
}

// Follows links to what is there; false: nothing is.
Result<bool> Opening::find() {
  for (;;) {
    if (++steps_ > kMaxSteps) errno = ELOOP;
    if (steps_ > kMaxSteps) return fail();
    place_.file = UniqueFd(openat(place_.folder.get(), place_.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!place_.file && errno == ENOENT) return false;
    if (!place_.file || fstat(place_.file.get(), &there_) != 0) return fail();
    KEVT_TRY(check(there_));
    if (!S_ISLNK(there_.st_mode)) return true;
    const auto is_there = follow();
    if (!is_there) return std::unexpected(is_there.error());
    if (*is_there) return true;
  }
}

// Follows one link. True: place_.file is what it leads to; false: place_ names the next thing to look at.
Result<bool> Opening::follow() {
  struct statfs system = {};
  if (fstatfs(place_.file.get(), &system) != 0) return fail();
  if (system.f_type == PROC_SUPER_MAGIC) {  // says no path: it is one of our own descriptors
    place_.file = UniqueFd(openat(place_.folder.get(), place_.name.c_str(), O_PATH | O_CLOEXEC));
    if (!place_.file || fstat(place_.file.get(), &there_) != 0) return fail();
    place_.folder.reset();
    return true;
  }
  char target[PATH_MAX];
  const ssize_t length = readlinkat(place_.file.get(), "", target, sizeof target);
  if (length < 0) return fail();
  const UniqueFd from = std::move(place_.folder);
  KEVT_TRY(enter(from.get(), std::string(target, static_cast<std::size_t>(length))));
  return false;
}

// A log may be writable and not readable. A process that holds both ends of a FIFO never sees that the reader has left.
Result<void> Opening::open_again() {
  const bool is_file = S_ISREG(there_.st_mode);
  const std::string path = "/proc/self/fd/" + std::to_string(place_.file.get());
  // What the shell opened for us keeps its mode.
  if (is_file && place_.folder && there_.st_uid == geteuid()) (void)chmod(path.c_str(), kForUserAlone);
  constexpr int kFlags = O_CLOEXEC | O_NOCTTY;
  UniqueFd file;
  if (!S_ISFIFO(there_.st_mode)) file = UniqueFd(open(path.c_str(), O_RDWR | kFlags));
  if (!file && (S_ISFIFO(there_.st_mode) || errno == EACCES)) file = UniqueFd(open(path.c_str(), O_WRONLY | kFlags));
  if (!file || (is_file && ftruncate(file.get(), 0) != 0)) return fail();
  place_.file = std::move(file);
  return {};
}

Result<OutputPlace> Opening::file() {
  for (;;) {
    const auto is_there = find();
    if (!is_there) return std::unexpected(is_there.error());
    if (*is_there) {
      KEVT_TRY(open_again());
      return std::move(place_);
    }
    place_.file = create_new(place_.folder, place_.name);
    place_.is_new = static_cast<bool>(place_.file);
    if (place_.file) return std::move(place_);
    if (errno != EEXIST) return fail();  // else somebody made it meanwhile
  }
}

Result<UniqueFd> Opening::folder() {
  for (;;) {
    const auto is_there = find();
    if (!is_there) return std::unexpected(is_there.error());
    errno = ENOTDIR;
    if (*is_there && !S_ISDIR(there_.st_mode)) return fail();
    if (*is_there) return std::move(place_.file);
    if (mkdirat(place_.folder.get(), place_.name.c_str(), kFolderForUserAlone) != 0 && errno != EEXIST) return fail();
  }
}

std::string random_letters() {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  unsigned char bytes[12] = {};
  (void)!getrandom(bytes, sizeof bytes, 0);
  std::string out;
  for (unsigned char byte : bytes) out += kLetters[byte % kLetters.size()];
  return out;
}

Result<OutputPlace> create_in(UniqueFd folder, const std::string& name, const std::string& suffix) {
  constexpr int kTries = 100;
  OutputPlace made{.file = {}, .folder = std::move(folder), .name = {}, .is_new = true};
  for (int i = 0; i < kTries && !made.file; ++i) {
    made.name = name + "." + random_letters() + suffix;
    made.file = create_new(made.folder, made.name);
    if (!made.file && errno != EEXIST) break;
  }
  if (!made.file) return std::unexpected(Error::from_errno("a new file beside " + name));
  return made;
}

}  // namespace

Result<OutputPlace> find_output(const std::string& path) {
  Opening opening(path);
  KEVT_TRY(opening.enter(AT_FDCWD, path));
  return opening.found();
}

Result<OutputPlace> open_output(const std::string& path) {
  Opening opening(path);
  KEVT_TRY(opening.enter(AT_FDCWD, path));
  return opening.file();
}

Result<OutputPlace> open_output_in(const UniqueFd& folder, const std::string& name) {
  Opening opening(name);
  KEVT_TRY(opening.enter(folder.get(), name));
  return opening.file();
}

Result<UniqueFd> open_output_folder(const std::string& path) {
  const auto end = path.find_last_not_of('/');
  const std::string named = end == std::string::npos ? path : path.substr(0, end + 1);
  Opening opening(named);
  KEVT_TRY(opening.enter(AT_FDCWD, named));
  return opening.folder();
}

Result<OutputPlace> create_temporary(const std::string& path, const std::string& suffix) {
  const auto [folder, name] = split_path(path);
  UniqueFd opened = open_folder(AT_FDCWD, folder);
  if (!opened) return std::unexpected(Error::from_errno(path));
  return create_in(std::move(opened), name, suffix);
}

Result<OutputPlace> create_temporary_beside(const OutputPlace& place) {
  UniqueFd folder(place.folder ? fcntl(place.folder.get(), F_DUPFD_CLOEXEC, 0) : -1);
  if (!folder) return std::unexpected(Error(place.name + " stands in no folder"));
  return create_in(std::move(folder), place.name, "");
}

}  // namespace kevt
