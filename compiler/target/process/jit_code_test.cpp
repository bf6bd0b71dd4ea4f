#include "compiler/target/process/jit_code.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "common/page.h"
#include "compiler/target/process/process_env.h"

namespace kevt::target {
namespace {

// Code of this process, and the map that tells of it.
class JitCodeTest : public testing::Test {
 protected:
  JitCodeTest()
      : code_(static_cast<std::uint8_t*>(
            ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    std::fill_n(code_, kBytes, std::uint8_t{0x90});
  }
  ~JitCodeTest() override {
    ::munmap(code_, kBytes);
    std::filesystem::remove(path_);
  }
  void tell(const std::string& text) { std::ofstream(path_, std::ios::app) << text; }
  std::uint64_t at(std::size_t offset) const { return reinterpret_cast<std::uint64_t>(code_) + offset; }
  std::string line(std::size_t offset, const std::string& name) const {
    return fmt::format("{:x} 20 {}\n", at(offset), name);
  }
  std::optional<JitCode> read(const TextRestorer& restore = {}) {
    auto code = read_jit_code(::getpid(), *read_maps(::getpid()), restore);
    EXPECT_TRUE(code) << code.error().message();
    return code ? std::move(*code) : std::nullopt;
  }

  static constexpr std::size_t kBytes = 64 * kPage;
  std::uint8_t* code_;
  std::string path_ = fmt::format("/tmp/perf-{}.map", ::getpid());
};

TEST_F(JitCodeTest, HasFunctionsWithTheirNamesAndBytes) {
  EXPECT_FALSE(read());
  tell(line(0x100, "plain") + line(0x2000, "LazyCompile:*fib /a.js:1:1") + line(20 * kPage, "far"));
  code_[0x2003] = 0xc3;
  const auto code = read();
  ASSERT_TRUE(code);
  EXPECT_TRUE(code->image.is_jit());
  for (const auto& [name, offset] :
       std::vector<std::pair<std::string, std::size_t>>{{"plain", 0x100}, {"fib", 0x2000}, {"far", 20 * kPage}}) {
    const auto found = code->image.find_functions(name);
    ASSERT_EQ(found.size(), 1u) << name;
    EXPECT_EQ(found.front().address.value, at(offset)) << name;
    EXPECT_EQ(found.front().size, 0x20u);
  }
  EXPECT_EQ(code->image.bytes_at({at(0x2000)}, 5)[3], 0xc3);
  EXPECT_TRUE(code->image.is_executable({at(0x2000)}));
  EXPECT_FALSE(code->image.is_executable({at(40 * kPage)}));  // no function lies there
  const auto function = code->image.function_containing({at(0x2005)});
  ASSERT_TRUE(function);
  EXPECT_EQ(function->start.value, at(0x2000));
}

TEST_F(JitCodeTest, TheNewestCodeHasTheName) {
  tell(line(0, "LazyCompile:~fib /a.js:1:1") + line(0x100, "LazyCompile:*fib /a.js:1:1"));
  tell(line(0x200, "LazyCompile:~other /a.js:2:1"));
  const auto code = read();
  ASSERT_TRUE(code);
  const auto found = code->image.find_functions("fib");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front().address.value, at(0x100));
  const auto older = code->image.symbol_covering({at(0x10)});
  ASSERT_TRUE(older);
  EXPECT_EQ(older->name, "LazyCompile:~fib /a.js:1:1");
  const auto function = jit_function_at(code->image, {at(0x105)});
  ASSERT_TRUE(function);
  EXPECT_EQ(function->start.value, at(0x100));
  EXPECT_EQ(function->identity, "fib /a.js:1:1");
  EXPECT_THAT(jit_versions(code->image, function->identity),
              testing::ElementsAre(ImageAddr{at(0)}, ImageAddr{at(0x100)}));
  tell(line(0x300, "LazyCompile:~fib /b.js:1:1"));  // another function of this name
  const auto both = read();
  ASSERT_TRUE(both);
  EXPECT_EQ(both->image.find_functions("fib").size(), 2u);
}

TEST_F(JitCodeTest, OnlyCodeWithoutAFileIsTaken) {
  const auto libc = reinterpret_cast<std::uint64_t>(&::getpid);
  tell(fmt::format("{:x} 20 of_a_file\n1000 20 nowhere\n{:x} 100000000 too_long\n", libc, at(0)));
  EXPECT_FALSE(read());
  ASSERT_EQ(::mprotect(code_, kBytes, PROT_READ | PROT_WRITE), 0);
  tell(line(0, "not_executable"));
  EXPECT_FALSE(read());
}

TEST_F(JitCodeTest, TextOfATracerIsPutBack) {
  tell(line(0, "plain"));
  code_[0] = 0xcc;
  const auto code = read([&](RemoteAddr start, std::span<std::uint8_t> text) {
    EXPECT_EQ(start.value, at(0));
    text[0] = 0x55;
  });
  ASSERT_TRUE(code);
  EXPECT_EQ(code->image.bytes_at({at(0)}, 1)[0], 0x55);
}

TEST_F(JitCodeTest, AProcessHasItAsAModule) {
  auto env = ProcessEnv::of_process(::getpid(), {});
  ASSERT_TRUE(env);
  EXPECT_EQ(env->find_function("jit", "fib").error().failure, LookupFailure::ModuleMissing);
  EXPECT_TRUE(env->may_be_loaded("jit"));
  tell(line(0x40, "py::fib:/a.py"));
  EXPECT_EQ(*env->refresh(), true);
  EXPECT_EQ(*env->refresh(), false);
  const auto fib = env->find_function("jit", "fib");
  ASSERT_TRUE(fib);
  EXPECT_EQ(fib->address, at(0x40));
  EXPECT_EQ(fib->module, "jit");
  EXPECT_EQ(env->probeability(fib->address), Probeability::Ok);
  EXPECT_EQ(env->probeability(fib->address + 0x1000), Probeability::NotExecutable);
  EXPECT_THAT(env->functions_matching("jit", "f*"), testing::ElementsAre("fib"));
  EXPECT_EQ(env->symbolize(at(0x44))->name, "fib");
  EXPECT_EQ(env->find_function("jit", "later").error().failure, LookupFailure::ModuleMissing);
  EXPECT_EQ(env->function_types("jit", "fib").error().why, "a JIT compiler leaves no debug information");
}

}  // namespace
}  // namespace kevt::target
