#include "compiler/ir/interpreter.h"

#include <gmock/gmock.h>

#include <cstring>
#include <limits>
#include <map>

#include "compiler/ir/text.h"
#include "compiler/model/floating.h"

namespace kevt::ir {
namespace {

using testing::ElementsAre;

// Bytes at [0x1000, 0x1000 + memory.size()) are readable, and counted.
class TestMachine final : public Machine {
 public:
  bool read(std::uint64_t address, std::span<std::uint8_t> out) const override {
    ++reads;
    if (address < 0x1000 || address - 0x1000 + out.size() > memory.size()) return false;
    std::memcpy(out.data(), memory.data() + (address - 0x1000), out.size());
    return true;
  }
  std::string symbol_text(std::uint64_t address) const override { return "f+0x" + std::to_string(address); }

  std::string memory;
  mutable int reads = 0;
};

TestMachine machine() {
  TestMachine m;
  m.event_id = 0x1234;
  m.pid = 77;
  m.cpu = 3;
  m.comm = "cat";
  m.probe_address = 0xabcdef;
  m.return_address = 0x5555;
  m.registers.di = 0x1000;
  m.registers.si = 0xfffffffffffffffe;
  return m;
}

RunResult run(const std::string& text, const Machine& m) {
  const Result<Program> program = parse(text);
  EXPECT_TRUE(program) << program.error().message();
  return program ? interpret(*program, m) : RunResult{};
}

std::uint64_t word(const RunResult& result, std::size_t offset, std::size_t bytes) {
  std::uint64_t value = 0;
  EXPECT_LE(offset + bytes, result.record.size());
  if (offset + bytes <= result.record.size()) std::memcpy(&value, result.record.data() + offset, bytes);
  return value;
}

TEST(Interpreter, HeaderOfAnEntryRecord) {
  const RunResult r = run("program entry fixed 16\nsink 0\n", machine());
  EXPECT_THAT(r.outcomes, ElementsAre(Outcome::Recorded));
  EXPECT_THAT(r.record, ElementsAre(0x34, 0x12, 0, 0, 77, 0, 0, 0, 0xef, 0xcd, 0xab, 0, 0, 0, 0, 0));
}

TEST(Interpreter, HeaderOfAReturnRecord) {
  const RunResult r = run("program return fixed 32\nv0 = return_address\nstore int8 v0 @24\nsink 0\n", machine());
  ASSERT_EQ(r.record.size(), 32u);
  EXPECT_EQ(word(r, 8, 8), 0xabcdefu);
  EXPECT_EQ(word(r, 16, 8), 0x5555u);
  EXPECT_EQ(word(r, 24, 8), 0x5555u);
}

TEST(Interpreter, ReturnAddressOfAnEntryProbeIsZero) {
  const RunResult r = run("program entry fixed 24\nv0 = return_address\nstore int8 v0 @16\nsink 0\n", machine());
  EXPECT_EQ(word(r, 16, 8), 0u);
}

TEST(Interpreter, IntegerOps) {
  TestMachine m = machine();
  m.memory = "\x01\x02\x03\xf4\x05\x06\x07\x08\x09";
  m.slots = {0x99};
  const RunResult r = run(R"(program entry fixed 77
slot 0 = symbol "x"+0
v0 = reg di
v1 = load u4 v0+1
v2 = narrow s1 v1
v3 = load u2 v0+2
v4 = narrow s2 v3
v5 = bits 12:8 v3
v6 = imm -1
v7 = slot 0
v8 = cpu
v9 = load u8 v0+0
v10 = narrow u1 v9
store int8 v1 @16
store int8 v2 @24
store int8 v4 @32
store int1 v5 @40
store int8 v6 @41
store int8 v7 @49
store int4 v8 @57
store int8 v9 @61
store int8 v10 @69
sink 0
)",
                          m);
  EXPECT_EQ(word(r, 16, 8), 0x05f40302u);
  EXPECT_EQ(word(r, 24, 8), 2u);
  EXPECT_EQ(word(r, 32, 8), 0xfffffffffffff403u);
  EXPECT_EQ(word(r, 40, 1), 0x0fu);
  EXPECT_EQ(word(r, 41, 8), ~std::uint64_t{0});
  EXPECT_EQ(word(r, 49, 8), 0x99u);
  EXPECT_EQ(word(r, 57, 4), 3u);
  EXPECT_EQ(word(r, 61, 8), 0x08070605f4030201u);
  EXPECT_EQ(word(r, 69, 8), 1u);
  EXPECT_EQ(r.faults, 0u);
}

// Smaller numbers have smaller orders, 0 has 0, and what is no number the smallest.
TEST(Interpreter, OrdersOfFloatingPointNumbers) {
  const double rising[] = {
      -std::numeric_limits<double>::infinity(), -1e308, -2.5, -1, -1e-310, 0, 1e-310, 1, 2.5, 1e308,
      std::numeric_limits<double>::infinity()};
  const auto order = [](double value, std::uint32_t bytes) {
    return static_cast<std::int64_t>(model::order_of_float(model::bits_of_float(value, bytes), bytes));
  };
  for (const std::uint32_t bytes : {4u, 8u}) {
    EXPECT_EQ(order(-0.0, bytes), 0);
    EXPECT_EQ(order(0.0, bytes), 0);
    EXPECT_EQ(order(std::numeric_limits<double>::quiet_NaN(), bytes), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(order(-std::numeric_limits<double>::quiet_NaN(), bytes), std::numeric_limits<std::int64_t>::min());
    EXPECT_GT(order(rising[0], bytes), std::numeric_limits<std::int64_t>::min());
    for (std::size_t i = 1; i < std::size(rising); ++i)
      EXPECT_EQ(order(rising[i - 1], bytes) < order(rising[i], bytes),
                model::float_value(model::bits_of_float(rising[i - 1], bytes), bytes) <
                    model::float_value(model::bits_of_float(rising[i], bytes), bytes));
  }
  TestMachine m = machine();
  m.vectors[3] = model::bits_of_float(-2.5, 8);
  const RunResult r = run(R"(program entry fixed 32
v0 = xmm 3
v1 = float_order u8 v0
store int8 v0 @16
store int8 v1 @24
sink 0
)",
                          m);
  EXPECT_EQ(word(r, 16, 8), model::bits_of_float(-2.5, 8));
  EXPECT_EQ(word(r, 24, 8), static_cast<std::uint64_t>(order(-2.5, 8)));
}

std::string words_of(std::initializer_list<std::uint64_t> words) {
  std::string bytes;
  for (const std::uint64_t word : words) bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
  return bytes;
}

// The dtv at 0x1040 has three modules: one whose block is at 0x1080, one that the thread has not made, one that the C
// library has not looked at.
TEST(Interpreter, ThreadLocalVariables) {
  TestMachine m = machine();
  m.memory = words_of({0, 0x1040, 0, 0, 0, 0, 3, 0, 5, 0, 0x1080, 0, ~std::uint64_t{0}, 0, 0, 0, 0x1122334455667788});
  m.thread_pointer = 0x1000;
  const auto address = [&](std::uint64_t slot) {
    m.slots = {slot};
    const RunResult r = run(R"(program entry fixed 24
slot 0 = thread_local "turn"+0
v0 = thread_local 0
store int8 v0 @16
sink 0
)",
                            m);
    EXPECT_EQ(r.faults, 0u);
    return word(r, 16, 8);
  };
  EXPECT_EQ(address(static_cast<std::uint64_t>(-24)), 0x1000u - 24);
  EXPECT_EQ(address(1ull << 32 | 8), 0x1088u);
  EXPECT_EQ(address(2ull << 32), 0u) << "the thread has no block of it";
  EXPECT_EQ(address(3ull << 32), 0u) << "the C library has not looked at it yet";
  EXPECT_EQ(address(4ull << 32), 0u) << "the thread's dtv is older than the module";
  m.thread_pointer = 0x9000;
  EXPECT_EQ(address(1ull << 32), 0u) << "no dtv can be read";
}

