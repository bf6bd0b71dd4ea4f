#include "runtime-user/session/client/tracer_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

namespace kevt::session {
namespace {

constexpr const char* kFolderPrefix = "kevtrace-client-";
constexpr const char* kFolderPrefixOfBefore = "kevtrace-gui-";
constexpr std::string_view kOwn = "kevtrace: ";
constexpr std::chrono::milliseconds kPatience{5000};
constexpr std::size_t kMostOfALook = 1 << 20, kMostOfALine = 65536;

bool is_program(const std::string& path) {
  std::error_code unknown;
  return ::access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path, unknown);
}

std::vector<std::string> words_of(const TracerRequest& request, const std::string& directory) {
  std::vector<std::string> words = {"kevtrace", "mount", directory};
  if (!request.command.empty())
    words.push_back("--keep");  // records are also read after the program has ended
  else if (!request.pids.empty())
    words.insert(words.end(), {"--pid", fmt::format("{}", fmt::join(request.pids, ","))});
  else if (request.choice.empty())
    words.insert(words.end(), {"--runtime", request.runtime});
  for (const auto& [option, values] : {std::pair("--comm", &request.choice.comms),
                                       {"--cgroup", &request.choice.cgroups},
                                       {"--container", &request.choice.containers}})
    for (const std::string& value : *values) words.insert(words.end(), {option, value});
  if (request.follows && request.runtime.empty()) words.push_back("--follow-forks");
  if (!request.with_kernel.empty() && request.runtime.empty()) words.push_back("--with-kernel=" + request.with_kernel);
  if (!request.script.empty()) words.insert(words.end(), {"-p", request.script});
  if (request.is_unsafe) words.push_back("--unsafe");
  if (!request.command.empty()) words.push_back("--");
  words.insert(words.end(), request.command.begin(), request.command.end());
  return words;
}

}  // namespace

std::string TracerProcess::find_kevtrace() {
  if (const char* named = std::getenv("KEVTRACE"); named && *named) return named;
  std::error_code unknown;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", unknown);
  if (const std::string beside = self.parent_path() / "kevtrace"; !unknown && is_program(beside)) return beside;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const std::string program = folder + "/kevtrace"; !folder.empty() && is_program(program)) return program;
  return {};
}

// Removes only files that are known to be in such a folder. The list of mounts tells whether it is mounted: a look at
// the directory itself might wait for a stuck process.
void TracerProcess::remove_abandoned(const std::string& folder) {
  constexpr time_t kJustMade = 600;  // s
  std::ifstream file("/proc/self/mountinfo");
  if (!file) return;
  const std::string mounts{std::istreambuf_iterator<char>(file), {}};
  std::error_code failed;
  for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    const std::string path = at->path(), name = at->path().filename();
    struct stat info = {};
    if (!name.starts_with(kFolderPrefix) && !name.starts_with(kFolderPrefixOfBefore)) continue;
    if (::lstat(path.c_str(), &info) != 0) continue;
    if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || info.st_mtime > std::time(nullptr) - kJustMade ||
        mounts.find(path + "/") != std::string::npos)
      continue;
    ::unlink((path + "/output").c_str());
    ::rmdir((path + "/tracing").c_str());
    ::rmdir(path.c_str());
  }
}

Result<std::unique_ptr<TracerProcess>> TracerProcess::start(const std::string& kevtrace, const TracerRequest& request) {
  std::unique_ptr<TracerProcess> made(new TracerProcess);
  made->is_ours_ = !request.command.empty();
  KEVT_TRY(made->make_folder());
  KEVT_TRY(made->spawn(kevtrace, words_of(request, made->directory_)));
  return made;
}

TracerProcess::~TracerProcess() {
  finish(kPatience);
  if (folder_.empty()) return;
  ::unlink((folder_ + "/output").c_str());
  ::rmdir(directory_.c_str());  // if still mounted, both folders stay
  ::rmdir(folder_.c_str());
}

