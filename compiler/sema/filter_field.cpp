// The problem: `cpu` may be the event's own field or the number of the CPU; `s` may be text or a number.
//
// The idea: look in the kernel's order, and decide by the type the format file shows whether a field is
// text: __data_loc char[] (also of arrays of strings), char[N], char * and const char *.
//
//   p:ev f s=+0(%si):string a=+0(%sp):u32[4]     s is text; a is a number of 16 bytes, which never holds
//
// It does not know the operators. Mirrors trace_find_event_field() and the generic fields of
// kernel/trace/trace_events.c, and filter_assign_type(), is_string_field() of trace_events_filter.c, 6.1.
#include "compiler/sema/filter_field.h"

#include <array>

namespace kevt::sema {
namespace {

using model::FilterOperand;

bool is_text_type(const model::RecordField& field) {
  if (model::RecordLayout::is_string(field)) return true;
  if (field.type.kind == model::TypeKind::Char && field.type.array_count > 0) return true;
  const std::string_view type = field.type.text;
  if (type == "char *" || type == "const char *") return true;
  return type.find('[') != std::string_view::npos && type.find("char") != std::string_view::npos;
}

struct GenericField {
  std::string_view name;
  FilterField field;
};

constexpr FilterField number(FilterOperand source, std::uint32_t bytes, bool is_signed) {
  return {.source = source, .index = 0, .is_string = false, .is_signed = is_signed, .bytes = bytes};
}
constexpr FilterField kComm = {
    .source = FilterOperand::Comm, .index = 0, .is_string = true, .is_signed = false, .bytes = 0};
constexpr FilterField kCpu = number(FilterOperand::Cpu, 4, true);

// A number of 0 bytes: comparisons with it never hold.
constexpr FilterField kStacktrace = number(FilterOperand::CommonPid, 0, false);

constexpr std::array<GenericField, 9> kGenericFields = {{
    {"CPU", kCpu},
    {"cpu", kCpu},
    {"common_cpu", kCpu},
    {"COMM", kComm},
    {"comm", kComm},
    {"common_type", number(FilterOperand::CommonType, 2, false)},
    {"common_flags", number(FilterOperand::CommonFlags, 1, false)},
    {"common_preempt_count", number(FilterOperand::CommonPreemptCount, 1, false)},
    {"common_pid", number(FilterOperand::CommonPid, 4, true)},
}};

}  // namespace

std::optional<FilterField> find_filter_field(std::string_view name, const model::RecordLayout& layout,
                                             dialect::Dialect dialect) {
  for (std::uint32_t index = 0; index < layout.fields.size(); ++index) {
    const model::RecordField& field = layout.fields[index];
    if (field.name != name) continue;
    return FilterField{.source = FilterOperand::RecordField,
                       .index = index,
                       .is_string = is_text_type(field),
                       .is_signed = field.is_signed,
                       .is_float = field.type.kind == model::TypeKind::Float,
                       .is_hex = field.type.kind == model::TypeKind::HexBytes,
                       .is_counted = field.type.is_counted,
                       .bytes = field.size,
                       .names = field.type.array_count == 0 ? field.type.names.get() : nullptr};
  }
  if ((name == "stacktrace" || name == "STACKTRACE") && dialect.has(dialect::Feature::StacktraceFilter)) {
    return kStacktrace;
  }
  for (const GenericField& generic : kGenericFields) {
    if (generic.name == name) return generic.field;
  }
  return std::nullopt;
}

}  // namespace kevt::sema
