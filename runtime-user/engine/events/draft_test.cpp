#include "runtime-user/engine/events/draft.h"

#include <gmock/gmock.h>

#include "compiler/target/fixed_target.h"

namespace kevt::engine {
namespace {

target::FixedCatalog static_events() {
  target::CatalogEntry entry{.group = "sched", .event = "started", .owner = target::EventOwner::Static};
  entry.layout.fields = {
      {.name = "file", .type = {.kind = model::TypeKind::String, .bytes = 4}, .offset = 8, .size = 4}};
  target::FixedCatalog catalog;
  catalog.add(std::move(entry));
  return catalog;
}

// How many of the definitions are wrong.
std::size_t wrong(const std::vector<std::string>& definitions, const target::EventCatalog* statics) {
  Draft draft(statics);
  std::vector<Problem> problems;
  draft.check(definitions, {}, target::UncheckedTargetEnv(), pipeline::Forms::Runnable, problems);
  return problems.size();
}

TEST(Draft, EventProbesStandOnStaticEvents) {
  const target::FixedCatalog statics = static_events();
  EXPECT_EQ(wrong({"e:a sched/started f=$file:string", "  e:b sched.started"}, &statics), 0u);
  EXPECT_EQ(wrong({"e:a sched/started f=$file:string"}, nullptr), 1u);
  EXPECT_EQ(wrong({"e:a sched/other"}, &statics), 1u);
}

// A probe may have the name of one of the kernel's events, and goes before it: no event probe stands on a probe.
TEST(Draft, OnlyEventProbesAreAskedForStaticEvents) {
  const target::FixedCatalog statics = static_events();
  EXPECT_EQ(wrong({"p:sched/started vfs_read", "e:a sched/started"}, &statics), 1u);
  EXPECT_EQ(wrong({"p:sched/started vfs_read"}, &statics), 0u);
}

TEST(Draft, WhatStandsOnAnEvent) {
  EXPECT_TRUE(stands_on_event("e:a b/c"));
  EXPECT_TRUE(stands_on_event("\t e b/c"));
  EXPECT_FALSE(stands_on_event("p:e vfs_read"));
  EXPECT_FALSE(stands_on_event(""));
}

}  // namespace
}  // namespace kevt::engine
