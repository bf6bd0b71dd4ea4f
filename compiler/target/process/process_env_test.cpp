#include "compiler/target/process/process_env.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "compiler/target/near_misses.h"

extern "C" {
__attribute__((noinline, used)) int kevt_env_probe_me(int x) { return x * 5 + 1; }
int kevt_env_some_data = 7;
thread_local int kevt_env_thread_local = 8;
char kevt_env_zeroes[1 << 16];  // .bss: mapped without a file
// libz defines this too, so the name is not unique once both are loaded. libelf, which unpacks with libz, needs it not.
__attribute__((noinline, used)) int deflateTune(int x) { return x; }
}

namespace kevt::target {
namespace {

const char* const kLibz = "/lib/x86_64-linux-gnu/libz.so.1";

class ProcessEnvTest : public testing::Test {
 protected:
  ProcessEnvTest() {
    calls_ = 0;
    handle_ = ::dlopen(kLibz, RTLD_NOW | RTLD_LOCAL);
    env_.emplace(*ProcessEnv::of_process(
        ::getpid(), {.resolve_ifuncs = call_resolvers, .blacklisted = [](RemoteAddr a) { return a.value == 0x1234; }}));
  }
  ~ProcessEnvTest() override { ::dlclose(handle_); }

  // This process is its own target.
  static Result<std::vector<RemoteAddr>> call_resolvers(std::span<const RemoteAddr> resolvers) {
    ++calls_;
    std::vector<RemoteAddr> chosen;
    for (const RemoteAddr resolver : resolvers)
      chosen.push_back({reinterpret_cast<std::uintptr_t (*)()>(resolver.value)()});
    return chosen;
  }
  static inline unsigned calls_ = 0;
  // libc's own definition: sanitizers put theirs before it.
  static std::uint64_t address_of(const char* name) {
    void* const libc = ::dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    return reinterpret_cast<std::uintptr_t>(::dlsym(libc, name));
  }

  // Maps name the file behind the symbolic link: libz.so.1.2.13.
  static std::string libz_name() {
    char real[4096];
    const std::string path = ::realpath(kLibz, real) ? real : kLibz;
    return path.substr(path.rfind('/') + 1);
  }

  void* handle_ = nullptr;
  std::optional<ProcessEnv> env_;
};

TEST_F(ProcessEnvTest, FindsFunctionsWithAndWithoutModule) {
  for (const char* module : {"libc", "libc.so.6", "/lib/x86_64-linux-gnu/libc.so.6"}) {
    const auto found = env_->find_function(module, "getppid");
    ASSERT_TRUE(found) << module;
    EXPECT_EQ(found->address, address_of("getppid"));
    EXPECT_EQ(found->module, "libc.so.6");
    EXPECT_GT(found->size, 0u);
  }
  const auto own = env_->find_function(std::nullopt, "kevt_env_probe_me");
  ASSERT_TRUE(own);
  EXPECT_EQ(own->address, reinterpret_cast<std::uintptr_t>(&kevt_env_probe_me));
  EXPECT_EQ(own->module, "");
}

TEST_F(ProcessEnvTest, FailuresSayWhatElseThereIs) {
  const auto twice = env_->find_function(std::nullopt, "deflateTune");
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().failure, LookupFailure::NotUnique);
  EXPECT_THAT(twice.error().candidates, testing::Contains(libz_name() + ":deflateTune"));
  EXPECT_EQ(twice.error().candidates.size(), 2u);
  EXPECT_TRUE(env_->find_function("libz", "deflateTune"));
  EXPECT_TRUE(env_->find_function("libz.so.1", "deflateTune"));  // the soname
  const auto typo = env_->find_function("libz", "deflateTne");
  ASSERT_FALSE(typo);
  EXPECT_EQ(typo.error().failure, LookupFailure::NotFound);
  ASSERT_FALSE(typo.error().candidates.empty());
  EXPECT_EQ(typo.error().candidates.front(), libz_name() + ":deflateTune");
  EXPECT_LE(typo.error().candidates.size(), 5u);
  EXPECT_EQ(env_->find_function("libnothere", "x").error().failure, LookupFailure::ModuleMissing);
}

TEST_F(ProcessEnvTest, ExpectedIndirectFunctionsAreResolvedTogether) {
  const FunctionName names[] = {{"libc.so.6", "strlen"}, {"libc.so.6", "memchr"}, {"libc.so.6", "strlen"},
                                {"libc.so.6", "open"},   {"nowhere", "open"},     {"libc.so.6", "no_such_function"}};
  env_->expect_functions(names);
  EXPECT_EQ(calls_, 1u);
  for (const char* name : {"strlen", "memchr"})
    EXPECT_EQ(env_->find_function("libc.so.6", name)->address, address_of(name));
  EXPECT_EQ(calls_, 1u);
}

TEST_F(ProcessEnvTest, IndirectFunctionsAreWhatTheResolverChooses) {
  const auto found = env_->find_function("libc", "strlen");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->address, address_of("strlen"));
  EXPECT_EQ(found->name, "strlen");
  EXPECT_GT(found->size, 0u);
  const auto blind = ProcessEnv::of_process(::getpid(), {});
  EXPECT_EQ(blind->find_function("libc", "strlen").error().failure, LookupFailure::NotChecked);
}

