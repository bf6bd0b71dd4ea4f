// The hammer passes number = turn << 8 | thread and returns 3 * number + 1 (touch) or number
// (touch_short): from a record's value alone follow the thread that must have made it and the text.
#include "tests/process/traced_hammer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "runtime-user/engine/events/draft.h"

namespace kevt::tests {

namespace {

constexpr std::size_t kValueOfEntry = 16;   // behind the common bytes and __probe_ip
constexpr std::size_t kValueOfReturn = 24;  // behind __probe_func and __probe_ret_ip
constexpr std::array<std::string_view, 4> kTexts = {"anvil", "a", "", "a text of some length"};  // of hammer.c

template <class T>
T get(std::span<const std::uint8_t> bytes, std::size_t at) {
  T value = 0;
  if (at + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::string_view text_at(std::span<const std::uint8_t> bytes, std::size_t word_at) {
  const auto word = get<std::uint32_t>(bytes, word_at);
  const std::size_t offset = word & 0xffff, length = word >> 16;
  if (length == 0 || offset + length > bytes.size() || bytes[offset + length - 1] != 0) return "(fault)";
  return {reinterpret_cast<const char*>(bytes.data()) + offset, length - 1};
}

model::CompiledBatch compile(const std::vector<std::string>& definitions, const target::TargetEnv& env) {
  engine::Draft draft;
  std::vector<engine::Problem> problems;
  draft.check(definitions, {}, env, pipeline::Forms::Runnable, problems);
  EXPECT_TRUE(problems.empty()) << problems.size() << " problems";
  std::vector<pipeline::CheckedEvent> events;
  std::vector<std::vector<std::optional<model::FilterExpr>>> sinks;
  for (engine::Draft::Entry& entry : draft.entries()) {
    events.push_back(std::move(entry.event));
    sinks.push_back({std::nullopt});
  }
  auto compiled = pipeline::compile_events(events, sinks, env, pipeline::Artifacts::CodeOnly);
  if (!compiled) {
    ADD_FAILURE() << compiled.error().message();
    return {};
  }
  return compiled->batch;
}

hammer_page* make_page(std::string& path) {
  char name[] = "/tmp/kevt-hammer-XXXXXX";
  const int file = mkstemp(name);
  path = name;
  if (file < 0 || ftruncate(file, sizeof(hammer_page)) < 0) return nullptr;
  void* at = mmap(nullptr, sizeof(hammer_page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return at == MAP_FAILED ? nullptr : static_cast<hammer_page*>(at);
}

}  // namespace

std::unique_ptr<TracedHammer> TracedHammer::launch(std::uint64_t limit) {
  std::unique_ptr<TracedHammer> made(new TracedHammer);
  made->page_ = make_page(made->file_);
  if (!made->page_) return nullptr;
  made->page_->limit = limit;
  auto runtime = inproc::InprocRuntime::launch({KEVT_HAMMER, made->file_}, {.ring_bytes = 256u << 10, .rows = 4096});
  if (!runtime) {
    ADD_FAILURE() << runtime.error().message();
    return nullptr;
  }
  made->runtime_ = std::move(*runtime);
  auto env = target::ProcessEnv::of_process(made->runtime_->pid(), {});
  if (!env) {
    ADD_FAILURE() << env.error().message();
    return nullptr;
  }
  made->env_ = std::make_unique<target::ProcessEnv>(std::move(*env));
  made->batch_ = compile({"p:t hammer:touch n=%di:s64 s=+0(%si):string", "r:tr hammer:touch v=$retval:s64",
                          "p:s hammer:touch_short n=%di:s64 s=+0(%si):string", "r:sr hammer:touch_short v=$retval:s64"},
                         *made->env_);
  return made->batch_.events.size() == 4 ? std::move(made) : nullptr;
}

TracedHammer::~TracedHammer() {
  if (page_) stop();
  runtime_.reset();
  if (page_) munmap(page_, sizeof *page_);
  unlink(file_.c_str());
}

void TracedHammer::install_four() {
  const std::array<std::uint32_t, 4> ids = {next_id_, next_id_ + 1, next_id_ + 2, next_id_ + 3};
  next_id_ += 4;
  auto installed = runtime_->install(batch_, ids);
  ASSERT_TRUE(installed.has_value()) << installed.error().message();
  for (std::size_t i = 0; i < 4; ++i) {
    by_probe_[(*installed)[i]] = events_.size();
    events_.push_back({.probe = (*installed)[i], .is_return = i % 2 == 1, .is_short = i >= 2});
  }
}

void TracedHammer::check(HammerEvent& event, const runtime::Record& record) {
  ++event.drained;
  const auto value = get<std::int64_t>(record.bytes, event.is_return ? kValueOfReturn : kValueOfEntry);
  const std::int64_t number = event.is_return && !event.is_short ? (value - 1) / 3 : value;
  const auto thread = static_cast<std::size_t>(number & 0xff);
  const auto turn = static_cast<std::uint64_t>(number) >> 8;
  bool right = thread < HAMMER_THREADS && page_->tids[thread] == get<std::uint32_t>(record.bytes, 4);
  right = right && turn <= page_->calls[thread] && (event.is_short || !event.is_return || value == 3 * number + 1);
  if (!event.is_return) right = right && text_at(record.bytes, kValueOfEntry + 8) == kTexts[turn & 3];
  event.bad += !right;
}

void TracedHammer::drain() {
  runtime_->drain([this](const runtime::Record& record) { check(events_[by_probe_.at(record.event)], record); });
}

void TracedHammer::stop() { __atomic_store_n(&page_->stop, 1u, __ATOMIC_RELEASE); }

int TracedHammer::wait_for_end() {
  const timespec pause = {0, 500'000};
  while (!runtime_->poll_exit()) {
    drain();
    nanosleep(&pause, nullptr);
  }
  runtime_->settle();
  drain();
  return *runtime_->poll_exit();
}

std::uint64_t TracedHammer::calls() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t& calls : page_->calls) sum += __atomic_load_n(&calls, __ATOMIC_ACQUIRE);
  return sum;
}

std::vector<std::string> TracedHammer::changed_text() const {
  std::vector<std::string> changed;
  const std::string proc = "/proc/" + std::to_string(runtime_->pid());
  std::ifstream maps(proc + "/maps"), memory(proc + "/mem", std::ios::binary);
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t begin = 0, end = 0, offset = 0;
    char rights[5] = {}, path[512] = {};
    const int found = std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %511s", &begin, &end,
                                  rights, &offset, path);
    if (found < 5 || path[0] != '/' || rights[2] != 'x') continue;
    std::ifstream file(path, std::ios::binary);
    std::vector<char> original(end - begin), now(end - begin);
    file.seekg(static_cast<std::streamoff>(offset));
    file.read(original.data(), static_cast<std::streamsize>(original.size()));
    const auto length = static_cast<std::size_t>(file.gcount());
    memory.seekg(static_cast<std::streamoff>(begin));
    memory.read(now.data(), static_cast<std::streamsize>(now.size()));
    if (length == 0) continue;  // not a file that can be read again, such as the agent's own memory
    if (!memory || std::memcmp(original.data(), now.data(), length) != 0) changed.push_back(path);
    memory.clear();
  }
  return changed;
}

}  // namespace kevt::tests
