// The problem: a client does not call the checker, it writes to files and reads what they say. Every answer must reach
// it through {}: errno, error_log, listings, format, filter and trigger files.
//
// The idea: replay the corpora of a real 6.1 kernel through a Tree over a fake target, as a mount over such a kernel
// makes it: definitions, filters and triggers one by one, sequences of operations up to the first that runs a program.
// Every record agrees in all that is compared, or differs in a way that has a name here and in docs/tree.md ("What
// differs from the kernel's"), and then in no other. Sequences: counted; must not fall.
//
// With KEVT_CORPUS_MOUNTED=1 the same goes through FUSE: another process serves each tree in a mount, and what is
// compared went through open(2), write(2) and read(2).
//
// The folder comes from KEVT_CORPUS; without it nothing is tested here. KEVT_CORPUS_VERBOSE=1 shows every difference.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "common/error.h"
#include "common/unique_fd.h"
#include "runtime-user/engine/tracing.h"
#include "runtime-user/runtime/fake/fake_runtime.h"
#include "tests/golden/corpus_reader.h"
#include "tests/golden/definition_world.h"
#include "tracefs-compat/fuse/mount.h"
#include "tracefs-compat/tree/tracing_dir.h"

namespace kevt::golden {
namespace {

using nlohmann::json;

class FakeTarget final : public engine::TracedTarget {
 public:
  explicit FakeTarget(target::FixedTargetEnv& env) : env_(env) {
    for (const char* file : {"/target", "/odd-name_x.1.bin"}) env_.map_file(std::string(kFolder) + file, 0x400000);
  }
  std::string name() const override { return "a fake"; }
  runtime::FakeRuntime& runtime() override { return runtime_; }
  const target::TargetEnv& env() override { return env_; }
  const target::TargetEnv& known_env() const override { return env_; }
  bool is_alive() override { return true; }
  Result<void> prepare_stacks() override { return {}; }  // as a process

 private:
  target::FixedTargetEnv& env_;
  runtime::FakeRuntime runtime_;
};

// One CPU, as the kernel of the corpus.
class FreshTree {
 public:
  FreshTree() : target_(world_.env()), tracing_({&target_}, options()), tree_(tracing_) {}
  tree::Tree& tree() { return tree_; }

 private:
  engine::TracingOptions options() {
    engine::TracingOptions options{.cpus = 1};
    options.check = {.dialect = dialect::Dialect::running(6, 1)};
    options.static_events = static_catalog();
    options.env = &world_.env();
    return options;
  }

  DefinitionWorld world_;
  FakeTarget target_;
  engine::Tracing tracing_;
  tree::Tree tree_;
};

// A process that serves one fresh tree after the other: a byte asks for the next, a byte says that it is there.
class MountServer {
 public:
  MountServer() {
    char name[] = "/tmp/kevt-corpus-XXXXXX";
    folder_ = mkdtemp(name);
    int down[2], up[2];
    if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0) std::abort();
    ask_ = UniqueFd(down[1]);
    answer_ = UniqueFd(up[0]);
    child_ = fork();
    if (child_ == 0) {
      ask_ = {};
      serve(UniqueFd(down[0]), UniqueFd(up[1]));
      _exit(0);
    }
    close(down[0]);
    close(up[1]);
  }
  MountServer(const MountServer&) = delete;
  MountServer& operator=(const MountServer&) = delete;
  ~MountServer() {
    ask_ = {};
    waitpid(child_, nullptr, 0);
    rmdir(folder_.c_str());
  }
  void ask() const {
    const char byte = 'n';
    if (::write(ask_.get(), &byte, 1) != 1) std::abort();
  }
  // False: nothing can be mounted here.
  bool await() const {
    char byte;
    return ::read(answer_.get(), &byte, 1) == 1;
  }
  const std::string& folder() const { return folder_; }

