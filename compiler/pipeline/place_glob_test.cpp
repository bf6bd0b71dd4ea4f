#include "compiler/pipeline/place_glob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/pipeline/shorthand.h"
#include "compiler/target/fixed_target.h"

namespace kevt::pipeline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Kernel : public target::FixedTargetEnv {
 public:
  bool is_running_kernel() const override { return true; }
};

template <class Env>
void fill(Env& env) {
  std::uint64_t address = 0x1000;
  for (const char* name : {"malloc", "calloc", "free", "malloc.cold", "operator*", "alloc-odd"})
    env.add_function({.name = name, .module = "libc", .address = address += 0x100, .size = 16});
  env.add_function({.name = "malloc", .module = "other", .address = 0x9000, .size = 16});
  env.add_function({.name = "mallopt", .module = "libc", .address = 0x9100, .size = 16});
  env.set_probeability(0x9100, target::Probeability::Blacklisted);
}

class PlaceGlob : public testing::Test {
 protected:
  PlaceGlob() { fill(env_); }
  std::vector<std::string> lines(std::string_view line) {
    auto made = expand_shorthand(line, env_);
    if (!made) return {"error: " + made.error().detail};
    return *made ? **made : std::vector<std::string>{"stays"};
  }
  target::FixedTargetEnv env_;
};

TEST_F(PlaceGlob, ALineForEachFunction) {
  EXPECT_THAT(lines("p libc:*alloc n=%di:u64"), ElementsAre("p libc:calloc n=%di:u64", "p libc:malloc n=%di:u64"));
  EXPECT_THAT(lines("  r16:mem\tlibc:?alloc"), ElementsAre("r16:mem libc:calloc", "r16:mem libc:malloc"));
  EXPECT_THAT(lines("p:grp/a_* libc:[mc]alloc+4 x=%si"),
              ElementsAre("p:grp/a_calloc libc:calloc+4 x=%si", "p:grp/a_malloc libc:malloc+4 x=%si"));
  EXPECT_THAT(lines("p:*_in libc:alloc*"), ElementsAre("p:alloc_odd_in libc:alloc-odd"));
  EXPECT_THAT(lines("p libc:malloc*"), ElementsAre("p libc:malloc"));  // no parts of functions
  EXPECT_THAT(lines("p libc:malloc.*"), ElementsAre("p libc:malloc.cold"));
  EXPECT_THAT(lines("f libc:fre*%return"), ElementsAre("f libc:free%return"));
}

TEST_F(PlaceGlob, AFunctionOfSeveralNamesCountsOnce) {
  for (const char* name : {"__open", "__libc_open64", "open64", "open"})
    env_.add_function({.name = name, .module = "libc", .address = 0x7000, .size = 16});
  EXPECT_THAT(lines("p libc:*open*"), ElementsAre("p libc:open"));
  EXPECT_THAT(lines("p libc:*open64"), ElementsAre("p libc:open64"));
  EXPECT_TRUE(has_place_glob("p libc:*open*"));
  EXPECT_FALSE(has_place_glob("p libc:open n=+0(%di):x8[3]"));
  EXPECT_THAT(place_glob_mistake("p libc:*open*")->detail, HasSubstr("kernels know no globs"));
  EXPECT_FALSE(place_glob_mistake("p libc:open"));
}

