#include "tracefs-compat/record/histogram_object.h"

#include <gtest/gtest.h>

#include <string>

namespace kevt::record {
namespace {

TEST(HistogramObject, IsOneFlatObjectInALine) {
  EXPECT_TRUE(is_histogram_object(R"({"event":"kprobes:read","rows":[{"keys":{"a":"\"[\\"},"hitcount":1}]})"));
  EXPECT_TRUE(is_histogram_object("{}"));
  const std::string deep(31, '['), up(31, ']');
  EXPECT_TRUE(is_histogram_object(R"({"a":)" + deep + up + "}"));
  EXPECT_FALSE(is_histogram_object(R"({"a":[)" + deep + up + "]}"));
  EXPECT_FALSE(is_histogram_object(R"({"a":)" + std::string(400'000, '[')));
  for (const char* const other : {"", "[]", "1", "{", "{}}", R"({"a":"b)", R"({"a":"\)", "{\"a\":1,\n\"b\":2}"})
    EXPECT_FALSE(is_histogram_object(other)) << other;
  EXPECT_FALSE(is_histogram_object(std::string_view("{\"a\":1}\0 more", 13)));
}

}  // namespace
}  // namespace kevt::record
