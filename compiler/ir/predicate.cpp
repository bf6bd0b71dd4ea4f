#include "compiler/ir/predicate.h"

#include "compiler/ir/interpreter.h"
#include "compiler/model/comparison.h"
#include "compiler/model/floating.h"

namespace kevt::ir {

bool accepts_number(const model::FilterPredicate& predicate, std::uint64_t value) {
  if (predicate.bytes == 0) return false;
  if (predicate.is_float)
    return model::compare(predicate.op, model::float_value(value, predicate.bytes),
                          model::float_value(predicate.value, predicate.bytes));
  const unsigned unused = 64 - 8u * predicate.bytes;
  if (predicate.is_signed)
    return model::compare(predicate.op, static_cast<std::int64_t>(value << unused) >> unused,
                          static_cast<std::int64_t>(predicate.value));
  return model::compare(predicate.op, value << unused >> unused, predicate.value);
}

bool accepts_text(const model::FilterPredicate& predicate, std::string_view text) {
  return match_text(predicate.glob, predicate.text, text) != predicate.negated;
}

}  // namespace kevt::ir