 private:
  void serve(UniqueFd asked, UniqueFd answers) const {
    char byte;
    while (::read(asked.get(), &byte, 1) == 1) {
      FreshTree fresh;
      auto mount = fuse::Mount::open(fresh.tree(), {.directory = folder_, .group = std::nullopt, .refused = {}});
      if (!mount || ::write(answers.get(), &byte, 1) != 1) return;
      (*mount)->serve([&] {
        pollfd one = {.fd = asked.get(), .events = POLLIN, .revents = 0};
        return poll(&one, 1, 0) == 0;
      });
    }
  }
  std::string folder_;
  UniqueFd ask_, answer_;
  pid_t child_ = -1;
};

// A kernel takes 50 to 80 ms to unmount, and waits meanwhile: some servers unmount while others are used.
class MountServers {
 public:
  MountServers() {
    for (int i = 0; i < 8; ++i) all_.emplace_back(std::make_unique<MountServer>())->ask();
  }
  MountServers(const MountServers&) = delete;
  MountServers& operator=(const MountServers&) = delete;
  // The last first: each has the pipes of those before it.
  ~MountServers() {
    while (!all_.empty()) all_.pop_back();
  }
  // nullptr: nothing can be mounted here.
  MountServer* take() {
    MountServer& one = *all_[next_++ % all_.size()];
    return one.await() ? &one : nullptr;
  }

 private:
  std::vector<std::unique_ptr<MountServer>> all_;
  std::size_t next_ = 0;
};

bool is_mounted_run() { return std::getenv("KEVT_CORPUS_MOUNTED") != nullptr; }

// A tree as a client has it: its files.
class CorpusTree {
 public:
  CorpusTree() {
    if (!is_mounted_run()) {
      fresh_.emplace();
      dir_ = tree::tracing_dir(fresh_->tree());
      return;
    }
    static MountServers servers;
    server_ = servers.take();
    if (!server_) {
      fmt::print("nothing can be mounted here\n");
      std::exit(77);
    }
    dir_ = tree::tracing_dir(server_->folder());
    root_ = server_->folder();
  }
  CorpusTree(const CorpusTree&) = delete;
  CorpusTree& operator=(const CorpusTree&) = delete;
  ~CorpusTree() {
    dir_.reset();
    if (server_) server_->ask();
  }
  tree::TracingDir& dir() { return *dir_; }

  // "" or the name of the error.
  std::string write(const std::string& file, const std::string& text, tree::WriteMode mode) {
    const auto done = dir_->write(file, text, mode);
    return done ? "" : error_name(done.error().errno_value());
  }
  std::string read(const std::string& file) {
    if (!fresh_ && file.ends_with("trace_pipe")) return read_what_is_there(file);
    auto text = dir_->read(file);
    return text ? *text : "<" + error_name(text.error().errno_value()) + ">";
  }
  bool has(const std::string& file) {
    if (fresh_) return fresh_->tree().attributes(file).has_value();
    return access((root_ + "/" + file).c_str(), F_OK) == 0;
  }
  // One open(2) and one write(2): "ok", how much was taken, or what failed.
  std::string write_once(const std::string& file, const std::string& text, tree::WriteMode mode) {
    return fresh_ ? write_once_here(file, text, mode) : write_once_there(file, text, mode);
  }