TEST(Interpreter, OnlyAPublishedRecordThatCountsIsASpan) {
  TestMachine m = machine();
  const auto span = [&](std::uint64_t pointer, std::uint64_t valid) {
    m.memory = words_of({pointer, 0, 0, 0, 0x0123456789abcdef, valid});
    const RunResult r = run(R"(program entry fixed 24
v0 = imm 4096
v1 = span_context v0
v2 = load u8 v1+16
store int8 v2 @16
sink 0
)",
                            m);
    EXPECT_EQ(r.faults, 0u);
    return word(r, 16, 8);
  };
  EXPECT_EQ(span(0x1010, 1), 0x0123456789abcdefu);
  EXPECT_EQ(span(0x1010, 0), 0u);
  EXPECT_EQ(span(0x1010, 2), 0u);
  EXPECT_EQ(span(0, 1), 0u);
  EXPECT_EQ(span(0x100000, 1), 0u) << "there is no such memory";
}

TEST(Interpreter, AFaultIsCountedOnceAndSpreads) {
  TestMachine m = machine();
  const RunResult r = run(R"(program entry fixed 52
v0 = imm 16
v1 = load u8 v0+0
v2 = load u4 v1+0
v3 = narrow s2 v2
v4 = string v1+0
v5 = symbol_text v2
v6 = load u1 v0+0
store int8 v1 @16
store int8 v3 @24
store string v4 @32
store string v5 @36
store int4[2] v2+0 @40
store int4 v6 @48
sink 0
)",
                          m);
  EXPECT_EQ(r.faults, 2u);  // v1 and v6
  EXPECT_EQ(m.reads, 2);
  EXPECT_EQ(word(r, 16, 8), 0u);
  EXPECT_EQ(word(r, 24, 8), 0u);
  EXPECT_EQ(word(r, 32, 4), 52u);
  EXPECT_EQ(word(r, 36, 4), 52u);
  EXPECT_EQ(r.record.size(), 52u);
}

