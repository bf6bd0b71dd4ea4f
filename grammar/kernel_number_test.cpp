#include "grammar/kernel_number.h"

#include <gtest/gtest.h>

namespace kevt::grammar {
namespace {

TEST(KernelNumber, TakesTheBaseFromThePrefix) {
  EXPECT_EQ(kernel_unsigned("10"), 10U);
  EXPECT_EQ(kernel_unsigned("0x10"), 16U);
  EXPECT_EQ(kernel_unsigned("0X1f"), 31U);
  EXPECT_EQ(kernel_unsigned("010"), 8U);
  EXPECT_EQ(kernel_unsigned("0"), 0U);
  EXPECT_EQ(kernel_unsigned("00"), 0U);
  EXPECT_EQ(kernel_unsigned("+7"), 7U);
}

TEST(KernelNumber, RefusesWhatIsNotANumber) {
  for (const char* text : {"", "+", "-", "0x", "0xg", "08", "1e3", "1 ", " 1", "--1", "+-1", "1_0", "-1"}) {
    EXPECT_EQ(kernel_unsigned(text), std::nullopt) << text;
  }
  for (const char* text : {"", "+", "-", "--1", "-+1", "+-1", "0x-1", "-0x"}) {
    EXPECT_EQ(kernel_signed(text), std::nullopt) << text;
  }
}

TEST(KernelNumber, RefusesWhatDoesNotFit) {
  EXPECT_EQ(kernel_unsigned("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(kernel_unsigned("18446744073709551616"), std::nullopt);
  EXPECT_EQ(kernel_signed("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(kernel_signed("9223372036854775808"), std::nullopt);
  EXPECT_EQ(kernel_signed("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(kernel_signed("-9223372036854775809"), std::nullopt);
  EXPECT_EQ(kernel_signed("-0"), 0);
}

}  // namespace
}  // namespace kevt::grammar
