#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "compiler/sema/sema.h"
#include "compiler/target/fixed_target.h"
#include "grammar/parse.h"

namespace kevt::sema {
namespace {

using diag::Kind;

class DefinitionSema : public testing::Test {
 protected:
  DefinitionSema() {
    env_.add_function({.name = "vfs_read", .module = "", .address = 0x1000, .size = 0x100});
    env_.add_function({.name = "openat", .module = "libc", .address = 0x5000, .size = 0x40});
    env_.add_data({.name = "jiffies", .module = "", .address = 0x9000, .size = 8});
    env_.add_file("/bin/sh", target::FileStatus::Regular);
    env_.map_file("/bin/sh", 0x400000);
  }

  std::optional<CheckedDefinition> check(std::string_view line) {
    sink_ = {};
    auto statement = grammar::parse_line_leniently(line, grammar::EventsFile::Dynamic, sink_, request_.dialect);
    if (!statement) return std::nullopt;
    return check_definition(std::get<model::Definition>(std::move(*statement)), env_, catalog_, sink_, request_);
  }

  std::vector<Kind> mistakes(std::string_view line) {
    EXPECT_FALSE(check(line)) << line;
    std::vector<Kind> kinds;
    for (const auto& diagnostic : sink_.diagnostics()) kinds.push_back(diagnostic.kind);
    return kinds;
  }

  std::string generated_name(std::string_view line) {
    const auto checked = check(line);
    return checked ? checked->definition.group + "/" + checked->definition.event : "refused";
  }