TEST(Interpreter, StringsOfAGivenLength) {
  TestMachine m = machine();
  m.memory = std::string("one\0two", 7);  // no NUL behind it
  const RunResult r = run(R"(program entry fixed 48
v0 = reg di
v1 = imm 2
v2 = imm 3
v3 = imm 4
v4 = imm 0
v5 = imm -1
v6 = load u8 v4+0
v7 = counted v0+0 of v1
v8 = counted v0+0 of v5
v9 = counted v0+4 of v2
v10 = counted v0+4 of v3
v11 = counted v4+0 of v4
v12 = counted v6+0 of v4
v13 = counted v0+0 of v6
v14 = counted v6+0 of v5
store string v7 @16
store string v8 @20
store string v9 @24
store string v10 @28
store string v11 @32
store string v12 @36
store string v13 @40
store string v14 @44
sink 0
)",
                          m);
  const auto text = [&](std::size_t at) -> std::optional<std::string> {
    const std::uint64_t place = word(r, at, 4);
    if (place >> 16 == 0) return std::nullopt;
    return std::string(reinterpret_cast<const char*>(r.record.data()) + (place & 0xffff), (place >> 16) - 1);
  };
  EXPECT_EQ(text(16), "on");
  EXPECT_EQ(text(20), "one");         // up to its NUL
  EXPECT_EQ(text(24), "two");         // what is behind cannot be read, and is not
  EXPECT_EQ(text(28), std::nullopt);  // one byte more
  EXPECT_EQ(text(32), "");            // of nothing, at an address that cannot be read
  EXPECT_EQ(text(36), std::nullopt);
  EXPECT_EQ(text(40), std::nullopt);
  EXPECT_EQ(text(44), std::nullopt);
  EXPECT_EQ(r.faults, 1u);  // v6
}