 private:
  // Not waiting for what may never come.
  std::string read_what_is_there(const std::string& file) const {
    const UniqueFd opened(open((root_ + "/" + file).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!opened) return "<" + error_name(errno) + ">";
    std::string text;
    char part[4096];
    for (ssize_t got; (got = ::read(opened.get(), part, sizeof part)) > 0;)
      text.append(part, static_cast<std::size_t>(got));
    return text;
  }
  std::string write_once_here(const std::string& file, const std::string& text, tree::WriteMode mode) {
    const tree::Caller self{.tid = 1, .comm = "corpus"};
    auto handle = fresh_->tree().open(
        file, {.reads = false, .writes = true, .truncates = mode == tree::WriteMode::Replace, .caller = self});
    if (!handle) return "open:" + error_name(handle.error().errno_value());
    if (text.empty()) return "ok";
    const auto count = (*handle)->write(text, self);
    if (!count) return error_name(count.error().errno_value());
    return *count == text.size() ? "ok" : std::to_string(*count);
  }
  std::string write_once_there(const std::string& file, const std::string& text, tree::WriteMode mode) const {
    const int flags = O_WRONLY | O_CLOEXEC | (mode == tree::WriteMode::Replace ? O_TRUNC : O_APPEND);
    const UniqueFd fd(open((root_ + "/" + file).c_str(), flags));
    if (!fd) return "open:" + error_name(errno);
    if (text.empty()) return "ok";
    const ssize_t count = ::write(fd.get(), text.data(), text.size());
    if (count < 0) return error_name(errno);
    return static_cast<std::size_t>(count) == text.size() ? "ok" : std::to_string(count);
  }

  std::optional<FreshTree> fresh_;
  MountServer* server_ = nullptr;
  std::string root_;
  std::unique_ptr<tree::TracingDir> dir_;
};

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}
std::string to_world(std::string text) {
  replace_all(text, "@DIR@", kFolder);
  return text;
}
std::string from_world(std::string text) {
  replace_all(text, kFolder, "@DIR@");
  return text;
}

// The newest entry of error_log: "MESSAGE | COMMAND | CARET", and how many there are.
std::string newest_entry(const std::string& log) {
  static const std::regex entry("\\[ *[0-9.]+\\] ([^\n]*)\n  Command: ([^\n]*)\n( *\\^\n)?");
  std::string text;
  int count = 0;
  for (auto it = std::sregex_iterator(log.begin(), log.end(), entry); it != std::sregex_iterator(); ++it, ++count) {
    const int caret = (*it)[3].matched ? static_cast<int>((*it)[3].length()) - 2 - 11 : -1;
    text = fmt::format("{} | {} | {}", (*it)[1].str(), (*it)[2].str(), caret);
  }
  return count == 0 ? "" : fmt::format("{}: {}", count, from_world(text));
}
std::string newest_entry(const json& result) {
  if (!result.contains("error")) return "";
  const json& error = result.at("error");
  return fmt::format("{}: {} | {} | {}", result.at("errors").get<int>(), error.at("msg").get<std::string>(),
                     error.at("cmd").get<std::string>(),
                     error.at("caret").is_null() ? -1 : error.at("caret").get<int>());
}

std::string joined(const json& lines) {
  std::string text;
  for (const json& line : lines) text += line.get<std::string>() + "\n";
  return text;
}

struct Score {
  int seen = 0, same = 0;
  double percent() const { return seen == 0 ? 0 : 100.0 * same / seen; }
  bool count(bool agrees) {
    ++seen;
    same += agrees ? 1 : 0;
    return agrees;
  }
};

std::string_view how() { return is_mounted_run() ? "a mount" : "the tree"; }

bool is_verbose() { return std::getenv("KEVT_CORPUS_VERBOSE") != nullptr; }

void show(const json& record, std::string_view what, const std::string& kernel, const std::string& ours) {
  if (!is_verbose()) return;
  fmt::print("DIFFERS {} {}\n  kernel {:?}\n  ours   {:?}\n", what,
             record.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 300), kernel, ours);
}

void set_up(CorpusTree& tree, const json& record) {
  if (!record.contains("setup")) return;
  for (const json& step : record.at("setup"))
    tree.write(step[0].get<std::string>(), to_world(step[1].get<std::string>()), tree::WriteMode::Add);
}

// What depends on the addresses and instructions of that kernel is compared where it is known
// (corpus_definitions_test).
bool is_of_that_kernel(const json& record) {
  return record.value("kernel_specific", false) ||
         record.dump(-1, ' ', false, json::error_handler_t::replace).find("KSYM:") != std::string::npos ||
         record.at("result").dump(-1, ' ', false, json::error_handler_t::replace).find("HASHED") != std::string::npos ||
         record.dump(-1, ' ', false, json::error_handler_t::replace).find("\\x") != std::string::npos;
}

// 6.1 has no function and tracepoint probes and refuses their lines unseen; here they are looked at.
bool is_of_a_newer_kind(const json& record) {
  const std::string text = record.at("text");
  return record.at("file") == "dynamic_events" && (text.starts_with('f') || text.starts_with('t'));
}