  CheckRequest request_{.dialect = dialect::Dialect::of(dialect::Kernel::Linux6_1)};
  target::FixedTargetEnv env_;
  target::FixedCatalog catalog_;
  diag::Sink sink_;
};

TEST_F(DefinitionSema, ResolvesPlaces) {
  const auto symbol = check("p vfs_read+8");
  ASSERT_TRUE(symbol);
  EXPECT_EQ(symbol->function_address, 0x1000u);
  EXPECT_EQ(symbol->place_address, 0x1008u);
  EXPECT_FALSE(symbol->is_deferred);
  EXPECT_EQ(check("p libc:openat")->place_address, 0x5000u);
  EXPECT_EQ(check("p /bin/sh:0x10")->place_address, 0x400010u);
  EXPECT_EQ(check("p 0x1010")->function_address, 0x1000u);
  EXPECT_TRUE(check("p nomod:f")->is_deferred);
}

TEST_F(DefinitionSema, MakesUpNames) {
  EXPECT_EQ(generated_name("p vfs_read+8"), "kprobes/p_vfs_read_8");
  EXPECT_EQ(generated_name("p vfs_read%return"), "kprobes/r_vfs_read_0");
  EXPECT_EQ(generated_name("p:g/ libc:openat"), "g/p_libc_openat_0");
  EXPECT_EQ(generated_name("p 0x1010"), "kprobes/p_0x0000000000001010");
  EXPECT_EQ(generated_name("r /bin/sh:0x10"), "uprobes/p_sh_0x10");
  EXPECT_EQ(generated_name("p nomod:" + std::string(80, 'f')), "kprobes/p_nomod_" + std::string(55, 'f'));
}

TEST_F(DefinitionSema, FindsTheKernelsFirstMistakeFirst) {
  EXPECT_THAT(mistakes("p:1x vfs_raed &1"),
              testing::ElementsAre(Kind::BadProbeAddr, Kind::BadEventName, Kind::BadFetchArg));
  EXPECT_EQ(sink_.diagnostics()[0].errno_value, ENOENT);
  EXPECT_EQ(sink_.diagnostics()[0].detail, "no function `vfs_raed`; near it: `vfs_read`");
}

TEST_F(DefinitionSema, KeepsOneMistakeOfAnArgument) {
  EXPECT_THAT(mistakes("p vfs_read %zz:string[4] %yy"), testing::ElementsAre(Kind::BadRegName, Kind::BadRegName));
}

TEST_F(DefinitionSema, VariablesDependOnThePlace) {
  EXPECT_TRUE(check("p vfs_read $arg1"));
  EXPECT_THAT(mistakes("p vfs_read+8 $arg1"), testing::ElementsAre(Kind::BadVar));
  EXPECT_THAT(mistakes("r vfs_read $arg1"), testing::ElementsAre(Kind::BadVar));
  EXPECT_THAT(mistakes("p 0x1000 $arg1"), testing::ElementsAre(Kind::BadVar));
  EXPECT_THAT(mistakes("p nomod:f $arg1"), testing::ElementsAre(Kind::BadVar));
  EXPECT_TRUE(check("r vfs_read $retval"));
  EXPECT_THAT(mistakes("r 0x1000 $retval"), testing::ElementsAre(Kind::RetvalOnProbe));
}

TEST_F(DefinitionSema, CountsOperationsAsTheKernel) {
  const auto nested = [](int levels, const std::string& base) {
    std::string text = "p vfs_read ";
    for (int i = 0; i < levels; ++i) text += "+0(";
    return text + base + std::string(levels, ')');
  };
  EXPECT_TRUE(check(nested(14, "%di")));
  EXPECT_THAT(mistakes(nested(15, "%di")), testing::ElementsAre(Kind::TooManyOps));
  EXPECT_TRUE(check(nested(12, "@jiffies")));
  EXPECT_THAT(mistakes(nested(13, "@jiffies")), testing::ElementsAre(Kind::TooManyOps));
  EXPECT_TRUE(check(nested(12, "@1") + ":u8[2]"));
  EXPECT_THAT(mistakes(nested(13, "@1") + ":u8[2]"), testing::ElementsAre(Kind::TooManyOps));
  EXPECT_THAT(mistakes(nested(13, "@1") + ":b1@1/8"), testing::ElementsAre(Kind::BadBitfield));
}

TEST_F(DefinitionSema, AppendsToAnEventOfTheSameShape) {
  const auto first = check("p:m vfs_read a=%di:u8");
  ASSERT_TRUE(first);
  catalog_.add({.group = "kprobes",
                .event = "m",
                .owner = target::EventOwner::Kprobe,
                .siblings = {std::make_shared<const model::Definition>(first->definition)},
                .layout = {}});
  EXPECT_TRUE(check("p:m libc:openat a=%si:b1@2/8"));  // a bitfield is its container
  EXPECT_THAT(mistakes("p:m vfs_read a=%di:u8"), testing::ElementsAre(Kind::SameProbe));
  EXPECT_THAT(mistakes("r:m vfs_read a=%di:u8"), testing::ElementsAre(Kind::DiffProbeType));
  EXPECT_THAT(mistakes("p:m vfs_read a=%di:x8"), testing::ElementsAre(Kind::DiffArgType));
  EXPECT_THAT(mistakes("p:m vfs_read"), testing::ElementsAre(Kind::DiffArgType));
  EXPECT_EQ(sink_.diagnostics()[0].column, 13u);
  EXPECT_THAT(mistakes("p:kprobes/m /bin/sh:0x10 a=%di:u8"), testing::ElementsAre(Kind::EventExist));
}

TEST_F(DefinitionSema, ChecksNothingItCannotKnow) {
  const target::UncheckedTargetEnv unchecked;
  auto statement = grammar::parse_line("p lib:f $arg1 @sym", grammar::EventsFile::Dynamic, sink_);
  const auto checked = check_definition(std::get<model::Definition>(std::move(*statement)), unchecked, catalog_, sink_);
  ASSERT_TRUE(checked);
  EXPECT_EQ(checked->place_address, 0u);
}

TEST_F(DefinitionSema, OffersTheOneNameThatIsNear) {
  EXPECT_THAT(mistakes("p vfs_raed"), testing::ElementsAre(Kind::BadProbeAddr));
  ASSERT_EQ(sink_.diagnostics()[0].fixits.size(), 1u);
  EXPECT_EQ(sink_.diagnostics()[0].fixits[0].replacement, "vfs_read");
  EXPECT_THAT(mistakes("p vfs_raed+8"), testing::ElementsAre(Kind::BadProbeAddr));
  EXPECT_TRUE(sink_.diagnostics()[0].fixits.empty());
}

TEST_F(DefinitionSema, RefusesWhatNeedsTypesUnlessItIsOnlyJudged) {
  request_ = {};
  EXPECT_THAT(mistakes("p vfs_read file"), testing::ElementsAre(Kind::UnsupportedForm));
  EXPECT_THAT(mistakes("p vfs_read file:%pd"), testing::ElementsAre(Kind::UnsupportedForm));
  EXPECT_THAT(mistakes("f vfs_read"), testing::ElementsAre(Kind::UnsupportedForm));
  request_.newer_forms = NewerForms::Judged;
  for (const char* line : {"p vfs_read file", "p vfs_read file:%pd", "r vfs_read x=$arg1", "f vfs_read"}) {
    EXPECT_TRUE(check(line)) << line;
  }
}

TEST_F(DefinitionSema, ReturnProbesKeepFifteenArguments) {
  std::string line = "r vfs_read";
  for (int n = 1; n <= 15; ++n) line += fmt::format(" $arg{} again{}=$arg{}", n, n, n);
  request_ = {};
  EXPECT_TRUE(check(line));
  EXPECT_THAT(mistakes(line + " $arg16"), testing::ElementsAre(Kind::TooManyEargs));
  request_.newer_forms = NewerForms::Judged;  // the kernel limits function probes only
  EXPECT_TRUE(check(line + " $arg16"));
}

TEST_F(DefinitionSema, SaysWhatItCouldNotCheck) {
  request_ = {.newer_forms = NewerForms::Judged};
  const auto rules = [&](std::string_view line) {
    std::vector<UncheckedRule> found;
    const auto checked = check(line);
    for (const Unchecked& unchecked : checked.value().unchecked) found.push_back(unchecked.rule);
    return found;
  };
  EXPECT_THAT(rules("p vfs_read %di"), testing::IsEmpty());
  EXPECT_THAT(rules("f vfs_read file->f_path"), testing::ElementsAre(UncheckedRule::Types));
  EXPECT_THAT(rules("t sched_switch prev"), testing::ElementsAre(UncheckedRule::Tracepoint, UncheckedRule::Types));
}

TEST_F(DefinitionSema, NamesFunctionProbes) {
  request_ = {.newer_forms = NewerForms::Judged};
  EXPECT_EQ(generated_name("f vfs_read"), "fprobes/vfs_read__entry");
  EXPECT_EQ(generated_name("f vfs_read%return"), "fprobes/vfs_read__exit");
  EXPECT_EQ(generated_name("f vfs_read $retval"), "fprobes/vfs_read__exit");
  EXPECT_EQ(generated_name("t sched_switch"), "tracepoints/sched_switch");
  EXPECT_EQ(generated_name("t 9p_protocol"), "tracepoints/_9p_protocol");
}

TEST_F(DefinitionSema, CaretsOfTypesBehindDereferencesFollowTheDialect) {
  EXPECT_THAT(mistakes("p vfs_read +8(%di):b9@0/8"), testing::ElementsAre(Kind::BadBitfield));
  EXPECT_EQ(sink_.diagnostics()[0].column, 19u);
  request_.dialect = dialect::Dialect::of(dialect::Kernel::Linux6_12);
  EXPECT_THAT(mistakes("p vfs_read +8(%di):symstr[2]"), testing::ElementsAre(Kind::BadString));
  EXPECT_EQ(sink_.diagnostics()[0].column, 22u);
}

TEST_F(DefinitionSema, FindsTheFormsThatNotEveryKernelHas) {
  request_ = {.newer_forms = NewerForms::Judged};
  const auto used = [&](std::string_view line) {
    std::vector<dialect::Feature> features;
    const auto checked = check(line);
    for (const FeatureUse& use : features_used(checked.value().definition)) features.push_back(use.feature);
    return features;
  };
  using dialect::Feature;
  EXPECT_THAT(used("p vfs_read %di"), testing::IsEmpty());
  EXPECT_THAT(used("f vfs_read $arg*"), testing::ElementsAre(Feature::Fprobes, Feature::AllArguments));
  EXPECT_THAT(used("p vfs_read file->f_pos c=%di:char"), testing::ElementsAre(Feature::FieldAccess, Feature::CharType));
  EXPECT_THAT(used("p /bin/sh:0x10 %di:symbol"), testing::ElementsAre(Feature::SymbolOnUprobe));
}

}  // namespace
}  // namespace kevt::sema