TEST(Interpreter, ArraysThatAreCounted) {
  TestMachine m = machine();
  m.memory = std::string("\1\0\2\0\3\0", 6);
  const RunResult r = run(R"(program entry fixed 52
v0 = reg di
v1 = imm 2
v2 = imm 4098
v3 = imm 0
v4 = imm -1
v5 = load u8 v3+0
store int2[64] v0+0 of v1 @16
store int2[64] v0+2 to v2 @20
store int2[2] v0+0 of v4 @24
store int2[64] v0+0 of v4 @28
store int2[64] v3+0 of v3 @32
store int2[64] v0+0 to v3 @36
store int2[64] v5+0 of v3 @40
store int2[64] v0+0 of v5 @44
store int4[64] v0+0 to v2 @48
sink 0
)",
                          m);
  const auto bytes = [&](std::size_t at) {
    const std::uint64_t place = word(r, at, 4);
    return std::string(reinterpret_cast<const char*>(r.record.data()) + (place & 0xffff), place >> 16);
  };
  EXPECT_EQ(bytes(16), std::string("\1\0\2\0", 4));
  EXPECT_EQ(bytes(20), "");                          // the end is where it begins
  EXPECT_EQ(bytes(24), std::string("\1\0\2\0", 4));  // as many as there may be
  EXPECT_EQ(bytes(28), "");                          // not all of them can be read
  EXPECT_EQ(bytes(32), "");                          // none, at an address that cannot be read
  EXPECT_EQ(bytes(36), "");                          // an end before the beginning
  EXPECT_EQ(bytes(40), "");
  EXPECT_EQ(bytes(44), "");
  EXPECT_EQ(bytes(48), "");  // two bytes are no item of four
  EXPECT_EQ(r.record.size(), 60u);
  EXPECT_EQ(r.faults, 2u);  // v5, and the array at 28
}

TEST(Interpreter, Strings) {
  TestMachine m = machine();
  m.memory = std::string("one\0\0unending", 13);
  const RunResult r = run(R"(program entry fixed 44
text 0 = "lit"
v0 = reg di
v1 = string v0+1
v2 = string v0+3
v3 = string v0+6
v4 = text 0
v5 = comm
v6 = symbol_text v0
v7 = string v0+13
store string v1 @16
store string v2 @20
store string v3 @24
store string v4 @28
store string v5 @32
store string v6 @36
store string v7 @40
sink 0
)",
                          m);
  EXPECT_EQ(word(r, 16, 4), 3u << 16 | 44);
  EXPECT_EQ(word(r, 20, 4), 1u << 16 | 47);
  EXPECT_EQ(word(r, 24, 4), 48u);  // runs off the memory: absent
  EXPECT_EQ(word(r, 28, 4), 4u << 16 | 48);
  EXPECT_EQ(word(r, 32, 4), 4u << 16 | 52);
  EXPECT_EQ(word(r, 36, 4), 9u << 16 | 56);
  EXPECT_EQ(word(r, 40, 4), 65u);
  EXPECT_EQ(std::string(r.record.begin() + 44, r.record.end()), std::string("ne\0\0lit\0cat\0f+0x4096\0", 21));
  EXPECT_EQ(r.faults, 0u);
}

// A 4080-byte string does not fit a record, so its length shows by a filter.
bool accepts_suffix(const std::string& memory, const std::string& suffix) {
  TestMachine m = machine();
  m.memory = memory;
  return run("program entry fixed 16\nv0 = reg di\nv1 = string v0+0\nsink 0 when v1 ~ suffix \"" + suffix + "\"", m)
             .outcomes[0] == Outcome::Recorded;
}

TEST(Interpreter, LongStringsAreCutTo4095Bytes) {
  const std::string body(4093, 'x');
  EXPECT_TRUE(accepts_suffix(body + "yz" + std::string(1, '\0'), "yz"));
  EXPECT_TRUE(accepts_suffix(body + "yzz", "yz"));  // byte 4095 counts as the NUL
  EXPECT_FALSE(accepts_suffix(body + "yzz", "zz"));
  EXPECT_FALSE(accepts_suffix(body + "yz", "yz"));  // byte 4095 cannot be read: absent
}