TEST(CorpusTree, DefinitionsAnswerAsTheKernelDoes) {
  const auto folder = corpus_folder();
  if (!folder) GTEST_SKIP() << "KEVT_CORPUS does not name the corpus' folder";
  Score errors, listings, logs;
  int newer_kinds = 0;
  for (const json& record : read_corpus(*folder + "/def.jsonl.gz")) {
    if (is_of_that_kernel(record)) continue;
    CorpusTree tree;
    set_up(tree, record);
    tree.write("error_log", "", tree::WriteMode::Replace);
    const json& result = record.at("result");
    const std::string verdict = tree.write(record.at("file").get<std::string>(),
                                           to_world(record.at("text").get<std::string>()), tree::WriteMode::Add);
    const std::string listing = from_world(tree.read("dynamic_events"));
    const std::string wanted = result.contains("dynamic_events") ? joined(result.at("dynamic_events")) : "";
    if (is_of_a_newer_kind(record)) {
      ++newer_kinds;
      EXPECT_TRUE(result.at("errno") != "" && verdict != "" && listing == wanted) << record.at("text");
      continue;
    }
    if (!errors.count(verdict == result.at("errno").get_ref<const std::string&>()))
      show(record, "errno", result.at("errno"), verdict);
    if (!listings.count(listing == wanted)) show(record, "listing", wanted, listing);
    const std::string log = newest_entry(tree.read("error_log"));
    if (!logs.count(log == newest_entry(result))) show(record, "error_log", newest_entry(result), log);
  }
  fmt::print(
      "definitions through {}: errno {:.2f} %, listing {:.2f} %, error_log {:.2f} % of {}; refused in words of our "
      "own: {} of kinds that 6.1 has not\n",
      how(), errors.percent(), listings.percent(), logs.percent(), errors.seen, newer_kinds);
  EXPECT_GE(errors.percent(), 100.0);
  EXPECT_GE(listings.percent(), 100.0);
  EXPECT_GE(logs.percent(), 100.0);
  EXPECT_GT(errors.seen, 2000);
}

TEST(CorpusTree, FiltersAnswerAsTheKernelDoes) {
  const auto folder = corpus_folder();
  if (!folder) GTEST_SKIP() << "KEVT_CORPUS does not name the corpus' folder";
  Score errors, files, logs;
  int static_events = 0;
  for (const json& record : read_corpus(*folder + "/filter.jsonl.gz")) {
    const std::string file = "events/" + record.at("event").get<std::string>() + "/filter";
    CorpusTree tree;
    set_up(tree, record);
    if (!tree.has(file)) {  // one of the kernel's own events, which are there over a kernel: guest_replay
      ++static_events;
      continue;
    }
    const json& result = record.at("result");
    const std::string verdict = tree.write(file, record.at("text").get<std::string>(), tree::WriteMode::Add);
    if (!errors.count(verdict == result.at("errno").get_ref<const std::string&>()))
      show(record, "errno", result.at("errno"), verdict);
    const std::string now = tree.read(file);
    if (!files.count(now == result.at("filter").get_ref<const std::string&>()))
      show(record, "filter", result.at("filter"), now);
    const std::string log = newest_entry(tree.read("error_log"));
    if (!logs.count(log == newest_entry(result))) show(record, "error_log", newest_entry(result), log);
  }
  fmt::print(
      "filters through {}: errno {:.2f} %, file {:.2f} %, error_log {:.2f} % of {}; not compared: {} of static "
      "events\n",
      how(), errors.percent(), files.percent(), logs.percent(), errors.seen, static_events);
  EXPECT_GE(errors.percent(), 100.0);
  EXPECT_GE(files.percent(), 100.0);
  EXPECT_GE(logs.percent(), 100.0);
}

// Records of synthetic events have no stacks. The table in docs/tree.md has the reason.
bool is_refused_stack(const json& record, const std::string& verdict) {
  return record.at("event").get<std::string>().starts_with("synthetic/") && verdict == error_name(EOPNOTSUPP) &&
         record.at("text").get<std::string>().starts_with("stacktrace");
}

