#include "compiler/lower/value_table.h"

#include <gtest/gtest.h>

#include <cstring>

#include "compiler/ir/interpreter.h"

namespace kevt::lower {
namespace {

constexpr std::uint8_t kSizes[] = {1, 2, 4, 8};
constexpr std::uint32_t kDiOffset = 112;

// Reads of any address give the bytes of `di`.
class EchoMachine final : public ir::Machine {
 public:
  explicit EchoMachine(std::uint64_t word) {
    registers.di = word;
    pid = static_cast<std::uint32_t>(word);
    event_id = static_cast<std::uint32_t>(word);
  }
  bool read(std::uint64_t, std::span<std::uint8_t> out) const override {
    std::memcpy(out.data(), &registers.di, out.size());
    return true;
  }
  std::string symbol_text(std::uint64_t) const override { return ""; }
};

// What `value` is when di and memory are `word`.
std::uint64_t value_of(ir::Program program, ir::ValueId value, std::uint64_t word) {
  program.stores = {{.kind = ir::StoreKind::Integer, .value = value, .offset = 16, .bytes = 8}};
  program.fixed_size = 24;
  program.sinks = {{.instance = 0, .condition = std::nullopt}};
  const ir::RunResult result = ir::interpret(program, EchoMachine(word));
  std::uint64_t number = 0;
  std::memcpy(&number, result.record.data() + 16, sizeof number);
  return number;
}

std::vector<ir::ValueId> sources(ValueTable& values) {
  const ir::ValueId di = values.reg(kDiOffset);
  std::vector<ir::ValueId> out = {di, values.plain(ir::Op::Pid), values.plain(ir::Op::EventId),
                                  values.immediate(0x8182838485868788)};
  for (const std::uint8_t bytes : kSizes) {
    out.push_back(values.load(di, 0, bytes));
    for (const bool is_signed : {false, true}) out.push_back(values.narrow(di, bytes, is_signed));
  }
  for (const std::uint8_t width : {1, 7, 8, 9, 16, 17, 31, 32, 33, 64}) out.push_back(values.bits(di, 0, width));
  return out;
}

TEST(ValueTable, NarrowingMeansTheSameWhateverIsLeftOut) {
  for (const std::uint64_t word : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{0x8182838485868788},
                                   std::uint64_t{0x7f017f017f017f01}, std::uint64_t{0x0080008000800080}}) {
    ir::Program program;
    ValueTable values(program);
    for (const ir::ValueId source : sources(values))
      for (const std::uint8_t bytes : kSizes)
        for (const bool is_signed : {false, true}) {
          const ir::ValueId narrowed = values.narrow(source, bytes, is_signed);
          const std::uint64_t wanted = narrow_constant(value_of(program, source, word), bytes, is_signed);
          EXPECT_EQ(value_of(program, narrowed, word), wanted)
              << ir::op_text(program.values[source].op) << " v" << source << " to " << int{bytes} << std::hex << word;
        }
  }
}

TEST(ValueTable, NarrowingWithoutEffectIsLeftOut) {
  ir::Program program;
  ValueTable values(program);
  const ir::ValueId di = values.reg(kDiOffset);
  EXPECT_EQ(values.narrow(di, 8, true), di);
  const ir::ValueId load = values.load(di, 0, 2);
  EXPECT_EQ(values.narrow(load, 2, false), load);
  EXPECT_EQ(values.narrow(load, 4, true), load);
  EXPECT_NE(values.narrow(load, 2, true), load);
  const ir::ValueId byte = values.narrow(di, 1, true);
  EXPECT_EQ(values.narrow(byte, 2, true), byte);
  EXPECT_NE(values.narrow(byte, 2, false), byte);
}

TEST(ValueTable, EqualValuesSlotsAndTextsAreMadeOnce) {
  ir::Program program;
  ValueTable values(program);
  EXPECT_EQ(values.reg(8), values.reg(8));
  EXPECT_NE(values.reg(8), values.reg(16));
  EXPECT_EQ(values.text("a"), values.text("a"));
  EXPECT_EQ(program.texts.size(), 1u);
  const model::SlotSource slot{model::SlotKind::SymbolAddress, "x", 4};
  EXPECT_EQ(values.slot(slot), values.slot(slot));
  EXPECT_NE(values.slot(slot), values.slot({model::SlotKind::FileAddress, "x", 4}));
  EXPECT_NE(values.slot(slot), values.slot({model::SlotKind::SymbolAddress, "x", 5}));
  EXPECT_EQ(program.slots.size(), 3u);
}

TEST(ValueTable, NarrowConstant) {
  EXPECT_EQ(narrow_constant(0x180, 1, false), 0x80u);
  EXPECT_EQ(narrow_constant(0x180, 1, true), 0xffffffffffffff80u);
  EXPECT_EQ(narrow_constant(0x7fffffff, 4, true), 0x7fffffffu);
  EXPECT_EQ(narrow_constant(~std::uint64_t{0}, 8, true), ~std::uint64_t{0});
}

}  // namespace
}  // namespace kevt::lower