TEST(Interpreter, RecordsOverTheLimitAreLost) {
  TestMachine m = machine();
  const std::string text =
      "program entry fixed 20\nv0 = reg di\nv1 = string v0+0\nstore string v1 @16\n"
      "sink 0\nsink 1 when never\nsink 2\n";
  m.memory = std::string(4076 - 20 - 1, 'x') + std::string(1, '\0');
  EXPECT_EQ(run(text, m).record.size(), 4076u);
  m.memory = "x" + m.memory;
  const RunResult lost = run(text, m);
  EXPECT_THAT(lost.outcomes, ElementsAre(Outcome::Lost, Outcome::Filtered, Outcome::Lost));
  EXPECT_TRUE(lost.record.empty());
}

TEST(Interpreter, Arrays) {
  TestMachine m = machine();
  m.memory = std::string("\x08\x10\0\0\0\0\0\0ab\0", 11);
  m.memory += std::string("\x08\x10\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x09\x10", 18);
  const RunResult r = run(R"(program entry fixed 45
v0 = reg di
store int2[2] v0+8 bits 4:4 @16
store string[4] v0+11 @20
store int8[1] v0+24 @36
store int1[1] v0+9 @44
sink 0
)",
                          m);
  EXPECT_EQ(word(r, 16, 2), 0x6u);
  EXPECT_EQ(word(r, 18, 2), 0u);
  EXPECT_EQ(word(r, 20, 4), 3u << 16 | 45);
  EXPECT_EQ(word(r, 24, 4), 48u);  // the pointer 1 cannot be read
  EXPECT_EQ(word(r, 28, 4), 48u);  // the pointer itself is cut off
  EXPECT_EQ(word(r, 32, 4), 48u);
  EXPECT_EQ(word(r, 36, 8), 0u);
  EXPECT_EQ(word(r, 44, 1), std::uint64_t{'b'});
  EXPECT_EQ(r.record.size(), 48u);
  EXPECT_EQ(r.faults, 1u);  // the int8 item; string items print (fault) instead
}

// Its word: length << 16 | offset from the record. The length is not asked.
TEST(Interpreter, WhatLiesBehindTheFieldsOfARecordIsReadWhereItsWordSays) {
  TestMachine m = machine();
  m.probe_address = 0x1000;
  m.memory = std::string("\x08\0\xff\xff....abc\0", 12);
  const RunResult r = run(R"(program record fixed 36
v0 = probe_address
v1 = load u4 v0+0
v2 = located v1
v3 = string v2+1
v4 = load u4 v0+4096
v5 = located v4
v6 = string v5+0
store string v3 @8
store int8 v2 @12
store int8 v5 @20
store string v6 @28
store int4 v4 @32
sink 0
)",
                          m);
  EXPECT_EQ(word(r, 8, 4), 3u << 16 | 36u);
  EXPECT_EQ(word(r, 12, 8), 0x1008u);
  EXPECT_EQ(word(r, 20, 8), 0u);
  EXPECT_EQ(word(r, 28, 4), 39u);
  EXPECT_EQ(word(r, 36, 3), std::uint64_t{'b'} | std::uint64_t{'c'} << 8);
  EXPECT_EQ(r.faults, 1u);
}

TEST(Interpreter, EverySinkReadsArraysAnewAndValuesOnce) {
  const std::string text =
      "program entry fixed 21\nv0 = imm 0\nv1 = load u1 v0+0\nstore int1 v1 @16\n"
      "store int2[2] v0+0 @17\nsink 0\nsink 1 when never\nsink 2\n";
  EXPECT_EQ(run(text, machine()).faults, 1u + 2u + 2u);
}

