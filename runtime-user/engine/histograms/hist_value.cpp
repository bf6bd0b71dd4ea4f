// How to read a field is worked out once for each trigger: names become offsets; modifiers and operators are applied
// per hit.
//
//   keys=s,v.log2          LocatedText @20        Number @16 (4 bytes, signed), then its logarithm
//   d=common_timestamp-$t  Operation(Time, Reference 0)
//
// Mirrors the hist_field_* functions and hist_fn_call() of kernel/trace/trace_events_hist.c (6.1). Numbers are 64 bits
// and wrap; those with a sign are extended.
#include "runtime-user/engine/histograms/hist_value.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "compiler/sema/filter_field.h"

namespace kevt::engine {

namespace {

using model::FilterOperand;
using model::HistModifier;
using model::HistOperator;
using model::HistSource;

std::string cut_at_nul(std::string_view bytes, std::size_t at_most) {
  bytes = bytes.substr(0, std::min(at_most, bytes.find('\0')));
  return std::string(bytes);
}

// What the kernel makes of a division by a constant: below 2^20 it multiplies by a reciprocal and rounds up, so that
// 2 / 3 is 1 there.
std::uint64_t divide_by_constant(std::uint64_t value, std::uint64_t divisor) {
  constexpr std::uint64_t kUnit = 1 << 20;
  if (std::has_single_bit(divisor)) return value >> std::countr_zero(divisor);
  if (divisor > kUnit || value >= kUnit) return value / divisor;
  return (value * (kUnit / divisor) + kUnit - 1) / kUnit;
}

// As many bytes of the stack, with zeros behind it.
std::string stack_bytes(std::span<const std::uint64_t> stack, std::size_t bytes) {
  std::string key(reinterpret_cast<const char*>(stack.data()), std::min(stack.size_bytes(), bytes));
  key.resize(bytes);
  return key;
}

}  // namespace

HistReader::HistReader(const model::HistField& field, const model::Histogram& histogram,
                       const model::RecordLayout& layout)
    : modifier_(field.modifier),
      op_(field.op),
      constant_(field.constant),
      reference_(field.reference),
      log2_of_negatives_(histogram.log2_of_negatives) {
  if (modifier_ == HistModifier::Buckets) constant_ = field.buckets;
  for (const model::HistField& operand : field.operands) operands_.emplace_back(operand, histogram, layout);
  place(field, layout);
}

void HistReader::place(const model::HistField& field, const model::RecordLayout& layout) {
  switch (field.source) {
    case HistSource::Timestamp:
      form_ = Form::Time;
      return;
    case HistSource::Cpu:
      form_ = Form::Cpu;
      return;
    case HistSource::Comm:
      form_ = Form::Comm;
      return;
    case HistSource::Hitcount:
      form_ = Form::One;
      return;
    case HistSource::Constant:
      form_ = Form::Constant;
      return;
    case HistSource::Reference:
    case HistSource::Alias:
      form_ = Form::Reference;
      return;
    case HistSource::Expression:
      form_ = Form::Operation;
      return;
    case HistSource::Stacktrace:
      form_ = Form::Stack;
      bytes_ = field.bytes;
      break;
    case HistSource::Field:
      break;
  }
  if (field.modifier == HistModifier::Execname && field.is_string) {
    form_ = Form::EntryComm;
    return;
  }
  const auto found = sema::find_filter_field(field.name, layout);
  if (!found) return;
  switch (found->source) {
    case FilterOperand::RecordField: {
      const model::RecordField& place = layout.fields[found->index];
      offset_ = place.offset;
      bytes_ = place.size;
      located_from_ = place.located_from;
      is_signed_ = found->is_signed;
      if (form_ == Form::Stack)
        form_ = Form::LocatedStack;
      else if (field.is_string)
        form_ = model::RecordLayout::is_fixed_text(place) ? Form::FixedText : Form::LocatedText;
      return;
    }
    case FilterOperand::CommonType:
      bytes_ = 2;
      return;
    case FilterOperand::CommonFlags:
      offset_ = 2;
      bytes_ = 1;
      return;
    case FilterOperand::CommonPreemptCount:
      offset_ = 3;
      bytes_ = 1;
      return;
    case FilterOperand::CommonPid:
      offset_ = 4;
      bytes_ = 4;
      is_signed_ = true;
      return;
    case FilterOperand::Cpu:
    case FilterOperand::Comm:
    case FilterOperand::Unbound:
      return;
  }
}

std::uint64_t HistReader::number(const HistHit& hit) const {
  const std::uint64_t value = model::number_at(hit.record, offset_, bytes_);
  if (!is_signed_ || bytes_ == 0 || bytes_ >= sizeof value) return value;
  const unsigned shift = 64 - 8 * bytes_;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << shift) >> shift);
}

