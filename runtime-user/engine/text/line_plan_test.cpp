#include "runtime-user/engine/text/line_plan.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "compiler/layout/layout.h"
#include "compiler/target/fixed_target.h"

namespace kevt::engine {
namespace {

using model::TypeKind;

struct Column {
  const char* name;
  TypeKind kind;
  std::uint8_t bytes;
};

TracedEvent event_of(std::span<const Column> columns) {
  TracedEvent event;
  event.id = 20001;
  event.group = "kprobes";
  event.name = "op";
  event.probes.push_back(
      {.serial = 1, .written = {}, .known = std::make_shared<const model::Definition>(), .listing = {}});
  std::uint32_t at = 16;
  for (const Column& column : columns) {
    model::RecordField field;
    field.name = column.name;
    field.type.kind = column.kind;
    field.type.bytes = column.bytes;
    field.offset = at;
    field.size = column.bytes;
    at += column.bytes;
    event.layout.fields.push_back(field);
  }
  event.layout.fixed_size = at;
  return event;
}

constexpr Column kAll[] = {{"u1", TypeKind::Unsigned, 1}, {"s1", TypeKind::Signed, 1}, {"s2", TypeKind::Signed, 2},
                           {"x4", TypeKind::Hex, 4},      {"s4", TypeKind::Signed, 4}, {"t", TypeKind::String, 4},
                           {"u8", TypeKind::Unsigned, 8}, {"x8", TypeKind::Hex, 8},    {"v", TypeKind::UserString, 4},
                           {"s8", TypeKind::Signed, 8},   {"b", TypeKind::Bitfield, 2}};

TEST(LinePlan, WritesArgumentsAsTheLayoutDoes) {
  const TracedEvent event = event_of(kAll);
  const LinePlan plan(event);
  ASSERT_TRUE(plan.is_plain());
  EXPECT_EQ(plan.head(), "op: (");
  const target::UncheckedTargetEnv env;
  std::mt19937_64 random(7);
  for (int round = 0; round < 20'000; ++round) {
    // Any bytes, of any length; in half of them the strings lie where they may.
    std::vector<std::uint8_t> record(random() % 160);
    for (std::uint8_t& byte : record) byte = static_cast<std::uint8_t>(random() % 3 == 0 ? 0 : random());
    for (const model::RecordField& field : event.layout.fields) {
      const bool text = field.type.kind == TypeKind::String || field.type.kind == TypeKind::UserString;
      if (!text || round % 2 == 0 || record.size() < field.offset + 4) continue;
      const std::uint32_t offset = static_cast<std::uint32_t>(random() % record.size());
      const std::uint32_t word = offset | static_cast<std::uint32_t>(random() % (record.size() - offset + 1)) << 16;
      std::memcpy(record.data() + field.offset, &word, 4);
    }
    std::string ours, theirs;
    plan.append_arguments(record, ours);
    layout::append_arguments(theirs, event.layout, record, env);
    ASSERT_EQ(ours, theirs) << "round " << round;
  }
}

TEST(LinePlan, LeavesWhatNeedsSymbolsOrListsToTheLayout) {
  for (const TypeKind kind : {TypeKind::Symbol, TypeKind::SymbolString, TypeKind::Char}) {
    const Column one[] = {{"a", kind, 4}};
    EXPECT_FALSE(LinePlan(event_of(one)).is_plain());
  }
  TracedEvent event = event_of(kAll);
  event.layout.fields[0].type.array_count = 3;
  EXPECT_FALSE(LinePlan(event).is_plain());
}

}  // namespace
}  // namespace kevt::engine
