// Words that the printer and the parser of IR text share.
#pragma once

#include <array>
#include <string_view>

#include "compiler/model/filter.h"

namespace kevt::ir {

// Word i of kevt_registers.
inline constexpr std::array<std::string_view, 21> kRegisterWords = {
    "r15", "r14", "r13", "r12", "bp",      "bx", "r11", "r10",   "r9", "r8", "ax",
    "cx",  "dx",  "si",  "di",  "orig_ax", "ip", "cs",  "flags", "sp", "ss"};

// By CompareOp; Glob is no word of Compare.
inline constexpr std::array<std::string_view, 7> kCompareWords = {"==", "!=", "<", "<=", ">", ">=", "&"};

// By SlotKind.
inline constexpr std::array<std::string_view, 5> kSlotWords = {"symbol", "file", "thread_local", "word", "hit_table"};

// By HitMeasure; a number itself has none.
inline constexpr std::array<std::string_view, 5> kKeptWords = {"", "least", "greatest", "sleast", "sgreatest"};
inline constexpr std::array<std::string_view, 4> kMeasureWords = {"", "log2", "bucket", "loglinear"};

// By GlobKind.
inline constexpr std::array<std::string_view, 5> kGlobWords = {"full", "prefix", "suffix", "middle", "glob"};

}  // namespace kevt::ir