TEST(Interpreter, ConditionsFetchOnlyWhatTheyNeed) {
  TestMachine m = machine();
  m.memory = std::string("\x05", 1);
  const std::string head =
      "program entry fixed 17\nv0 = reg di\nv1 = load u1 v0+0\nv2 = load u1 v0+8\n"
      "store int1 v1 @16\nsink 0 when ";
  EXPECT_EQ(run(head + "(v1 u== 6 and v2 u== 0)", m).faults, 0u);
  EXPECT_EQ(m.reads, 1);
  const RunResult both = run(head + "(v1 u== 5 and v2 u== 0)\nsink 1 when v2 u!= 0\n", m);
  EXPECT_THAT(both.outcomes, ElementsAre(Outcome::Recorded, Outcome::Filtered));
  EXPECT_EQ(both.faults, 1u);
  EXPECT_EQ(m.reads, 3);  // v1 once although the store wants it too, v2 once
  EXPECT_EQ(run(head + "(v1 u== 5 or v2 u== 0)", m).faults, 0u);
}

TEST(Interpreter, RejectedHitsDoNotFetchTheStores) {
  TestMachine m = machine();
  const RunResult r =
      run("program entry fixed 17\nv0 = reg di\nv1 = load u1 v0+0\nstore int1 v1 @16\nsink 0 when never", m);
  EXPECT_THAT(r.outcomes, ElementsAre(Outcome::Filtered));
  EXPECT_TRUE(r.record.empty());
  EXPECT_EQ(m.reads, 0);
}

TEST(Interpreter, ActionsChangeWordsWhileTheirCountLasts) {
  const std::string text =
      "program entry fixed 16\nslot 0 = word \"\"+0\nslot 1 = word \"\"+1\nv0 = reg di\n"
      "action 0 := 0 left 1 when v0 u== 4096\ngate 0\nsink 0\n";
  TestMachine m = machine();
  m.slots = {0, 0};
  m.words = {1, 2};
  const RunResult acted = run(text, m);
  EXPECT_THAT(acted.outcomes, ElementsAre(Outcome::Filtered));
  EXPECT_THAT(acted.words, ElementsAre(0, 1));
  m.words = {0, 2};  // nothing changes: nothing is counted
  EXPECT_THAT(run(text, m).words, ElementsAre(0, 2));
  for (const std::uint64_t none : {std::uint64_t{0}, ~std::uint64_t{0}}) {
    m.words = {1, none};
    const RunResult spent = run(text, m);
    EXPECT_THAT(spent.outcomes, ElementsAre(Outcome::Recorded));
    EXPECT_THAT(spent.words, ElementsAre(1, none));
  }
  m.registers.di = 0;
  m.words = {7, 2};  // any word but 0 is open
  const RunResult unmet = run(text, m);
  EXPECT_THAT(unmet.outcomes, ElementsAre(Outcome::Recorded));
  EXPECT_THAT(unmet.words, ElementsAre(7, 2));
  EXPECT_EQ(word(unmet, 2, 1), model::kGatesWereAsked);
}

TEST(Interpreter, LateActionsAreDoneBehindTheRecordAndEarlyGatesAskedBeforeAll) {
  const std::string slots = "program entry fixed 16\nslot 0 = word \"\"+0\nslot 1 = word \"\"+1\n";
  const auto outcome = [&](const std::string& rest, std::vector<std::uint64_t> words) {
    TestMachine m = machine();
    m.slots = {0, 0};
    m.words = std::move(words);
    const RunResult r = run(slots + rest + "sink 0\n", m);
    return std::pair(r.outcomes.front(), r.words);
  };
  using Words = std::vector<std::uint64_t>;
  EXPECT_EQ(outcome("action 0 := 0 late\ngate 0\n", {1, 1}), std::pair(Outcome::Recorded, Words({0, 1})));
  EXPECT_EQ(outcome("action 0 := 0 late\ngate 1\n", {1, 0}), std::pair(Outcome::Filtered, Words({0, 0})));
  EXPECT_EQ(outcome("action 0 := 1\ngate 0 early\n", {0, 1}), std::pair(Outcome::Filtered, Words({1, 1})));
  EXPECT_EQ(outcome("action 0 := 0\ngate 0 early\n", {1, 1}), std::pair(Outcome::Recorded, Words({0, 1})));
  EXPECT_EQ(outcome("action 0 := 1\ngate 0 early while 1\n", {0, 0}), std::pair(Outcome::Recorded, Words({1, 0})));
  EXPECT_EQ(outcome("action 0 := 1\ngate 0 early while 1\n", {0, 1}), std::pair(Outcome::Filtered, Words({1, 1})));
}

