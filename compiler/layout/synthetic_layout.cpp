// Types of synthetic events.
//
//   pid_t → 4 bytes in a slot of 8, "%d"     char[16] → 16 bytes in a slot of 256     char[] → a data_loc word
//
// Problem: a field's size in the format file (size:4) and its room in the record (8) differ, and signs follow
// from the type's spelling: types that begin with 'u', and gfp_t, are unsigned; dynamic fields are signed.
// Mirrors synth_field_size(), synth_field_fmt() and synth_event_define_fields() of 6.1.
#include "compiler/layout/synthetic_layout.h"

#include <algorithm>

namespace kevt::layout {
namespace {

struct Scalar {
  std::string_view type;
  std::uint32_t bytes;
  std::string_view format;
};

constexpr Scalar kScalars[] = {
    {"s64", 8, "%lld"}, {"u64", 8, "%llu"},
    {"s32", 4, "%d"},   {"u32", 4, "%u"},
    {"s16", 2, "%d"},   {"u16", 2, "%u"},
    {"s8", 1, "%d"},    {"u8", 1, "%u"},
    {"char", 1, "%d"},  {"unsigned char", 1, "%u"},
    {"int", 4, "%d"},   {"unsigned int", 4, "%u"},
    {"long", 8, "%ld"}, {"unsigned long", 8, "%lu"},
    {"bool", 1, "%d"},  {"pid_t", 4, "%d"},
    {"gfp_t", 4, "%x"},
};

constexpr std::uint32_t kSlotBytes = 8;
constexpr std::uint32_t kTextSlotBytes = 256;

const Scalar* find_scalar(std::string_view type) {
  const auto* found = std::ranges::find(kScalars, type, &Scalar::type);
  return found == std::end(kScalars) ? nullptr : found;
}

}  // namespace

bool is_synthetic_scalar(std::string_view type) { return find_scalar(type) != nullptr; }
bool is_synthetic_text(const model::SyntheticField& field) { return field.type.contains("char["); }
bool is_synthetic_stack(const model::SyntheticField& field) {
  return !is_synthetic_text(field) && field.type.contains("long[");
}
bool is_synthetic_dynamic(const model::SyntheticField& field) { return field.is_array && field.array_count == 0; }

std::uint32_t synthetic_size(const model::SyntheticField& field) {
  if (const Scalar* scalar = find_scalar(field.type)) return scalar->bytes;
  return is_synthetic_dynamic(field) ? kSlotBytes : field.array_count;
}

std::uint32_t synthetic_slot(const model::SyntheticField& field) {
  return is_synthetic_text(field) && !is_synthetic_dynamic(field) ? kTextSlotBytes : kSlotBytes;
}

bool is_synthetic_signed(const model::SyntheticField& field) {
  if (is_synthetic_dynamic(field)) return true;
  return !field.type.starts_with('u') && field.type != "gfp_t";
}

std::string_view synthetic_format(const model::SyntheticField& field) {
  if (const Scalar* scalar = find_scalar(field.type)) return scalar->format;
  return is_synthetic_text(field) || is_synthetic_stack(field) ? "%s" : "%llu";
}

}  // namespace kevt::layout
