// The tree over a fake target: echo, cat and hits, for its tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "runtime-user/engine/tracing.h"
#include "runtime-user/runtime/fake/fake_runtime.h"
#include "tracefs-compat/tree/tracing_dir.h"
#include "tracefs-compat/tree/tree.h"

namespace kevt::tree {

class FakeTarget final : public engine::TracedTarget {
 public:
  FakeTarget() {
    env_.add_function({.name = "open64", .module = "libc.so.6", .address = 0x1000, .size = 0x100});
    env_.add_function({.name = "close", .module = "libc.so.6", .address = 0x2000, .size = 0x100});
  }
  std::string name() const override { return "a fake"; }
  runtime::FakeRuntime& runtime() override { return runtime_; }
  const target::TargetEnv& env() override { return env_; }
  const target::TargetEnv& known_env() const override { return env_; }
  bool is_alive() override { return true; }
  Result<void> prepare_stacks() override {
    return std::unexpected(Error("probes of a fake have no stacks", EOPNOTSUPP));
  }

 private:
  target::FixedTargetEnv env_;
  runtime::FakeRuntime runtime_;
};

class TreeTest : public testing::Test {
 protected:
  std::string cat(std::string_view path) {
    auto text = dir_->read(path);
    return text ? *text : "errno " + std::to_string(text.error().errno_value());
  }
  int errno_of(const Result<void>& done) { return done ? 0 : done.error().errno_value(); }
  int echo(std::string_view text, std::string_view path) {
    return errno_of(dir_->write(path, text, WriteMode::Replace));
  }
  int append(std::string_view text, std::string_view path) { return errno_of(dir_->write(path, text, WriteMode::Add)); }
  void hit(std::string_view name, std::uint32_t fd, std::uint32_t cpu = 0) {
    const auto* event = tracing_.events().find("kprobes", name);
    std::vector<std::uint8_t> bytes(12);
    bytes[1] = 0x10;
    std::memcpy(bytes.data() + 8, &fd, sizeof fd);
    now_ += 1000;
    target_.runtime().hit(event->id, {.bytes = bytes, .timestamp_ns = now_, .cpu = cpu, .pid = 7, .comm = "me"});
  }

  FakeTarget target_;
  engine::Tracing tracing_{{&target_}, {.cpus = 2}};
  Tree tree_{tracing_};
  std::unique_ptr<TracingDir> dir_ = tracing_dir(tree_);
  std::uint64_t now_ = 1'000'000'000;
};

}  // namespace kevt::tree