std::string HistReader::located(const HistHit& hit) const {
  const auto word = static_cast<std::uint32_t>(model::number_at(hit.record, offset_, model::kDataLocBytes));
  const std::size_t begin = located_from_ + (word & 0xffff), length = word >> 16;
  if (begin > hit.record.size() || length > hit.record.size() - begin) return "";
  return {reinterpret_cast<const char*>(hit.record.data()) + begin, length};
}

std::uint64_t HistReader::operation(const HistHit& hit, const HistKnown& known) const {
  const std::uint64_t left = operands_[0].read(hit, known).number;
  if (op_ == HistOperator::Negate) return 0 - left;
  const std::uint64_t right = operands_[1].read(hit, known).number;
  switch (op_) {
    case HistOperator::Plus:
      return left + right;
    case HistOperator::Minus:
      return left - right;
    case HistOperator::Multiply:
      return left * right;
    case HistOperator::Divide:
      if (right == 0) return ~0ull;
      return operands_[1].form_ == Form::Constant ? divide_by_constant(left, right) : left / right;
    case HistOperator::Negate:
      break;
  }
  std::unreachable();
}

// Applies the modifier: the logarithm, or the begin of the bucket.
std::uint64_t HistReader::measured(std::uint64_t value) const {
  if (modifier_ == HistModifier::Log2) return model::log2_of(value, log2_of_negatives_);
  if (modifier_ == HistModifier::Buckets) return value / constant_ * constant_;
  if (modifier_ == HistModifier::LogLinear) return model::log_linear_of(value);
  return value;
}

HistValue HistReader::read(const HistHit& hit, const HistKnown& known) const {
  switch (form_) {
    case Form::Number:
      return {measured(number(hit)), {}};
    case Form::FixedText: {
      if (offset_ >= hit.record.size()) return {};
      const std::string_view rest(reinterpret_cast<const char*>(hit.record.data()) + offset_,
                                  hit.record.size() - offset_);
      return {0, cut_at_nul(rest.substr(0, bytes_), kHistTextBytes - 1)};
    }
    case Form::LocatedText:
      return {0, cut_at_nul(located(hit), kHistTextBytes - 1)};
    case Form::LocatedStack: {
      std::string bytes = located(hit);
      bytes.resize(kHistStackDepth * sizeof(std::uint64_t));
      return {0, std::move(bytes)};
    }
    case Form::Comm:
      return {0, cut_at_nul(hit.comm, kHistTextBytes - 1)};
    case Form::EntryComm:
      return {0, std::string(known.comm)};
    case Form::Cpu:
      return {measured(hit.cpu), {}};
    case Form::Time:
      return {measured(hit.time), {}};
    case Form::Stack:
      return {0, stack_bytes(hit.stack, bytes_)};
    case Form::Constant:
      return {constant_, {}};
    case Form::Reference:
      return reference_ < known.references.size() ? known.references[reference_] : HistValue{};
    case Form::One:
      return {measured(1), {}};
    case Form::Operation:
      return {measured(operation(hit, known)), {}};
  }
  std::unreachable();
}

}  // namespace kevt::engine
