// IntegerFilter: a filter that asks only for integers of records, their threads and their CPUs, for many records of one
// event at once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compiler/model/filter.h"
#include "tracefs-compat/record/recording.h"
#include "tracefs-compat/record/store/row_bits.h"

namespace kevt::record {

// Records of one event. The lists have an entry for each; those of threads and CPUs only if the filter asks for them.
struct RecordBatch {
  std::span<const std::uint8_t> payload;
  std::vector<std::uint32_t> begins;  // where a record's bytes begin in the payload
  std::vector<std::uint16_t> sizes;   // how many they are; they lie in the payload
  std::uint16_t least_size = 0;       // none is less
  std::vector<std::int32_t> pids;
  std::vector<std::uint32_t> cpus;
};

class IntegerFilter {
 public:
  // Of a filter that is bound to the event's fields (sema::compile_filter). nullopt: it asks for something else.
  static std::optional<IntegerFilter> of(const model::FilterExpr& filter, const EventFormat& event);
  bool asks_for(model::FilterOperand source) const;
  // A bit for each record. What a record is too short for compares as 0.
  RowBits holds(const RecordBatch& batch) const;

 private:
  // A comparison as a range: the number, its sign bit turned when it has one, minus `low`, is at most `span`, or not.
  // Of `&` `low` is the mask.
  struct Test {
    model::FilterOperand source = model::FilterOperand::RecordField;  // or CommonPid, Cpu
    std::uint32_t offset = 0;
    std::uint8_t bytes = 8;
    bool is_signed = false, is_mask = false, is_inside = true;
    std::uint64_t low = 0, span = 0;
  };
  // Children stand before their parents.
  struct Node {
    model::FilterNode node = model::FilterNode::Predicate;
    Test test;                   // of a predicate
    std::uint32_t children = 0;  // of `&&` and `||`
  };

  static std::optional<Test> test_of(const model::FilterPredicate& predicate, const EventFormat& event);
  static RowBits holds(const Test& test, const RecordBatch& batch);
  bool add(const model::FilterExpr& filter, const EventFormat& event);

  std::vector<Node> nodes_;
};

}  // namespace kevt::record