TEST_F(ProcessEnvTest, SymbolizesWithTheModule) {
  const auto libc = env_->symbolize(address_of("getppid") + 2);
  ASSERT_TRUE(libc);
  EXPECT_EQ(libc->name, "getppid");
  EXPECT_EQ(libc->module, "libc.so.6");
  EXPECT_EQ(libc->address, address_of("getppid"));
  const auto own = env_->symbolize(reinterpret_cast<std::uintptr_t>(&kevt_env_probe_me) + 1);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->name, "kevt_env_probe_me");
  EXPECT_EQ(own->module, "");
  EXPECT_EQ(env_->symbolize(reinterpret_cast<std::uintptr_t>(kevt_env_zeroes) + 0xf000)->name, "kevt_env_zeroes");
  EXPECT_FALSE(env_->symbolize(16));
}

TEST_F(ProcessEnvTest, Data) {
  const auto own = env_->find_data("kevt_env_some_data");
  ASSERT_TRUE(own);
  EXPECT_EQ(own->address, reinterpret_cast<std::uintptr_t>(&kevt_env_some_data));
  EXPECT_EQ(own->size, sizeof(int));
  EXPECT_TRUE(env_->find_data("libc:environ"));
  EXPECT_FALSE(env_->find_data("getppid"));
}

// The thread that asks finds its own copies there.
TEST_F(ProcessEnvTest, ThreadLocalDataHasOnePlaceForAllThreads) {
  const auto own = env_->find_data("kevt_env_thread_local");
  ASSERT_TRUE(own && own->thread_local_place);
  EXPECT_EQ(own->size, sizeof(int));
  const auto here = reinterpret_cast<std::intptr_t>(__builtin_thread_pointer());
  EXPECT_TRUE(own->thread_local_place->is_static);
  EXPECT_EQ(here + own->thread_local_place->offset, reinterpret_cast<std::intptr_t>(&kevt_env_thread_local));
  const auto error_number = env_->find_data("libc:errno");
  ASSERT_TRUE(error_number && error_number->thread_local_place) << error_number.error().why;
  EXPECT_TRUE(error_number->thread_local_place->is_static);
  EXPECT_EQ(here + error_number->thread_local_place->offset, reinterpret_cast<std::intptr_t>(&errno));
  const auto files = ProcessEnv::of_files({"/lib/x86_64-linux-gnu/libc.so.6"}, {});
  ASSERT_TRUE(files);
  EXPECT_EQ(files->find_data("errno").error().failure, LookupFailure::NotChecked);
}

TEST(ThreadLocalWord, SaysWhereItIsOrNothing) {
  using model::thread_local_word;
  EXPECT_EQ(thread_local_word({.is_static = true, .offset = -8}, 4), static_cast<std::uint64_t>(-4));
  EXPECT_EQ(thread_local_word({.is_static = true, .offset = -8}, 8), std::nullopt) << "behind the block";
  EXPECT_EQ(thread_local_word({.is_static = false, .offset = 16, .module = 3}, 4), 3ull << 32 | 20);
  EXPECT_EQ(thread_local_word({.is_static = false, .offset = 16, .module = 3}, -17), std::nullopt);
  EXPECT_EQ(thread_local_word({.is_static = false, .offset = 16, .module = 0}, 0), std::nullopt);
  EXPECT_EQ(thread_local_word({.is_static = true, .offset = INT64_MIN}, -1), std::nullopt);
}

TEST_F(ProcessEnvTest, FileOffsetsBecomeAddresses) {
  const auto image = ElfImage::open(kLibz);
  const ElfSymbol symbol = image->find_functions("deflateTune")[0];
  const std::uint64_t offset = image->file_offset(symbol.address)->value;
  char real[4096];
  ASSERT_NE(::realpath(kLibz, real), nullptr);
  for (const char* path : {kLibz, static_cast<const char*>(real)}) {
    const auto found = env_->find_file_offset(path, offset);
    ASSERT_TRUE(found) << path;
    EXPECT_EQ(*found, env_->find_function("libz", "deflateTune")->address);
  }
  EXPECT_FALSE(env_->find_file_offset("/etc/passwd", 0));
  EXPECT_FALSE(env_->find_file_offset(kLibz, ~std::uint64_t{0}));
}

