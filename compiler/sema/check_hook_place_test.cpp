#include <gtest/gtest.h>

#include "compiler/sema/sema.h"
#include "compiler/target/fixed_target.h"
#include "compiler/target/kernel/kernel_env.h"
#include "compiler/target/kernel/kernel_of_types.h"
#include "grammar/parse.h"

namespace kevt::sema {
namespace {

using diag::Kind;

constexpr const char* kKallsyms =
    "ffffffff81000000 T _stext\n"
    "ffffffff81000100 T vfs_read\n"
    "ffffffff81000180 t twice\n"
    "ffffffff810001a0 t twice\n"
    "ffffffff810001c0 T forbidden\n"
    "ffffffff810001e0 T __probestub_switch\n"
    "ffffffff81000200 T _etext\n"
    "ffffffff81400000 D jiffies\n"
    "ffffffff81400008 D __tracepoint_switch\n"
    "ffffffff81400018 B _end\n";

class HookPlaces : public testing::Test {
 protected:
  HookPlaces()
      : env_(*target::KernelEnv::of_facts(
            {.kallsyms = kKallsyms, .blacklist = "0xffffffff810001c0-0xffffffff810001e0\tx\n"})) {}

  // Where it stands; 0: refused, and first_ is why.
  std::uint64_t place(std::string_view line) {
    diag::Sink sink;
    auto statement = grammar::parse_line_leniently(line, grammar::EventsFile::Dynamic, sink);
    if (!statement) return 0;
    const auto checked =
        check_definition(std::get<model::Definition>(std::move(*statement)), env_, target::FixedCatalog(), sink);
    if (!sink.empty()) first_ = sink.diagnostics().front().kind;
    return checked ? checked->place_address : 0;
  }
  Kind why(std::string_view line) {
    EXPECT_EQ(place(line), 0u) << line;
    return first_;
  }

  target::KernelEnv env_;
  Kind first_ = Kind::FilterNone;
};

TEST_F(HookPlaces, AreThoseOfTheKernel) {
  EXPECT_EQ(place("f vfs_read"), 0xffffffff81000100u);
  EXPECT_EQ(place("f vfs_read%return $retval"), 0xffffffff81000100u);
  EXPECT_EQ(place("t switch $arg1 $comm"), 0xffffffff810001e0u);
  EXPECT_EQ(place("w rw@jiffies+4:4 $value"), 0xffffffff81400004u);
  EXPECT_EQ(place("w w@0xffffffff81400008:8"), 0xffffffff81400008u);
}

TEST_F(HookPlaces, AreRefusedWithTheKernelsWords) {
  EXPECT_EQ(why("f vfs_raed"), Kind::BadProbeAddr);
  EXPECT_EQ(why("f vfs_*"), Kind::BadProbeAddr) << "a pattern is no function";
  EXPECT_EQ(why("f absent:vfs_read"), Kind::BadProbeAddr);
  EXPECT_EQ(why("f twice"), Kind::NonUniqSymbol);
  EXPECT_EQ(why("f forbidden"), Kind::FailRegProbe);
  EXPECT_EQ(why("t absent"), Kind::NoTracepoint);
  EXPECT_EQ(why("w w@absent"), Kind::WatchBadAddress);
  EXPECT_EQ(why("w r@jiffies"), Kind::FailRegProbe) << "no CPU watches reads alone";
  EXPECT_EQ(why("w w@jiffies+2:4"), Kind::FailRegProbe) << "not aligned";
  EXPECT_EQ(why("w w@0x1000:4"), Kind::FailRegProbe) << "not the kernel's";
}

// A kernel that is somewhere else: its symbols are looked for where it runs.
TEST(HookPlacesElsewhere, AreNotJudged) {
  const target::KernelOfTypes kernel("", 64);
  for (const char* line : {"f absent", "t absent $arg1", "w w@absent:4 $value"}) {
    diag::Sink sink;
    auto statement = grammar::parse_line_leniently(line, grammar::EventsFile::Dynamic, sink);
    ASSERT_TRUE(statement) << line;
    const auto checked =
        check_definition(std::get<model::Definition>(std::move(*statement)), kernel, target::FixedCatalog(), sink);
    EXPECT_TRUE(checked && sink.empty()) << line;
  }
}

}  // namespace
}  // namespace kevt::sema
