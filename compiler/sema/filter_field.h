// Which field a filter's word names, and how the kernel's filter sees that field.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "compiler/dialect/dialect.h"
#include "compiler/model/filter.h"
#include "compiler/model/record_layout.h"

namespace kevt::sema {

struct FilterField {
  model::FilterOperand source = model::FilterOperand::Unbound;
  std::uint32_t index = 0;  // RecordField only: into RecordLayout::fields
  bool is_string = false;
  bool is_signed = false;
  bool is_float = false;
  bool is_hex = false;      // bytes in hexadecimal, which a text may name
  bool is_counted = false;  // an array whose length is fetched
  std::uint32_t bytes = 0;
  const model::EnumNames* names = nullptr;  // owned by the layout; nullptr: the field is no enumeration
};

// Looks among the event's own fields, then CPU and COMM (and a stack trace, which equals no number), then the common
// ones. nullopt: there is no such field.
std::optional<FilterField> find_filter_field(
    std::string_view name, const model::RecordLayout& layout,
    dialect::Dialect dialect = dialect::Dialect::of(dialect::Kernel::Linux6_1));

}  // namespace kevt::sema
