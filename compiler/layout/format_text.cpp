// The `format` file of an event, byte for byte.
//
//   name: e / ID: 1500 / format: / one line a field / print fmt: "(%lx) a=%u", REC->__probe_ip, REC->a
//
// Problem: libtraceevent, perf and scripts parse it, so its oddities are part of it: arrays lose their count
// (`u8 a[]`), string arrays carry it in the type (`__data_loc char[][2] s`), synthetic events separate
// with ", ". Mirrors f_show() (trace_events.c), __set_print_fmt() (trace_probe.c) and
// __set_synth_event_print_fmt() (trace_events_synth.c) of 6.1.
#include <fmt/format.h>

#include "compiler/layout/field_type.h"
#include "compiler/layout/layout.h"
#include "compiler/layout/synthetic_layout.h"

namespace kevt::layout {
namespace {

constexpr std::string_view kCommonFields =
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
    "\n";

// `type name` with the brackets of the type moved behind the name, except in data_loc types.
std::string declare(std::string_view type, std::string_view name, std::uint32_t items) {
  const std::size_t bracket = type.find('[');
  if (type.starts_with("__data_loc") || bracket == std::string_view::npos) return fmt::format("{} {}", type, name);
  const std::string count = items == 0 ? "" : std::to_string(items);
  return fmt::format("{} {}[{}]", type.substr(0, bracket), name, count);
}

std::string probe_declaration(const model::RecordField& field) {
  if (field.role != model::FieldRole::Argument) return "unsigned long " + field.name;
  std::string type = field_type_name(field.type);
  if (field.type.array_count != 0 && !field.type.is_counted) type += fmt::format("[{}]", field.type.array_count);
  return declare(type, field.name, 0);
}

std::string synthetic_declaration(const model::SyntheticField& field) {
  const std::string type = is_synthetic_dynamic(field) ? "__data_loc " + field.type : field.type;
  return declare(type, field.name, 0);
}

std::string field_line(std::string_view declaration, const model::RecordField& field) {
  return fmt::format("\tfield:{};\toffset:{};\tsize:{};\tsigned:{};\n", declaration, field.offset, field.size,
                     field.is_signed ? 1 : 0);
}

struct PrintFormat {
  std::string format;
  std::string values;
};

// `REC->mode`, as an enumeration by name. libtraceevent takes a negative number for one without a sign, so that
// such a value has two rows.
std::string value_of(const model::TypeSpec& type, std::string value) {
  if (!type.names) return value;
  for (const model::EnumName& known : *type.names) {
    value += fmt::format(", {{ {}, \"{}\" }}", known.value, known.name);
    if (known.value >= 0) continue;
    const std::uint64_t bits = static_cast<std::uint64_t>(known.value) & (~std::uint64_t{0} >> (64 - 8 * type.bytes));
    value += fmt::format(", {{ 0x{:x}, \"{}\" }}", bits, known.name);
  }
  return fmt::format("__print_symbolic({})", value);
}

// The items of a counted array, as kernels print arrays (include/trace/stages/stage3_trace_output.h, 6.1).
std::string counted_value(const model::RecordField& field) {
  const std::string items = fmt::format("__get_dynamic_array({})", field.name);
  const std::string bytes = fmt::format("__get_dynamic_array_len({})", field.name);
  if (field.type.kind == model::TypeKind::HexBytes) return fmt::format("__print_hex_str({}, {})", items, bytes);
  return fmt::format("__print_array({}, {} / {}, {})", items, bytes, field.type.bytes, field.type.bytes);
}

void add_argument(PrintFormat& print, const model::RecordField& field) {
  const std::string_view one = print_format(field.type);
  if (field.type.is_counted) {
    print.format += fmt::format(" {}={}", field.name, one);
    print.values += ", " + counted_value(field);
    return;
  }
  const bool text = is_string(field.type.kind);
  if (field.type.array_count == 0) {
    print.format += fmt::format(" {}={}", field.name, one);
    print.values += ", ";
    print.values += text ? fmt::format("__get_str({})", field.name) : value_of(field.type, "REC->" + field.name);
    return;
  }
  const bool is_list = field.type.kind != model::TypeKind::HexBytes;
  print.format += fmt::format(" {}={}", field.name, is_list ? "{" : "");
  for (std::uint32_t i = 0; i < field.type.array_count; ++i) {
    print.format += fmt::format("{}{}", i == 0 || !is_list ? "" : ",", one);
    const std::string item = fmt::format("{}[{}]", field.name, i);
    print.values += ", ";
    print.values += text ? fmt::format("__get_str({})", item) : value_of(field.type, "REC->" + item);
  }
  if (is_list) print.format += "}";
}

PrintFormat probe_print(const model::Definition& definition, const model::RecordLayout& layout) {
  PrintFormat print;
  if (definition.kind != model::EventKind::Eprobe) {
    const bool entry = definition.probe_kind == model::ProbeKind::Entry;
    print.format = entry ? "(%lx)" : "(%lx <- %lx)";
    print.values = entry ? ", REC->__probe_ip" : ", REC->__probe_func, REC->__probe_ret_ip";
  }
  for (const model::RecordField& field : layout.fields) {
    if (field.role == model::FieldRole::Argument) add_argument(print, field);
  }
  return print;
}

PrintFormat synthetic_print(const model::Definition& definition) {
  PrintFormat print;
  for (const model::SyntheticField& field : definition.fields) {
    print.format += fmt::format("{}{}={}", print.format.empty() ? "" : ", ", field.name, synthetic_format(field));
    if (is_synthetic_stack(field)) {
      print.values += fmt::format(", __get_stacktrace({})", field.name);
    } else if (is_synthetic_dynamic(field)) {
      print.values += fmt::format(", __get_str({})", field.name);
    } else {
      print.values += fmt::format(", REC->{}", field.name);
    }
  }
  return print;
}

}  // namespace

std::string format_text(const model::Definition& definition, const model::RecordLayout& layout, std::uint32_t id) {
  const bool synthetic = definition.kind == model::EventKind::Synthetic;
  std::string text = fmt::format("name: {}\nID: {}\nformat:\n{}", definition.event, id, kCommonFields);
  for (const model::RecordField& field : layout.fields) {
    text += field_line(synthetic ? synthetic_declaration(definition.fields[field.arg_index]) : probe_declaration(field),
                       field);
  }
  const PrintFormat print = synthetic ? synthetic_print(definition) : probe_print(definition, layout);
  text += fmt::format("\nprint fmt: \"{}\"{}\n", print.format, print.values);
  return text;
}

}  // namespace kevt::layout
