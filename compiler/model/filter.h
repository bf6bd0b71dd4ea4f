// FilterExpr: an event filter as a tree, e.g. `a > 3 && (name ~ "x*" || !(b & 4))`  (docs/language.md).
//
// Grammar leaves operands as written; sema binds each predicate to a field, converts its operand
// and removes '!' in front of globs. `&&` binds tighter than `||`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/model/span.h"

namespace kevt::model {

enum class FilterNode : std::uint8_t { And, Or, Not, Predicate };
enum class CompareOp : std::uint8_t { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, BitAnd, Glob };
enum class FieldModifier : std::uint8_t { None, UserString, Function };  // .ustring, .function
enum class GlobKind : std::uint8_t { Full, Prefix, Suffix, Middle, Glob };

// What a bound predicate reads.
enum class FilterOperand : std::uint8_t {
  Unbound,
  RecordField,  // `field` is an index into RecordLayout::fields
  CommonType,
  CommonFlags,
  CommonPreemptCount,
  CommonPid,
  Cpu,   // CPU, cpu, common_cpu
  Comm,  // COMM, comm
};

struct FilterPredicate {
  // As written.
  std::string field_name;
  FieldModifier modifier = FieldModifier::None;
  CompareOp op = CompareOp::Equal;
  std::string operand;  // quotes removed
  bool operand_quoted = false;
  bool operand_cpus = false;  // CPUS{LIST}, as written
  Span field_span;
  Span op_span;
  Span operand_span;

  // Bound by sema.
  FilterOperand source = FilterOperand::Unbound;
  std::uint32_t field = 0;  // RecordField only
  bool is_string = false;   // string comparison: `text`, `glob`, `negated`
  bool is_signed = false;   // integer comparison
  bool is_float = false;    // `value` is the bits of a floating point number of `bytes`; never with `&`
  std::uint8_t bytes = 0;   // integer comparison: size of the field, 1, 2, 4, 8; 0: the predicate never holds
  std::uint64_t value = 0;  // integer comparison: two's complement, sign-extended when is_signed
  std::string text;         // string: the text to compare with (glob metacharacters as in the kernel's full glob)
  GlobKind glob = GlobKind::Full;
  bool negated = false;  // string: `!=`, or '!' in front of the pattern
};

struct FilterExpr {
  FilterNode node = FilterNode::Predicate;
  std::vector<FilterExpr> children;  // And, Or: two or more; Not: one
  FilterPredicate predicate;         // Predicate only
};

}  // namespace kevt::model
