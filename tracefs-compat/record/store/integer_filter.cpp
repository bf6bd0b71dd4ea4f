// A filter record by record jumps at each comparison, and nobody can foresee where to: 10 ns each. Here each comparison
// runs over all records before the next one does, without a jump, and leaves a bit for each; `!`, `&&` and `||` are
// operations on 64 bits.
#include "tracefs-compat/record/store/integer_filter.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace kevt::record {
namespace {

constexpr std::uint64_t kSignBit = 1ull << 63;

template <class Holds>
RowBits bits_of(std::size_t records, Holds holds) {
  constexpr std::size_t kBits = 64;
  RowBits bits((records + kBits - 1) / kBits);
  for (std::size_t word = 0; word < bits.size(); ++word) {
    const std::size_t first = word * kBits, count = std::min(kBits, records - first);
    std::uint64_t made = 0;
    for (std::size_t i = 0; i < count; ++i) made |= std::uint64_t{holds(first + i)} << i;
    bits[word] = made;
  }
  return bits;
}

// By its sign, to 64 bits.
template <class Number>
std::uint64_t widened(Number number) {
  if constexpr (std::is_signed_v<Number>) return static_cast<std::uint64_t>(std::int64_t{number});
  return number;
}

// holds(NUMBER) of the field at `offset`.
template <class Number, class Holds>
RowBits of_field(const RecordBatch& batch, std::uint32_t offset, Holds holds) {
  const std::uint8_t* const fields = batch.payload.data() + offset;
  const std::uint64_t end = std::uint64_t{offset} + sizeof(Number);
  const auto read = [&](std::size_t i) {
    Number number;
    std::memcpy(&number, fields + batch.begins[i], sizeof number);
    return widened(number);
  };
  if (end <= batch.least_size) return bits_of(batch.begins.size(), [&](std::size_t i) { return holds(read(i)); });
  return bits_of(batch.begins.size(), [&](std::size_t i) { return holds(end <= batch.sizes[i] ? read(i) : 0); });
}

template <class Holds>
RowBits of_fields(const RecordBatch& batch, std::uint32_t offset, std::uint8_t bytes, bool is_signed, Holds holds) {
  switch (bytes) {
    case 1:
      return is_signed ? of_field<std::int8_t>(batch, offset, holds) : of_field<std::uint8_t>(batch, offset, holds);
    case 2:
      return is_signed ? of_field<std::int16_t>(batch, offset, holds) : of_field<std::uint16_t>(batch, offset, holds);
    case 4:
      return is_signed ? of_field<std::int32_t>(batch, offset, holds) : of_field<std::uint32_t>(batch, offset, holds);
    default:
      return of_field<std::uint64_t>(batch, offset, holds);
  }
}

}  // namespace

std::optional<IntegerFilter::Test> IntegerFilter::test_of(const model::FilterPredicate& p, const EventFormat& event) {
  if (p.is_string || p.is_float || !std::has_single_bit(p.bytes) || p.bytes > 8) return std::nullopt;
  Test test{.source = p.source, .bytes = p.bytes, .is_signed = p.is_signed};
  if (p.source == model::FilterOperand::RecordField) {
    const Field& field = event.fields[p.field];
    const bool is_integer = field.kind == FieldKind::Number && !field.is_float && !field.is_hex;
    if (!is_integer || p.bytes != field.item_bytes) return std::nullopt;
    test.offset = field.offset;
  } else if (p.bytes != 4 || (p.source != model::FilterOperand::CommonPid && p.source != model::FilterOperand::Cpu)) {
    return std::nullopt;
  }
  constexpr std::uint64_t kLast = ~0ull;
  const std::uint64_t value = p.is_signed ? p.value ^ kSignBit : p.value;
  const auto set = [&test](std::uint64_t low, std::uint64_t high, bool is_inside = true) {
    test.low = low;
    test.span = high - low;
    test.is_inside = is_inside;
    return test;
  };
  switch (p.op) {
    case model::CompareOp::Equal:
      return set(value, value);
    case model::CompareOp::NotEqual:
      return set(value, value, false);
    case model::CompareOp::Less:
      return set(value, kLast, false);
    case model::CompareOp::LessEqual:
      return set(0, value);
    case model::CompareOp::Greater:
      return set(0, value, false);
    case model::CompareOp::GreaterEqual:
      return set(value, kLast);
    case model::CompareOp::BitAnd:
      test.is_mask = true;
      test.low = p.value;
      return test;
    case model::CompareOp::Glob:
      break;
  }
  return std::nullopt;
}

