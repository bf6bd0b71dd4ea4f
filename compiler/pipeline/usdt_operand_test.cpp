#include "compiler/pipeline/usdt_operand.h"

#include <gtest/gtest.h>

namespace kevt::pipeline {
namespace {

struct Row {
  const char* text;
  const char* fetch;
  unsigned bytes;
  bool is_signed;
  bool is_float = false;
};

TEST(UsdtOperand, WhatAFetchArgumentSays) {
  for (const Row& row :
       {Row{"8@%rdi", "%di", 8, false}, Row{"-4@%esi", "%si", 4, true}, Row{"1@%al", "%ax", 1, false},
        Row{"1@%dil", "%di", 1, false}, Row{"2@%r9w", "%r9", 2, false}, Row{"-8@%r15", "%r15", 8, true},
        Row{"4@%r10d", "%r10", 4, false}, Row{"8@%rsp", "%sp", 8, false}, Row{"-4@$-42", "\\-42", 4, true},
        Row{"8@$0x10", "\\16", 8, false}, Row{"8@(%rax)", "+0(%ax)", 8, false},
        Row{"-4@-20(%rbp)", "-20(%bp)", 4, true}, Row{"4@0x10(%rsp)", "+16(%sp)", 4, false},
        Row{"-4@0x3010(%file)", "@+0x3010", 4, true}, Row{"%rdi", "%di", 8, false},
        Row{"8f@%xmm0", "%xmm0", 8, false, true}, Row{"-4f@8(%rsp)", "+8(%sp)", 4, false, true}}) {
    const auto made = usdt_operand(row.text);
    ASSERT_TRUE(made.has_value()) << row.text << ": " << made.error();
    EXPECT_EQ(made->fetch, row.fetch) << row.text;
    EXPECT_EQ(made->bytes, row.bytes) << row.text;
    EXPECT_EQ(made->is_signed, row.is_signed) << row.text;
    EXPECT_EQ(made->is_float, row.is_float) << row.text;
  }
}

TEST(UsdtOperand, WhatNoneSays) {
  for (const char* text :
       {"8@8(%rax,%rbx,4)", "1@%ah", "2f@%xmm0", "8f@%ymm0", "8f@%xmm16", "3@%rax", "8@", "8@(%rax", "8@$name",
        "x@%rax", "", "4@counter(%rip)", "8@8(rax)", "99999999999999999999@%rax", "8@name(%rax)"})
    EXPECT_FALSE(usdt_operand(text).has_value()) << text;
}

TEST(UsdtOperand, SplitAtBlanks) {
  EXPECT_EQ(split_usdt_arguments("8@%rdi  -4@%esi "), (std::vector<std::string_view>{"8@%rdi", "-4@%esi"}));
  EXPECT_TRUE(split_usdt_arguments("").empty());
}

}  // namespace
}  // namespace kevt::pipeline