TEST(Interpreter, AShutGateAsksNoFilter) {
  const RunResult r =
      run("program entry fixed 16\nslot 0 = word \"\"+0\nv0 = imm 64\nv1 = load u8 v0+0\ngate 0\n"
          "sink 0 when v1 u== 1\n",
          [] {
            TestMachine m = machine();
            m.slots = m.words = {0};
            return m;
          }());
  EXPECT_THAT(r.outcomes, ElementsAre(Outcome::Filtered));
  EXPECT_EQ(r.faults, 0u);
}

TEST(Interpreter, AggregatesCountTogetherOrNotAtAll) {
  const std::string text = R"(program entry fixed 16
slot 0 = hit_table ""+0
slot 1 = hit_table ""+1
v0 = reg si
v1 = comm
aggregate 0 by v1, v0 log2 7 sum v0 bucket 10
aggregate 1 by v0 when v0 u== 5
sink 0
)";
  TestMachine m = machine();
  m.slots.resize(2);
  m.registers.si = 25;
  RunResult r = run(text, m);
  EXPECT_THAT(r.outcomes, ElementsAre(Outcome::Aggregated));
  EXPECT_TRUE(r.record.empty());
  ASSERT_EQ(r.counted.size(), 2u);
  EXPECT_EQ(r.counted[0], (Counted{{0x746163, 0, 5}, {20}}));
  EXPECT_EQ(r.counted[1], std::nullopt);
  m.registers.si = ~0ull;
  EXPECT_EQ(run(text, m).counted[0]->key[2], 7u);  // over 2^63
  m.has_room = false;
  EXPECT_THAT(run(text, m).outcomes, ElementsAre(Outcome::Recorded));
  m.has_room = true;
  m.comm = "sixteen letters!";
  r = run(text, m);
  EXPECT_THAT(r.outcomes, ElementsAre(Outcome::Recorded));
  EXPECT_TRUE(r.counted.empty());
}

TEST(Interpreter, ComparisonsKeepTheirSign) {
  const TestMachine m = machine();  // si is -2
  const std::map<std::string, bool> rows = {
      {"v0 s< 1", true},    {"v0 u< 1", false},   {"v0 s<= -2", true}, {"v0 s> -3", true},
      {"v0 u> 1", true},    {"v0 s>= -1", false}, {"v0 s== -2", true}, {"v0 u== 18446744073709551614", true},
      {"v0 s!= -2", false}, {"v0 u& 1", false},   {"v0 u& 2", true},   {"not v0 u& 2", false},
  };
  for (const auto& [condition, expected] : rows) {
    const RunResult r = run("program entry fixed 16\nv0 = reg si\nsink 0 when " + condition, m);
    EXPECT_EQ(r.outcomes[0] == Outcome::Recorded, expected) << condition;
  }
}

TEST(Interpreter, AnAbsentStringComparesAsEmpty) {
  const TestMachine m = machine();
  const std::string head = "program entry fixed 16\nv0 = imm 0\nv1 = string v0+0\nsink 0 when v1 ";
  EXPECT_EQ(run(head + "~ full \"\"", m).outcomes[0], Outcome::Recorded);
  EXPECT_EQ(run(head + "!~ full \"x\"", m).outcomes[0], Outcome::Recorded);
  EXPECT_EQ(run(head + "~ glob \"?*\"", m).outcomes[0], Outcome::Filtered);
}

}  // namespace
}  // namespace kevt::ir
