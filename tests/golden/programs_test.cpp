// Definitions, and the fetch IR they become: programs.golden, in blocks
//
//   event p:g/e vfs_read fd=%di:s32
//   filter fd > 2
//       program entry …
//
// Every fetch op and every kind of store and condition occurs in some block: a test checks that.
// KEVT_UPDATE_GOLDENS=1 rewrites the file; the diff is reviewed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "compiler/ir/text.h"
#include "compiler/ir/verify.h"
#include "compiler/lower/lower.h"
#include "compiler/pipeline/compile.h"
#include "compiler/target/fixed_target.h"

namespace kevt::golden {
namespace {

struct Block {
  std::string event;
  std::string filter;
  std::string expected;
};

std::string golden_path() { return std::string(KEVT_GOLDEN_DIR) + "/programs.golden"; }

std::vector<Block> read_blocks() {
  std::ifstream file(golden_path());
  std::vector<Block> blocks;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("event ")) {
      blocks.push_back({line.substr(6), "", ""});
    } else if (line.starts_with("filter ") && !blocks.empty()) {
      blocks.back().filter = line.substr(7);
    } else if (line.starts_with("    ") && !blocks.empty()) {
      blocks.back().expected += line.substr(4) + "\n";
    }
  }
  return blocks;
}

void write_blocks(const std::vector<Block>& blocks) {
  std::ofstream file(golden_path());
  file << "# Definitions with their filter, and the fetch IR they become: see programs_test.cpp.\n";
  for (const Block& block : blocks) {
    file << "\nevent " << block.event << "\n";
    if (!block.filter.empty()) file << "filter " << block.filter << "\n";
    std::istringstream lines(block.expected);
    for (std::string line; std::getline(lines, line);) file << "    " << line << "\n";
  }
}

// The static event g/text: `__data_loc char[] name` at 8, `__rel_loc char[] near` at 12, `char task[16]` at 16.
target::FixedCatalog static_events() {
  using model::TypeKind;
  target::CatalogEntry entry{.group = "g", .event = "text", .owner = target::EventOwner::Static};
  entry.layout.fields = {
      {.name = "name", .type = {.kind = TypeKind::String, .bytes = 4}, .offset = 8, .size = 4},
      {.name = "near", .type = {.kind = TypeKind::String, .bytes = 4}, .offset = 12, .size = 4, .located_from = 16},
      {.name = "task", .type = {.kind = TypeKind::Char, .bytes = 1, .array_count = 16}, .offset = 16, .size = 16}};
  target::FixedCatalog catalog;
  catalog.add(std::move(entry));
  return catalog;
}

std::optional<ir::Program> lower_block(const Block& block) {
  const target::UncheckedTargetEnv env;
  const target::FixedCatalog catalog = static_events();
  diag::Sink sink;
  const auto event = pipeline::check_event(block.event, env, catalog, pipeline::Forms::Runnable, sink);
  if (!event) return std::nullopt;
  std::optional<model::FilterExpr> filter;
  if (!block.filter.empty()) {
    filter = pipeline::check_filter(block.filter, *event, sink);
    if (!filter) return std::nullopt;
  }
  return lower::lower_event(event->definition, event->layout, {filter}, {},
                            event->attached ? &*event->attached : nullptr);
}

TEST(Programs, AreTheGoldens) {
  std::vector<Block> blocks = read_blocks();
  ASSERT_FALSE(blocks.empty()) << golden_path();
  const bool update = std::getenv("KEVT_UPDATE_GOLDENS") != nullptr;
  for (Block& block : blocks) {
    const auto program = lower_block(block);
    ASSERT_TRUE(program) << block.event << " / " << block.filter;
    EXPECT_EQ(ir::verify(*program), std::nullopt) << block.event;
    const std::string text = ir::print(*program);
    if (update) {
      block.expected = text;
    } else {
      EXPECT_EQ(text, block.expected) << block.event;
    }
  }
  if (update) write_blocks(blocks);
}

void note_kinds(const ir::Condition& condition, std::set<ir::ConditionKind>& kinds) {
  kinds.insert(condition.kind);
  for (const ir::Condition& child : condition.children) note_kinds(child, kinds);
}

TEST(Programs, EveryOpStoreAndConditionOccurs) {
  std::set<ir::Op> ops;
  std::set<ir::StoreKind> stores;
  std::set<ir::ConditionKind> conditions;
  for (const Block& block : read_blocks()) {
    const auto program = lower_block(block);
    ASSERT_TRUE(program) << block.event;
    for (const ir::Value& value : program->values) ops.insert(value.op);
    for (const ir::Store& store : program->stores) stores.insert(store.kind);
    for (const ir::InstanceSink& sink : program->sinks)
      if (sink.condition) note_kinds(*sink.condition, conditions);
  }
  ops.insert(ir::Op::StackNumber);  // of no definition: histograms and --stack ask for it
#define KEVT_FETCH_OP(name, text, ...) EXPECT_TRUE(ops.contains(ir::Op::name)) << #name;
#include "compiler/ir/fetch_op.def"
#undef KEVT_FETCH_OP
  EXPECT_EQ(stores.size(), 4u);
  EXPECT_EQ(conditions.size(), 6u);
}

}  // namespace
}  // namespace kevt::golden
