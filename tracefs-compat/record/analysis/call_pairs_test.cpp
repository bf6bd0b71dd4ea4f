// Entries and returns paired to calls, and the paths that calls make.
#include "tracefs-compat/record/analysis/call_pairs.h"

#include <gmock/gmock.h>

#include "tracefs-compat/record/analysis/folded_paths.h"
#include "tracefs-compat/record/record_testing.h"

namespace kevt::record {
namespace {

TEST(CallPairs, NestPerThread) {
  Metadata metadata;
  fill(metadata);
  CallPairs pairs;
  const auto entry = [&](std::uint64_t at, std::uint64_t ns) {
    Bytes bytes = opened(7, "x", 1);
    store<std::uint64_t>(bytes, 8, at);
    return pairs.add(typed(metadata, ns, 0, bytes));
  };
  const auto leave = [&](std::uint64_t at, std::uint64_t ns) {
    Bytes bytes = closed(7, 1);
    store<std::uint64_t>(bytes, 8, at);
    return pairs.add(typed(metadata, ns, 0, bytes));
  };
  entry(0x10, 100);
  entry(0x20, 110);
  entry(0x30, 115);  // never returns
  const auto inner = leave(0x20, 120);
  ASSERT_TRUE(inner);
  EXPECT_EQ(inner->callers, std::vector<std::uint64_t>{0x10});
  const auto outer = leave(0x10, 150);
  ASSERT_TRUE(outer);
  EXPECT_EQ(outer->inside_ns, 10u);
  EXPECT_EQ(outer->end_ns - outer->begin_ns, 50u);
  EXPECT_FALSE(leave(0x10, 160));
  EXPECT_EQ(pairs.unmatched(), 2u);
}

// An entry probe without a return probe, between a call and what it calls.
TEST(CallPairs, AFunctionWithoutReturnIsNoCaller) {
  Metadata metadata;
  fill(metadata);
  CallPairs pairs;
  FoldedPaths paths(metadata);
  std::uint64_t now = 1000;
  const auto record = [&](bool is_entry, std::uint64_t function) {
    Bytes bytes = is_entry ? opened(7, "x", 1) : closed(7, 1);
    store<std::uint64_t>(bytes, 8, function);
    now += 10;
    const TypedRecord typed_record = typed(metadata, now, 0, bytes);
    paths.add(typed_record);
    return pairs.add(typed_record);
  };
  constexpr std::uint64_t kOuter = 0x10, kInner = 0x20, kOnlyEntered = 0x30;
  for (int i = 0; i < 400; ++i) {
    record(true, kOuter);
    record(true, kOnlyEntered);
    record(true, kInner);
    const auto inner = record(false, kInner);
    const auto outer = record(false, kOuter);
    ASSERT_TRUE(inner && outer);
    EXPECT_EQ(outer->inside_ns, 10u) << i;
    EXPECT_EQ(inner->callers.front(), kOuter) << i;
  }
  EXPECT_TRUE(pairs.never_returns(kOnlyEntered));
  EXPECT_FALSE(pairs.never_returns(kOuter) || pairs.never_returns(kInner));
  const auto folded = paths.folded();
  EXPECT_EQ(folded.weights.size(), 2u);
  for (const auto& [path, weight] : folded.weights) {
    EXPECT_EQ(std::ranges::count(path, ';'), weight == 400 * 10 ? 2 : 1) << path;
    EXPECT_TRUE(weight == 400 * 10 || weight == 400 * 30) << weight;
  }
}

TEST(CallPairs, RecursionIsNoFunctionWithoutReturn) {
  Metadata metadata;
  fill(metadata);
  CallPairs pairs;
  std::uint64_t now = 0;
  const auto record = [&](bool is_entry) {
    Bytes bytes = is_entry ? opened(7, "x", 1) : closed(7, 1);
    store<std::uint64_t>(bytes, 8, 0x10);
    return pairs.add(typed(metadata, now += 10, 0, bytes));
  };
  for (int round = 0; round < 5; ++round) {
    for (int depth = 0; depth < 400; ++depth) record(true);
    for (std::uint64_t depth = 0; depth < 400; ++depth) {
      const auto call = record(false);
      ASSERT_TRUE(call);
      EXPECT_EQ(call->end_ns - call->begin_ns, 10 + 20 * depth);
    }
  }
  EXPECT_FALSE(pairs.never_returns(0x10));
  EXPECT_EQ(pairs.unmatched(), 0u);
}

// Nothing is around these entries, so that nothing passes them over.
TEST(CallPairs, EntriesBesideCallsAreNoCallers) {
  Metadata metadata;
  fill(metadata);
  FoldedPaths paths(metadata);
  std::uint64_t now = 1000;
  const auto record = [&](bool is_entry, std::uint64_t function) {
    Bytes bytes = is_entry ? opened(7, "x", 1) : closed(7, 1);
    store<std::uint64_t>(bytes, 8, function);
    paths.add(typed(metadata, now += 10, 0, bytes));
  };
  record(true, 0x40);  // as main(): it is still under way at the end
  for (int i = 0; i < 100; ++i) {
    record(true, 0x30);
    record(true, 0x10);
    record(false, 0x10);
  }
  const auto folded = paths.folded();
  ASSERT_EQ(folded.weights.size(), 1u);
  EXPECT_EQ(std::ranges::count(folded.weights.begin()->first, ';'), 2) << folded.weights.begin()->first;
  EXPECT_EQ(folded.weights.begin()->second, 1000u);
}

// A path that was there needs no text; whose it is must be told all the same.
TEST(FoldedPaths, AreOfTheNameThatAThreadHasWhenACallEnds) {
  Metadata metadata;
  fill(metadata);
  FoldedPaths paths(metadata);
  std::uint64_t now = 1000;
  const auto record = [&](int pid, std::string_view comm, bool is_entry, std::uint64_t function) {
    Bytes bytes = is_entry ? opened(pid, "x", 1) : closed(pid, 1);
    store<std::uint64_t>(bytes, 8, function);
    TypedRecord one = typed(metadata, now += 10, 0, bytes);
    one.comm = comm;
    paths.add(one);
  };
  for (int round = 0; round < 3; ++round)
    for (const char* comm : {"first", "then"})
      for (const int pid : {7, 8}) {
        record(pid, comm, true, 0x10);
        record(pid, comm, true, 0x20);
        record(pid, comm, false, 0x20);
        record(pid, comm, false, 0x10);
      }
  const auto folded = paths.folded();
  EXPECT_EQ(folded.weights,
            (PathWeights{{"first;0x10", 120}, {"first;0x10;0x20", 60}, {"then;0x10", 120}, {"then;0x10;0x20", 60}}));
}

// More paths than are told apart, and than are known without their text: no weight is lost.
TEST(FoldedPaths, HaveTheWeightOfAllCallsHoweverManyThereAre) {
  Metadata metadata;
  fill(metadata);
  FoldedPaths paths(metadata);
  std::uint64_t now = 1000;
  constexpr std::uint64_t kFunctions = 300'000;
  for (int round = 0; round < 2; ++round)
    for (std::uint64_t function = 1; function <= kFunctions; ++function)
      for (const bool is_entry : {true, false}) {
        Bytes bytes = is_entry ? opened(7, "x", 1) : closed(7, 1);
        store<std::uint64_t>(bytes, 8, function << 4);
        paths.add(typed(metadata, now += 10, 0, bytes));
      }
  std::uint64_t sum = 0;
  for (const auto& [path, weight] : paths.folded().weights) {
    EXPECT_TRUE(weight == 20 || path == "(others)") << path;
    sum += weight;
  }
  EXPECT_EQ(sum, 2 * 10 * kFunctions);
}

// Its probe may be switched on late.
TEST(CallPairs, AReturnThatComesLateMakesCallsFromThenOn) {
  Metadata metadata;
  fill(metadata);
  CallPairs pairs;
  std::uint64_t now = 0;
  const auto record = [&](bool is_entry, std::uint64_t function) {
    Bytes bytes = is_entry ? opened(7, "x", 1) : closed(7, 1);
    store<std::uint64_t>(bytes, 8, function);
    return pairs.add(typed(metadata, now += 10, 0, bytes));
  };
  for (int i = 0; i < 600; ++i) {
    record(true, 0x10);
    record(true, 0x30);
    record(false, 0x10);
  }
  EXPECT_FALSE(record(false, 0x30));
  record(true, 0x30);
  EXPECT_TRUE(record(false, 0x30));
}

}  // namespace
}  // namespace kevt::record