TEST_F(PlaceGlob, NamesOfEventsAreTheSourcesAndFit) {
  const std::string word(90, 'w');
  env_.add_function({.name = "_ZN3Foo90" + word + "Ev", .module = "libc", .address = 0xa000, .size = 16});
  env_.add_function({.name = "_ZN3Foo90" + word + "Ei", .module = "libc", .address = 0xa100, .size = 16});
  const auto names = [&](std::string_view line) {
    std::vector<std::string> all;
    for (const std::string& one : lines(line)) all.push_back(one.substr(2, one.find(' ') - 2));
    return all;
  };
  EXPECT_THAT(names("p:a_* libc:_ZN3Foo*"),
              ElementsAre("a_Foo__" + std::string(56, 'w'), "a_Foo__" + std::string(54, 'w') + "_2"));
  EXPECT_THAT(names("p:a_*_out libc:_ZN3Foo*"),
              ElementsAre("a_Foo__" + std::string(52, 'w') + "_out", "a_Foo__" + std::string(50, 'w') + "_out_2"));
  EXPECT_THAT(names("p:grp/a_* libc:_ZN3Foo*")[0], testing::StartsWith("grp/a_Foo__w"));
  // Without a name the kernel's own one is too long.
  EXPECT_THAT(names("p libc:_ZN3Foo*")[0], testing::StartsWith("p_Foo__w"));
  env_.add_function({.name = "f.1", .module = "libc", .address = 0xb000, .size = 16});
  env_.add_function({.name = "f_1", .module = "libc", .address = 0xb100, .size = 16});
  EXPECT_THAT(lines("p:* libc:f[._]1"), ElementsAre("p:f_1 libc:f.1", "p:f_1_2 libc:f_1"));
  EXPECT_THAT(lines("p libstdc++:*x"), ElementsAre(HasSubstr("a place cannot name `libstdc++`")));
}

TEST_F(PlaceGlob, WhatIsNoGlobStays) {
  for (const char* line : {"p libc:malloc", "p libc:operator*", "p:x libc:f(char*) n=%di", "p:x /usr/lib/a*:0x10",
                           "e:x sched.sched_*", "-:x", "", "p", "p:x", "s:x u64 *a", "t:x sched_*", "p:x 0x1000 a=@b*"})
    EXPECT_THAT(lines(line), ElementsAre("stays")) << line;
}

TEST_F(PlaceGlob, MistakesSayWhatIsMissing) {
  EXPECT_THAT(lines("p *alloc"),
              ElementsAre(HasSubstr("`*alloc` needs the file whose functions are meant: `libc:*alloc`")));
  EXPECT_THAT(lines("p libc:nosuch*"), ElementsAre(HasSubstr("no function that can be probed matches `nosuch*`")));
  EXPECT_THAT(lines("p libc:mallop*"), ElementsAre(HasSubstr("no function that can be probed matches")));
  EXPECT_THAT(lines("p libz:comp*"), ElementsAre(HasSubstr("`libz` is not loaded")));
  for (int i = 0; i < 10'001; ++i)
    env_.add_function({.name = "many" + std::to_string(i),
                       .module = "libc",
                       .address = 0x100000u + 16u * static_cast<unsigned>(i),
                       .size = 16});
  EXPECT_THAT(lines("p libc:many*"),
              ElementsAre(HasSubstr("`many*` matches 10001 names of functions; 10000 are the most")));
}

TEST_F(PlaceGlob, AKernelNeedsNoFile) {
  Kernel kernel;
  kernel.add_function({.name = "vfs_read", .module = "", .address = 0x1000, .size = 16});
  kernel.add_function({.name = "vfs_write", .module = "", .address = 0x2000, .size = 16});
  kernel.add_function({.name = "vfs_open", .module = "", .address = 0x3000, .size = 16});
  kernel.add_function({.name = "vfs_open", .module = "", .address = 0x4000, .size = 16});  // which of them?
  const auto made = expand_place_glob("p:v vfs_* f=$arg1", kernel);
  ASSERT_TRUE(made && *made);
  EXPECT_THAT(**made, ElementsAre("p:v vfs_read f=$arg1", "p:v vfs_write f=$arg1"));
  target::UncheckedTargetEnv unknown;
  const auto unchecked = expand_place_glob("p:v vfs_*", unknown);
  ASSERT_TRUE(unchecked);
  EXPECT_FALSE(*unchecked);
}

}  // namespace
}  // namespace kevt::pipeline
