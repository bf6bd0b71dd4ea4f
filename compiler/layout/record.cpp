// Where the bytes of a record lie.
//
//   r:e f a=%di:u8 s=+0(%si):string  →  __probe_func @8, __probe_ret_ip @16, a @24 (1), s @25 (4), fixed 29
//
// Arguments follow the addresses back to back, without alignment; an eprobe has no addresses; fields of
// synthetic events take 8 bytes each, fixed text 256.
// Mirrors trace_probe.c and the define_fields functions of trace_kprobe.c, trace_uprobe.c, trace_eprobe.c
// and trace_events_synth.c (6.1). Not here: the bytes themselves.
#include <algorithm>
#include <cerrno>

#include "compiler/layout/field_type.h"
#include "compiler/layout/layout.h"
#include "compiler/layout/synthetic_layout.h"

namespace kevt::layout {
namespace {

constexpr std::uint32_t kMaxArgumentBytes = 3072;  // MAX_PROBE_EVENT_SIZE
constexpr std::uint32_t kAddressBytes = 8;

void add_field(model::RecordLayout& layout, model::RecordField field) {
  field.offset = layout.fixed_size;
  layout.fixed_size += field.size;
  layout.fields.push_back(std::move(field));
}

void add_address(model::RecordLayout& layout, model::FieldRole role, std::string name) {
  add_field(layout, {.role = role,
                     .name = std::move(name),
                     .type = {.kind = model::TypeKind::Hex, .bytes = kAddressBytes},
                     .size = kAddressBytes});
}

void add_addresses(model::RecordLayout& layout, const model::Definition& definition) {
  if (definition.kind == model::EventKind::Eprobe) return;
  if (definition.probe_kind == model::ProbeKind::Entry) {
    return add_address(layout, model::FieldRole::ProbeIp, "__probe_ip");
  }
  add_address(layout, model::FieldRole::ProbeFunc, "__probe_func");
  add_address(layout, model::FieldRole::ProbeRetIp, "__probe_ret_ip");
}

model::TypeSpec synthetic_type(const model::SyntheticField& field) {
  model::TypeSpec type{.written = true, .text = field.type};
  if (is_synthetic_text(field)) {
    type.kind = model::TypeKind::String;
    type.bytes = model::kDataLocBytes;
  } else {
    type.kind = is_synthetic_signed(field) ? model::TypeKind::Signed : model::TypeKind::Unsigned;
    type.bytes = static_cast<std::uint8_t>(synthetic_size(field));
  }
  return type;
}

model::RecordLayout layout_synthetic(const model::Definition& definition) {
  model::RecordLayout layout;
  for (std::size_t i = 0; i < definition.fields.size(); ++i) {
    const model::SyntheticField& field = definition.fields[i];
    layout.fields.push_back({.role = model::FieldRole::Argument,
                             .name = field.name,
                             .type = synthetic_type(field),
                             .offset = layout.fixed_size,
                             .size = synthetic_size(field),
                             .is_signed = is_synthetic_signed(field),
                             .arg_index = static_cast<std::uint32_t>(i)});
    layout.fixed_size += synthetic_slot(field);
    layout.has_dynamic |= is_synthetic_dynamic(field);
  }
  return layout;
}

void report_too_big(const model::Definition& definition, const model::FetchArg& arg, diag::Sink& sink) {
  const bool file = definition.kind == model::EventKind::Uprobe;
  const bool event = definition.kind == model::EventKind::Eprobe;
  sink.report({.kind = diag::Kind::EventTooBig,
               .location = file    ? diag::Location::Uprobe
                           : event ? diag::Location::Eprobe
                                   : diag::Location::Kprobe,
               .command = definition.command,
               .column = arg.expr_span.begin,
               .errno_value = E2BIG});
}

}  // namespace

std::optional<model::RecordLayout> layout_record(const model::Definition& definition, diag::Sink& sink) {
  if (definition.kind == model::EventKind::Synthetic) return layout_synthetic(definition);
  model::RecordLayout layout;
  add_addresses(layout, definition);
  const std::uint32_t first = layout.fixed_size;
  for (std::size_t i = 0; i < definition.args.size(); ++i) {
    const model::FetchArg& arg = definition.args[i];
    add_field(layout, {.role = model::FieldRole::Argument,
                       .name = arg.name,
                       .type = arg.type,
                       .size = model::field_bytes(arg.type),
                       .is_signed = is_signed(arg.type),
                       .arg_index = static_cast<std::uint32_t>(i)});
    layout.has_dynamic |= is_string(arg.type.kind) || arg.type.is_counted;
    if (layout.fixed_size - first > kMaxArgumentBytes) {
      report_too_big(definition, arg, sink);
      return std::nullopt;
    }
  }
  return layout;
}

}  // namespace kevt::layout
