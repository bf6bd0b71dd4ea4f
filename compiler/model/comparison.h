// The meaning of a filter's operators, for numbers of a signed, unsigned or floating point type.
#pragma once

#include <type_traits>

#include "compiler/model/filter.h"

namespace kevt::model {

// False for `&` of floating point numbers, which sema refuses, and for globs.
template <class Number>
bool compare(CompareOp op, Number left, Number right) {
  switch (op) {
    case CompareOp::Equal:
      return left == right;
    case CompareOp::NotEqual:
      return left != right;
    case CompareOp::Less:
      return left < right;
    case CompareOp::LessEqual:
      return left <= right;
    case CompareOp::Greater:
      return left > right;
    case CompareOp::GreaterEqual:
      return left >= right;
    case CompareOp::BitAnd:
      if constexpr (std::is_integral_v<Number>) return (left & right) != 0;
      return false;
    case CompareOp::Glob:
      return false;
  }
  return false;
}

}  // namespace kevt::model
