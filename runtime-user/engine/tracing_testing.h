// For tests of the engine: a target that has no process.
#pragma once

#include <unistd.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "compiler/target/fixed_target.h"
#include "runtime-user/engine/text/trace_text.h"
#include "runtime-user/engine/traced_target.h"
#include "runtime-user/engine/tracing.h"
#include "runtime-user/runtime/fake/fake_runtime.h"

namespace kevt::engine {

class FakeTarget final : public TracedTarget {
 public:
  struct Places {
    std::uint64_t open64 = 0x1000, close = 0x2000;
  };
  // `words`: of its runtime, for triggers at the hit.
  explicit FakeTarget(std::size_t words = 0) : FakeTarget(words, Places{}) {}
  FakeTarget(std::size_t words, Places places) {
    runtime_.words.resize(words);
    add_function("open64", places.open64);
    add_function("close", places.close);
  }
  void add_function(const char* name, std::uint64_t address) {
    env_.add_function({.name = name, .module = "libc.so.6", .address = address, .size = 0x100});
  }
  // While it is there, "comes_and_goes" is a function.
  void load() {
    unloaded_ = env_;
    ++version_;
    add_function("comes_and_goes", 0x3000);
  }
  void unload() {
    env_ = unloaded_;
    ++version_;
  }
  std::uint64_t env_version() const override { return version_; }
  std::string name() const override { return "a fake"; }
  std::int32_t pid() const override { return process; }
  std::int32_t process = 0;  // 0: it is no process
  runtime::FakeRuntime& runtime() override { return runtime_; }
  const target::TargetEnv& env() override { return env_; }
  const target::TargetEnv& known_env() const override { return env_; }
  bool is_alive() override { return alive; }
  bool alive = true;
  Result<void> prepare_stacks() override {
    if (has_stacks) return {};
    return std::unexpected(Error("probes of " + name() + " have no stacks", EOPNOTSUPP));
  }
  bool has_stacks = false;
  // From now on it is the running kernel, or a program beside it: functions without a file are the kernel's.
  void share(bool is_kernel) {
    env_.is_kernel = is_kernel;
    shares_ = true;
  }
  bool takes(std::string_view definition) const override {
    return !shares_ || definition.starts_with("s:") ||
           (definition.find("libc.so.6:") == std::string_view::npos) == env_.is_kernel;
  }

 private:
  struct Env : target::FixedTargetEnv {
    bool is_running_kernel() const override { return is_kernel; }
    bool is_kernel = false;
  };
  Env env_, unloaded_;
  bool shares_ = false;
  std::uint64_t version_ = 0;
  runtime::FakeRuntime runtime_;
};

// What the trace buffer of the top instance holds, as lines.
inline std::string lines_of(Tracing& tracing) {
  TraceText made(tracing);
  std::string out;
  TraceBuffer::Cursor cursor;
  while (const auto entry = tracing.top().buffer.next(cursor, std::nullopt)) made.append(tracing.top(), *entry, out);
  return out;
}

// Records of `p:op open64 fd=%di:u32`: __probe_ip and fd.
inline std::vector<std::uint8_t> payload(std::uint32_t fd) {
  std::vector<std::uint8_t> bytes(12);
  bytes[1] = 0x10;
  std::memcpy(bytes.data() + 8, &fd, sizeof fd);
  return bytes;
}

}  // namespace kevt::engine