TEST_F(ProcessEnvTest, Probeability) {
  const std::uint64_t start = reinterpret_cast<std::uintptr_t>(&kevt_env_probe_me);
  EXPECT_EQ(env_->probeability(start), Probeability::Ok);
  EXPECT_EQ(env_->probeability(0x1234), Probeability::Blacklisted);
  EXPECT_EQ(env_->probeability(reinterpret_cast<std::uintptr_t>(&kevt_env_some_data)), Probeability::NotExecutable);
  const auto* text = reinterpret_cast<const std::uint8_t*>(start);
  unsigned inside = 0;  // `push %rbp; mov %rsp,%rbp` and the like: some byte is no boundary
  for (unsigned i = 1; i < 12; ++i) inside += env_->probeability(start + i) == Probeability::NotInstructionBoundary;
  EXPECT_GT(inside, 2u) << int{text[0]};
  EXPECT_EQ(env_->probeability(8), Probeability::NotExecutable);
}

// The agent's symbols must not make the target's ambiguous.
TEST_F(ProcessEnvTest, BlacklistedFilesAreLeftOut) {
  std::vector<RemoteAddr> code_of_libz;
  for (const LoadedObject& object : loaded_objects(*read_maps(::getpid()))) {
    if (!object.path.ends_with(libz_name())) continue;
    for (const Mapping& mapping : object.ranges) code_of_libz.push_back(mapping.start);
  }
  const auto env = ProcessEnv::of_process(::getpid(), {.blacklisted = [&](RemoteAddr address) {
                                            return std::ranges::find(code_of_libz, address) != code_of_libz.end();
                                          }});
  EXPECT_EQ(env->find_function("libz", "inflate").error().failure, LookupFailure::ModuleMissing);
  EXPECT_TRUE(env->find_function(std::nullopt, "deflateTune"));
}

// One library instead of another leaves as many as before.
TEST_F(ProcessEnvTest, TellsWhetherOtherFilesAreMapped) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "kevt_env_libraries";
  std::filesystem::create_directories(folder);
  const auto change = [&](void* close, const char* open) -> void* {
    if (close) ::dlclose(close);
    void* const opened = open ? ::dlopen((folder / open).c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    EXPECT_EQ(opened != nullptr, open != nullptr);
    EXPECT_EQ(*env_->refresh(), true);
    EXPECT_EQ(*env_->refresh(), false);
    return opened;
  };
  for (const char* name : {"libone.so", "libtwo.so"})
    std::filesystem::copy_file(kLibz, folder / name, std::filesystem::copy_options::overwrite_existing);
  void* const one = change(nullptr, "libone.so");
  EXPECT_TRUE(env_->find_function("libone", "inflate"));
  void* const two = change(one, "libtwo.so");
  EXPECT_FALSE(env_->find_function("libone", "inflate"));
  EXPECT_TRUE(env_->find_function("libtwo", "inflate"));
  change(two, nullptr);
  std::filesystem::remove_all(folder);
}

TEST_F(ProcessEnvTest, Files) {
  EXPECT_EQ(env_->file_status(kLibz), FileStatus::Regular);
  EXPECT_EQ(env_->file_status("/"), FileStatus::NotRegular);
  EXPECT_EQ(env_->file_status("/no/such"), FileStatus::Missing);
}

TEST(ProcessEnvOfFiles, AddressesAreImageAddresses) {
  const auto env = ProcessEnv::of_files({kLibz}, {});
  ASSERT_TRUE(env) << env.error().message();
  const auto image = ElfImage::open(kLibz);
  EXPECT_EQ(env->find_function("libz", "inflate")->address, image->find_functions("inflate")[0].address.value);
  EXPECT_EQ(env->symbolize(image->find_functions("inflate")[0].address.value + 4)->module, "libz.so.1");
  EXPECT_FALSE(ProcessEnv::of_files({"/etc/passwd"}, {}));
}

TEST(NearMisses, Distance) {
  EXPECT_EQ(edit_distance("open", "open", 2), 0u);
  EXPECT_EQ(edit_distance("opne", "open", 2), 1u);  // a swap is one edit
  EXPECT_EQ(edit_distance("opn", "open", 2), 1u);
  EXPECT_EQ(edit_distance("opennat", "openat", 2), 1u);
  EXPECT_EQ(edit_distance("kitten", "sitting", 3), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting", 2), 3u);
  EXPECT_EQ(edit_distance("", "abc", 2), 3u);
}

TEST(NearMisses, ClosestFirstAndAtMostFive) {
  NearMisses misses("write_page");
  for (const char* name : {"write_pages", "write_pagesX", "writepage", "read_page", "write_rage", "write_p", "w",
                           "write_paeg", "write_cage", "write_page2", "write_pageZ"}) {
    misses.consider(name, "m");
  }
  const auto best = misses.best();
  ASSERT_EQ(best.size(), 5u);
  EXPECT_THAT(best, testing::Each(testing::StartsWith("m:write")));
  EXPECT_THAT(best, testing::Not(testing::Contains("m:write_pagesX")));
}

}  // namespace
}  // namespace kevt::target