bool IntegerFilter::add(const model::FilterExpr& filter, const EventFormat& event) {
  Node node{.node = filter.node, .children = static_cast<std::uint32_t>(filter.children.size())};
  if (filter.node == model::FilterNode::Predicate) {
    const auto test = test_of(filter.predicate, event);
    if (!test) return false;
    node.test = *test;
  }
  for (const model::FilterExpr& child : filter.children)
    if (!add(child, event)) return false;
  nodes_.push_back(node);
  return true;
}

std::optional<IntegerFilter> IntegerFilter::of(const model::FilterExpr& filter, const EventFormat& event) {
  IntegerFilter made;
  return made.add(filter, event) ? std::optional(std::move(made)) : std::nullopt;
}

bool IntegerFilter::asks_for(model::FilterOperand source) const {
  return std::ranges::any_of(
      nodes_, [&](const Node& one) { return one.node == model::FilterNode::Predicate && one.test.source == source; });
}

RowBits IntegerFilter::holds(const Test& test, const RecordBatch& batch) {
  const auto numbers_that = [&](auto holds) {
    if (test.source == model::FilterOperand::CommonPid)
      return bits_of(batch.pids.size(), [&](std::size_t i) {
        return holds(test.is_signed ? widened(batch.pids[i]) : static_cast<std::uint32_t>(batch.pids[i]));
      });
    if (test.source == model::FilterOperand::Cpu)
      return bits_of(batch.cpus.size(), [&](std::size_t i) { return holds(std::uint64_t{batch.cpus[i]}); });
    return of_fields(batch, test.offset, test.bytes, test.is_signed, holds);
  };
  if (test.is_mask) return numbers_that([mask = test.low](std::uint64_t number) { return (number & mask) != 0; });
  const std::uint64_t sign = test.is_signed ? kSignBit : 0, low = test.low, span = test.span;
  if (test.is_inside) return numbers_that([=](std::uint64_t number) { return (number ^ sign) - low <= span; });
  return numbers_that([=](std::uint64_t number) { return (number ^ sign) - low > span; });
}

RowBits IntegerFilter::holds(const RecordBatch& batch) const {
  std::vector<RowBits> stack;
  const auto combine = [&](std::uint32_t children, auto operation) {
    for (; children > 1; --children) {
      const RowBits right = std::move(stack.back());
      stack.pop_back();
      for (std::size_t word = 0; word < right.size(); ++word) operation(stack.back()[word], right[word]);
    }
  };
  for (const Node& node : nodes_) {
    switch (node.node) {
      case model::FilterNode::Predicate:
        stack.push_back(holds(node.test, batch));
        break;
      case model::FilterNode::Not: {
        const auto records = batch.begins.size();
        for (std::uint64_t& word : stack.back()) word = ~word;
        if (records % 64 != 0) stack.back().back() &= (std::uint64_t{1} << records % 64) - 1;
        break;
      }
      case model::FilterNode::And:
        combine(node.children, [](std::uint64_t& left, std::uint64_t right) { left &= right; });
        break;
      case model::FilterNode::Or:
        combine(node.children, [](std::uint64_t& left, std::uint64_t right) { left |= right; });
        break;
    }
  }
  return std::move(stack.back());
}

}  // namespace kevt::record
