#include "compiler/target/fixed_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kevt::target {
namespace {

FixedTargetEnv example() {
  FixedTargetEnv env;
  env.add_function({.name = "vfs_read", .module = "", .address = 0x1000, .size = 0x100});
  env.add_function({.name = "twice", .module = "a", .address = 0x2000, .size = 0x10});
  env.add_function({.name = "twice", .module = "b", .address = 0x3000, .size = 0x10});
  env.add_data({.name = "jiffies", .module = "", .address = 0x9000, .size = 8});
  env.add_file("/bin/sh", FileStatus::Regular);
  env.map_file("/bin/sh", 0x400000);
  env.set_probeability(0x1001, Probeability::NotInstructionBoundary);
  return env;
}

TEST(FixedTargetEnv, FindsSymbols) {
  const auto env = example();
  EXPECT_EQ(env.find_function({}, "vfs_read")->address, 0x1000u);
  EXPECT_EQ(env.find_function("b", "twice")->address, 0x3000u);
  EXPECT_EQ(env.find_data("jiffies")->address, 0x9000u);
}

TEST(FixedTargetEnv, SaysWhyItDoesNotFind) {
  const auto env = example();
  const auto near = env.find_function({}, "vfs_raed");
  EXPECT_EQ(near.error().failure, LookupFailure::NotFound);
  EXPECT_THAT(near.error().candidates, testing::ElementsAre("vfs_read"));
  const auto twice = env.find_function({}, "twice");
  EXPECT_EQ(twice.error().failure, LookupFailure::NotUnique);
  EXPECT_THAT(twice.error().candidates, testing::ElementsAre("a:twice", "b:twice"));
  EXPECT_EQ(env.find_function("nomod", "x").error().failure, LookupFailure::ModuleMissing);
  EXPECT_EQ(env.find_function("", "vfs_read").error().failure, LookupFailure::ModuleMissing);
}

TEST(FixedTargetEnv, SymbolizesByRange) {
  const auto env = example();
  EXPECT_EQ(env.symbolize(0x10ff)->name, "vfs_read");
  EXPECT_FALSE(env.symbolize(0x1100));
}

TEST(FixedTargetEnv, KnowsFilesAndPlaces) {
  const auto env = example();
  EXPECT_EQ(env.file_status("/bin/sh"), FileStatus::Regular);
  EXPECT_EQ(env.file_status("/bin/x"), FileStatus::Missing);
  EXPECT_EQ(*env.find_file_offset("/bin/sh", 0x17), 0x400017u);
  EXPECT_FALSE(env.find_file_offset("/bin/x", 0));
  EXPECT_EQ(env.probeability(0x1001), Probeability::NotInstructionBoundary);
  EXPECT_EQ(env.probeability(0x1000), Probeability::Ok);
}

TEST(UncheckedTargetEnv, JudgesNothing) {
  const UncheckedTargetEnv env;
  EXPECT_EQ(env.find_function({}, "x").error().failure, LookupFailure::NotChecked);
  EXPECT_EQ(env.file_status("/x"), FileStatus::NotChecked);
}

TEST(FixedCatalog, AddsFindsAndRemoves) {
  FixedCatalog catalog;
  catalog.add({.group = "g", .event = "e", .owner = EventOwner::Kprobe, .siblings = {}, .layout = {}});
  ASSERT_NE(std::as_const(catalog).find("g", "e"), nullptr);
  EXPECT_EQ(std::as_const(catalog).find("g", "e")->owner, EventOwner::Kprobe);
  EXPECT_TRUE(catalog.remove("g", "e"));
  EXPECT_FALSE(catalog.remove("g", "e"));
  EXPECT_EQ(std::as_const(catalog).find("g", "e"), nullptr);
}

TEST(Registers, AreTheKernelsNames) {
  EXPECT_EQ(register_offset("r15"), 0u);
  EXPECT_EQ(register_offset("di"), 112u);
  EXPECT_EQ(register_offset("ss"), 160u);
  EXPECT_FALSE(register_offset("rdi"));
  EXPECT_FALSE(register_offset(""));
  EXPECT_EQ(register_names().size(), 21u);
}

TEST(Arguments, FollowTheAbi) {
  EXPECT_TRUE(argument_location(1).in_register);
  EXPECT_EQ(argument_location(1).offset, *register_offset("di"));
  EXPECT_EQ(argument_location(6).offset, *register_offset("r9"));
  EXPECT_FALSE(argument_location(7).in_register);
  EXPECT_EQ(argument_location(7).offset, 8u);
}

}  // namespace
}  // namespace kevt::target
