#include "compiler/pipeline/runnable.h"

#include <gmock/gmock.h>

#include "compiler/pipeline/compile.h"
#include "compiler/target/fixed_target.h"

namespace kevt::pipeline {
namespace {

using testing::HasSubstr;

target::CatalogEntry with_text(const std::string& group) {
  target::CatalogEntry entry{.group = group, .event = "x", .owner = target::EventOwner::Static};
  entry.layout.fields = {
      {.name = "filename", .type = {.text = "const char *"}, .offset = 8, .size = 8},
      {.name = "behind", .type = {.kind = model::TypeKind::String, .bytes = 4}, .offset = 16, .size = 4}};
  return entry;
}

// What is said of it; empty: it runs.
std::string said_of(const std::string& definition) {
  target::FixedCatalog catalog;
  catalog.add(with_text("sched"));
  catalog.add(with_text("syscalls"));
  diag::Sink sink;
  const auto event = check_event(definition, target::UncheckedTargetEnv(), catalog, Forms::Runnable, sink);
  if (event) return "";
  return sink.diagnostics().empty() ? "nothing" : "refused: " + sink.diagnostics().front().detail;
}

TEST(Runnable, TextBehindTheFieldsOfStaticEvents) {
  EXPECT_EQ(said_of("e:a sched/x f=$behind:string g=+1($behind):u8"), "");
  EXPECT_EQ(said_of("e:a sched/x f=$filename:string if behind == \"a\""), "");
}

// Its value would be an address that is nobody's when it is read.
TEST(Runnable, TextWithoutATypeIsRefusedWithTheWayOut) {
  EXPECT_THAT(said_of("e:a sched/x f=$behind"), HasSubstr("`:string` reads it"));
  EXPECT_THAT(said_of("e:a sched/x f=$behind:u32"), HasSubstr("`:string` reads it"));
  EXPECT_THAT(said_of("e:a sched/x c=$comm:u64"), HasSubstr("`:string` reads it"));
  EXPECT_THAT(said_of("e:a sched/x c=+0($comm):u64"), HasSubstr("refused"));
  EXPECT_EQ(said_of("e:a sched/x c=$comm:string"), "");
}

TEST(Runnable, ProgramsOnSystemCallsAreGivenNoTextBehindTheFields) {
  EXPECT_EQ(said_of("e:a syscalls/x f=$filename:ustring"), "");
  EXPECT_THAT(said_of("e:a syscalls/x f=$behind:string"), HasSubstr("read the argument itself"));
  EXPECT_THAT(said_of("e:a syscalls/x if behind == \"a\""), HasSubstr("read the argument itself"));
}

}  // namespace
}  // namespace kevt::pipeline