TEST(CorpusTree, TriggersAnswerAsTheKernelDoes) {
  const auto folder = corpus_folder();
  if (!folder) GTEST_SKIP() << "KEVT_CORPUS does not name the corpus' folder";
  Score errors, files, logs;
  int stacks = 0;
  for (const json& record : read_corpus(*folder + "/trigger.jsonl.gz")) {
    const std::string file = "events/" + record.at("event").get<std::string>() + "/trigger";
    CorpusTree tree;
    set_up(tree, record);
    tree.write("error_log", "", tree::WriteMode::Replace);
    const json& result = record.at("result");
    const std::string before = tree.read(file);
    const std::string verdict = tree.write(file, record.at("text").get<std::string>(), tree::WriteMode::Add);
    const std::string now = tree.read(file);
    const std::string log = newest_entry(tree.read("error_log"));
    if (result.at("errno") == "" && is_refused_stack(record, verdict)) {
      ++stacks;
      EXPECT_EQ(now, before) << record.at("text");
      continue;
    }
    if (!errors.count(verdict == result.at("errno").get_ref<const std::string&>()))
      show(record, "errno", result.at("errno"), verdict);
    if (!files.count(now == result.at("trigger").get_ref<const std::string&>()))
      show(record, "trigger", result.at("trigger"), now);
    if (!logs.count(log == newest_entry(result))) show(record, "error_log", newest_entry(result), log);
  }
  fmt::print("triggers through {}: errno {:.2f} %, file {:.2f} %, error_log {:.2f} % of {}\n", how(), errors.percent(),
             files.percent(), logs.percent(), errors.seen);
  fmt::print("  not compared: {} stacks of synthetic events\n", stacks);
  EXPECT_GE(errors.percent(), 100.0);
  EXPECT_GE(files.percent(), 100.0);
  EXPECT_GE(logs.percent(), 100.0);
  EXPECT_GT(errors.seen, 100);
}

// nullopt: nothing to compare.
std::optional<std::string> replay(CorpusTree& tree, const json& operation) {
  const std::string what = operation.at(0);
  const std::string file =
      operation.size() > 1 && operation.at(1).is_string() ? operation.at(1).get<std::string>() : "";
  if (what == "w" || what == "wa" || what == "wt") {
    const std::string text = to_world(operation.at(2).get<std::string>());
    return tree.write_once(file, text, what == "wt" ? tree::WriteMode::Replace : tree::WriteMode::Add);
  }
  if (what == "r" || what == "rn") return from_world(tree.read(file));
  if (what == "mkdir" || what == "rmdir") {
    const auto done = what == "mkdir" ? tree.dir().make_directory(file) : tree.dir().remove_directory(file);
    return done ? "ok" : error_name(done.error().errno_value());
  }
  return std::nullopt;
}

TEST(CorpusTree, SequencesEndAsTheKernels) {
  const auto folder = corpus_folder();
  if (!folder) GTEST_SKIP() << "KEVT_CORPUS does not name the corpus' folder";
  Score score;
  for (const char* name : {"/ops.jsonl.gz", "/e2e.jsonl.gz"})
    for (const json& record : read_corpus(*folder + name)) {
      CorpusTree tree;
      const json& results = record.at("result").at("results");
      for (std::size_t i = 0; i < results.size() && record.at("ops").at(i).at(0) != "run"; ++i) {
        const json& operation = record.at("ops").at(i);
        const auto ours = replay(tree, operation);
        if (!ours || !results.at(i).is_string()) continue;
        const std::string kernel = results.at(i);
        if (!score.count(*ours == kernel || kernel == "<open:" + ours->substr(ours->starts_with('<'))))
          show(operation, fmt::format("{} step {}", record.at("cat").get<std::string>(), i), kernel, *ours);
      }
    }
  fmt::print("sequences through {}: {} of {} operations ({:.2f} %)\n", how(), score.same, score.seen, score.percent());
  EXPECT_GE(score.percent(), 91.0);
}

}  // namespace
}  // namespace kevt::golden
