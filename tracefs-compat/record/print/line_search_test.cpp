// Answers of LineSearch beside the lines themselves, for texts that are parts of lines and texts that are not quite.
#include "tracefs-compat/record/print/line_search.h"

#include <gtest/gtest.h>

#include "tracefs-compat/record/print/random_records_testing.h"

namespace kevt::record {
namespace {

using test::below;
using test::one_in;
using test::Random;
using Answer = LineSearch::Answer;

class LineSearchTest : public RandomRecords {};

TEST_F(LineSearchTest, AnswersAsTheLinesDo) {
  const std::uint64_t seed = RandomRecords::seed();
  SCOPED_TRACE(testing::Message() << "KEVT_SEED=" << seed);
  Random random(seed);
  std::vector<Made> all;
  for (int i = 0; i < 60; ++i) all.push_back(record(random));
  for (Made& made : all) made.record.comm = made.comm, made.record.bytes = made.bytes;
  TraceLines lines(metadata_);
  std::vector<std::string> printed;
  for (const Made& made : all) {
    lines.append(made.record, printed.emplace_back());
    printed.back().pop_back();  // its line end
  }
  std::size_t asked = 0, hits = 0, events = 0, maybe = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::string text = text_near(printed[below(random, printed.size())], random);
    if (!LineSearch::takes(text)) continue;
    const bool minds_case = one_in(random, 2);
    LineSearch search(lines, text, minds_case);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool there = minds_case ? printed[i].contains(text) : small(printed[i]).contains(small(text));
      const Answer of_event = search.plan_of(*all[i].record.event).all;
      const Answer of_record = search.ask_line(all[i].record);
      const Answer wanted = there ? Answer::Yes : Answer::No;
      if (of_event != Answer::Maybe) {
        ASSERT_EQ(of_event == Answer::Yes, there) << text << "\n" << printed[i];
      }
      if (of_record == Answer::Maybe) {
        EXPECT_FALSE(minds_case) << text;  // only what may be like a letter of other scripts
      } else {
        ASSERT_EQ(of_record, wanted) << text << "\n" << printed[i];
      }
      ++asked;
      hits += there ? 1 : 0;
      events += of_event != Answer::Maybe ? 1 : 0;
      maybe += of_record == Answer::Maybe ? 1 : 0;
    }
  }
  EXPECT_GT(asked, 100'000u);
  EXPECT_GT(hits, asked / 100);
  EXPECT_GT(events, asked / 20);
  EXPECT_LT(maybe, asked / 20);
}

TEST_F(LineSearchTest, WhatItDoesNotTake) {
  EXPECT_FALSE(LineSearch::takes(""));
  EXPECT_FALSE(LineSearch::takes(std::string(65, 'x')));
  EXPECT_FALSE(LineSearch::takes("caf\xc3\xa9"));
  EXPECT_FALSE(LineSearch::takes("a\nb"));
  EXPECT_TRUE(LineSearch::takes("openat: ("));
}

// There are very many ways to lay digits over numbers without anything between them: then lines are made.
TEST_F(LineSearchTest, FindingAlignmentsEnds) {
  std::string fields, format, values;
  for (int i = 0; i < 12; ++i) {
    fields +=
        "\tfield:s32 n" + std::to_string(i) + ";\toffset:" + std::to_string(8 + 4 * i) + ";\tsize:4;\tsigned:1;\n";
    format += "%d";
    values += ", REC->n" + std::to_string(i);
  }
  const EventFormat& dense = metadata_.formats.add(*parse_format(
      "s", "name: dense\nID: 20004\nformat:\n" + fields + "\nprint fmt: \"" + format + "\"" + values + "\n"));
  TraceLines lines(metadata_);
  LineSearch search(lines, std::string(60, '7') + "=", true);
  EXPECT_FALSE(search.plan_of(dense).is_understood);
  EXPECT_EQ(search.plan_of(dense).all, Answer::Maybe);
}

// An event whose print fmt is not understood is asked line by line.
TEST_F(LineSearchTest, DoesNotGuess) {
  const EventFormat& odd =
      metadata_.formats.add(*parse_format("s",
                                          "name: odd\nID: 20003\nformat:\n\tfield:u32 "
                                          "n;\toffset:8;\tsize:4;\tsigned:0;\n\nprint fmt: \"%d\", foo(REC->n)\n"));
  TraceLines lines(metadata_);
  LineSearch search(lines, "odd", true);
  Made made{.bytes = Bytes(12, 0)};
  made.record = {.event = &odd, .comm = "c", .bytes = made.bytes};
  EXPECT_EQ(search.plan_of(odd).all, Answer::Maybe);
  EXPECT_EQ(search.ask_line(made.record), Answer::Maybe);
}

}  // namespace
}  // namespace kevt::record
