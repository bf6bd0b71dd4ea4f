#include "compiler/script/check_triggers.h"

#include <gtest/gtest.h>

#include "compiler/layout/layout.h"
#include "compiler/script/event_name.h"
#include "compiler/target/fixed_target.h"

namespace kevt::script {
namespace {

using sema::CatalogScope;

target::FixedCatalog catalog_of(std::initializer_list<const char*> definitions) {
  target::FixedCatalog catalog;
  for (const char* text : definitions) {
    const auto named = name_definition(text);
    EXPECT_TRUE(named) << text;
    diag::Sink sink;
    const auto layout = layout::layout_record(named->definition, sink);
    catalog.add({.group = named->name.system,
                 .event = named->name.event,
                 .owner = target::owner_of(named->definition.kind),
                 .siblings = {std::make_shared<const model::Definition>(named->definition)},
                 .layout = *layout});
  }
  return catalog;
}

TEST(ScriptTriggers, EachSeesThoseBeforeIt) {
  const auto catalog = catalog_of({"p:g/a f x=%di:u64", "p:g/b f x=%di:u64"});
  const TriggerText triggers[] = {{{"g", "a"}, "hist:keys=x:t0=common_timestamp.usecs"},
                                  {{"g", "b"}, "hist:keys=x:d=common_timestamp.usecs-$t0"},
                                  {{"g", "a"}, "stacktrace"},
                                  {{"g", "a"}, "stacktrace"}};
  const TriggerResult result = check_triggers(triggers, catalog, CatalogScope::Whole);
  ASSERT_EQ(result.mistakes.size(), 1u);
  EXPECT_EQ(result.mistakes[0].trigger, 3u);
  EXPECT_EQ(result.mistakes[0].diagnostic.kind, diag::Kind::TriggerExists);
  EXPECT_EQ(result.listings[2], "stacktrace:unlimited");
}

TEST(ScriptTriggers, EachInstanceHasItsOwn) {
  const auto catalog = catalog_of({"p:g/a f x=%di:u64"});
  const TriggerText triggers[] = {{{"g", "a"}, "stacktrace"}, {{"g", "a"}, "stacktrace", "errors"}};
  EXPECT_TRUE(check_triggers(triggers, catalog, CatalogScope::Whole).mistakes.empty());
}

TEST(ScriptTriggers, UnknownEventsAreNamed) {
  const auto catalog = catalog_of({"p:g/a f x=%di:u64"});
  const TriggerText triggers[] = {{{"sched", "sched_switch"}, "traceoff:1 if prev_pid == 1"},
                                  {{"g", "a"}, "enable_event:sched:sched_switch"},
                                  {{"sched", "sched_switch"}, "traceoff:x"}};
  const TriggerResult part = check_triggers(triggers, catalog, CatalogScope::Partial);
  ASSERT_EQ(part.mistakes.size(), 1u);
  EXPECT_EQ(part.mistakes[0].trigger, 2u);
  ASSERT_EQ(part.unchecked.size(), 2u);
  EXPECT_EQ(part.unchecked[1].what, "sched/sched_switch");
  EXPECT_EQ(check_triggers(triggers, catalog, CatalogScope::Whole).mistakes.size(), 2u);
}

TEST(ScriptTriggers, NamesOfDefinitions) {
  EXPECT_EQ(name_definition("p libc:malloc")->name, (model::EventName{"kprobes", "p_libc_malloc_0"}));
  EXPECT_EQ(name_definition("r:x/y f")->name, (model::EventName{"x", "y"}));
  EXPECT_FALSE(name_definition("p:a f %zz"));
  EXPECT_FALSE(name_definition("-:a"));
}

}  // namespace
}  // namespace kevt::script
