// layout::append_arguments() (event_text.cpp) decides anew for every record; a LinePlan decides once for each event.
// The former is the reference, and a test compares the two.
#include "runtime-user/engine/text/line_plan.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "compiler/model/floating.h"
#include "compiler/model/record_view.h"

namespace kevt::engine {

namespace {

constexpr std::string_view kFault = "(fault)";

void append_text(std::span<const std::uint8_t> record, std::uint32_t word, std::string& out) {
  const std::uint32_t offset = word & 0xffff, length = word >> 16;
  if (length == 0 || offset > record.size() || length > record.size() - offset) {
    out += kFault;
    return;
  }
  const char* text = reinterpret_cast<const char*>(record.data()) + offset;
  out += '"';
  out.append(text, strnlen(text, length));
  out += '"';
}

}  // namespace

LinePlan::LinePlan(const TracedEvent& event) : head_(event.name + ": (") {
  if (event.owner != target::EventOwner::Eprobe && event.owner != target::EventOwner::Synthetic)
    address_bytes_ = event.probes.front().definition().probe_kind == model::ProbeKind::Return ? 16 : 8;
  for (const model::RecordField& field : event.layout.fields) {
    if (field.role != model::FieldRole::Argument) continue;
    Piece piece{.before = " " + field.name + "=", .offset = field.offset, .bytes = field.type.bytes};
    is_plain_ = is_plain_ && field.type.array_count == 0;
    switch (field.type.kind) {
      case model::TypeKind::Unsigned:
      case model::TypeKind::BigEndian:
      case model::TypeKind::Bitfield:
        piece.form = Form::Unsigned;
        break;
      case model::TypeKind::Signed:
        piece.form = Form::Signed;
        break;
      case model::TypeKind::Hex:
        piece.form = Form::Hex;
        break;
      case model::TypeKind::Float:
        piece.form = Form::Float;
        break;
      case model::TypeKind::String:
      case model::TypeKind::UserString:
        piece.form = Form::Text;
        break;
      default:
        is_plain_ = false;  // left to event_text.cpp
        break;
    }
    pieces_.push_back(std::move(piece));
  }
}

std::array<std::uint64_t, 2> LinePlan::addresses(std::span<const std::uint8_t> record) const {
  std::array<std::uint64_t, 2> found = {};
  if (record.size() >= model::kCommonBytes + address_bytes_)
    std::memcpy(found.data(), record.data() + model::kCommonBytes, address_bytes_);
  return found;
}

void LinePlan::append_arguments(std::span<const std::uint8_t> record, std::string& out) const {
  char digits[24];
  for (const Piece& piece : pieces_) {
    out += piece.before;
    const std::uint64_t value = model::number_at(record, piece.offset, piece.form == Form::Text ? 4 : piece.bytes);
    char* end = digits;
    switch (piece.form) {
      case Form::Unsigned:
        end = std::to_chars(digits, digits + sizeof digits, value).ptr;
        break;
      case Form::Signed: {
        const unsigned shift = 64 - 8 * std::clamp(piece.bytes, 1u, 8u);
        end = std::to_chars(digits, digits + sizeof digits, static_cast<std::int64_t>(value << shift) >> shift).ptr;
        break;
      }
      case Form::Hex:
        digits[0] = '0';
        digits[1] = 'x';
        end = std::to_chars(digits + 2, digits + sizeof digits, value, 16).ptr;
        break;
      case Form::Float:
        model::append_float(value, piece.bytes, out);
        break;
      case Form::Text:
        append_text(record, static_cast<std::uint32_t>(value), out);
        break;
    }
    out.append(digits, static_cast<std::size_t>(end - digits));
  }
}

}  // namespace kevt::engine