Result<void> TracerProcess::make_folder() {
  std::error_code failed;
  const std::string temporary = std::filesystem::temp_directory_path(failed);
  if (failed) return std::unexpected(Error("the folder for temporary files: " + failed.message(), failed.value()));
  remove_abandoned(temporary);
  std::string folder = temporary + "/" + kFolderPrefix + "XXXXXX";
  if (!::mkdtemp(folder.data())) return std::unexpected(Error::from_errno("making a folder in " + temporary));
  folder_ = folder;
  directory_ = folder + "/tracing";
  const std::string output = folder + "/output";
  output_ = UniqueFd(::open(output.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!output_) return std::unexpected(Error::from_errno(output));
  return {};
}

Result<void> TracerProcess::spawn(const std::string& kevtrace, const std::vector<std::string>& words) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, (folder_ + "/output").c_str(), O_WRONLY | O_APPEND, 0);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  posix_spawn_file_actions_addclosefrom_np(&files, 3);
  // A session of its own: a hang-up of the terminal reaches only the client.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t usual, none;
  sigemptyset(&none);
  sigemptyset(&usual);
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&usual, signal);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const int failed = ::posix_spawnp(&pid_, kevtrace.c_str(), &files, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (failed) return std::unexpected(Error(fmt::format("starting `{}`: {}", kevtrace, std::strerror(failed)), failed));
  is_running_ = true;
  return {};
}

TracerProcess::News TracerProcess::look() {
  News news;
  const bool was_running = is_running_;
  const bool has_ended = was_running && reap(&news);
  if (was_running && read_output(news) && has_ended)
    while (read_output(news)) continue;
  if (has_ended && !rest_.empty()) news.lines.push_back(std::exchange(rest_, {}));
  return news;
}

// Whether the tracer has ended.
bool TracerProcess::reap(News* news) {
  int status = 0;
  const pid_t got = ::waitpid(pid_, &status, WNOHANG);
  if (got == 0 || (got < 0 && errno == EINTR)) return false;
  is_running_ = is_mounted_ = false;
  if (!news) return true;
  if (got == pid_ && WIFEXITED(status))
    news->ended = fmt::format("kevtrace mount has ended with status {}", WEXITSTATUS(status));
  else
    news->ended = "kevtrace mount was ended by a signal";
  return true;
}

// False: there is nothing more to read.
bool TracerProcess::read_output(News& news) {
  std::string bytes(kMostOfALook, '\0');
  const ssize_t got = ::read(output_.get(), bytes.data(), bytes.size());
  if (got <= 0) return false;
  rest_.append(bytes, 0, static_cast<std::size_t>(got));
  std::size_t begin = 0;
  for (std::size_t end; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    news.lines.push_back(rest_.substr(begin, end - begin));
    take_line(news.lines.back(), news);
  }
  rest_.erase(0, begin);
  if (rest_.size() > kMostOfALine) rest_.clear();
  return true;
}

// The tracer's own lines name the directory, so a program does not print one by chance. A program that does so on
// purpose only makes its own trace seem ended.
void TracerProcess::take_line(const std::string& line, News& news) {
  const std::string begin = "kevtrace: mounted on " + directory_ + ": ";
  const auto process_in = [](std::string_view words) {
    constexpr std::string_view kProcess = "process ";
    pid_t pid = 0;
    if (words.starts_with(kProcess)) std::from_chars(words.data() + kProcess.size(), words.data() + words.size(), pid);
    return pid;
  };
  if (line.starts_with(begin)) {
    if (is_mounted_) return;
    is_mounted_ = news.is_mounted = true;
    traced_pid_ = running_ = process_in(std::string_view(line).substr(begin.size()));
  } else if (line == "kevtrace: all that is traced has ended; " + directory_ + " stays until Ctrl-C or umount") {
    news.programs_ended = true;
    running_ = 0;
  } else if (line.ends_with(" has ended; " + directory_ + " stays until Ctrl-C or umount")) {
    if (running_ > 0 && line.starts_with(kOwn) && process_in(std::string_view(line).substr(kOwn.size())) == running_)
      running_ = 0;
  }
}

// kevtrace detaches from the program and then waits for its end, so a program that was started here is told to end,
// too.
void TracerProcess::terminate() {
  if (!is_running_) return;
  ::kill(pid_, SIGTERM);
  if (is_ours_ && running_ > 0) ::kill(running_, SIGTERM);
}

void TracerProcess::finish(std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds kStep{5};
  terminate();
  bool is_killed = false;
  for (std::chrono::milliseconds waited{0}; is_running_ && !reap(nullptr); waited += kStep) {
    if (waited >= patience && !std::exchange(is_killed, true)) ::kill(pid_, SIGKILL);
    if (waited > 2 * patience) break;
    const timespec step = {.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(kStep).count()};
    nanosleep(&step, nullptr);
  }
}

}  // namespace kevt::session
