// RecordLayout: the bytes of one record, exactly as the event's `format` file describes them.
//
//   8 common bytes (u16 type, u8 flags, u8 preempt_count, s32 pid), then the addresses
//   (__probe_ip | __probe_func, __probe_ret_ip), then the arguments back to back without
//   alignment, then the bytes of the strings in argument order.  A string's word in the record
//   is (length << 16) | offset, offset from the record's start, length with the final NUL,
//   0 when it could not be read.  (kernel/trace/trace_probe.c, trace_kprobe.c of 6.1)
//   An array that is counted at the hit lies there, too; its word's length is that of its items.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/model/definition.h"

namespace kevt::model {

inline constexpr std::uint8_t kDataLocBytes = 4;  // of a string's word

// Bytes of a field of that type in the fixed part of a record: of texts and counted arrays the data_loc word.
constexpr std::uint32_t field_bytes(const TypeSpec& type) {
  if (type.is_counted) return kDataLocBytes;
  return type.bytes * (type.array_count == 0 ? 1 : type.array_count);
}

enum class FieldRole : std::uint8_t { ProbeIp, ProbeFunc, ProbeRetIp, Argument };

struct RecordField {
  FieldRole role = FieldRole::Argument;
  std::string name;
  TypeSpec type;
  std::uint32_t offset = 0;     // bytes from the record's start
  std::uint32_t size = 0;       // bytes in the fixed part: field_bytes()
  bool is_signed = false;       // as the format file says
  std::uint32_t arg_index = 0;  // Argument only: index into Definition::args
  // Strings: the byte that the word's offset counts from. 0: the record's start; `__rel_loc`: behind the word.
  std::uint32_t located_from = 0;
};

struct RecordLayout {
  std::vector<RecordField> fields;  // in record order, without the 8 common bytes
  std::uint32_t fixed_size = 8;     // bytes before the dynamic data
  bool has_dynamic = false;         // any string, any counted array

  static bool is_string(const RecordField& field) {
    return field.type.kind == TypeKind::String || field.type.kind == TypeKind::UserString ||
           field.type.kind == TypeKind::SymbolString;
  }
  // Whether the field itself holds a text: char[16] of the kernel's events and of synthetic ones.
  static bool is_fixed_text(const RecordField& field) {
    if (field.type.kind == TypeKind::Char) return field.type.array_count > 0;
    return field.type.text.contains("char[") && !field.type.text.ends_with("[]");
  }
  // Whether the field is the word of one string, whose bytes lie elsewhere in the record.
  static bool is_located_text(const RecordField& field) {
    return field.type.array_count == 0 && !is_fixed_text(field) &&
           (field.type.kind == TypeKind::String || field.type.kind == TypeKind::UserString);
  }
};

inline constexpr std::uint32_t kCommonBytes = 8;
// A bit of common_flags between the hit and the engine: the hit has asked its gates (ir::Program::gates). The engine
// clears the bit before anybody else reads the record.
inline constexpr std::uint8_t kGatesWereAsked = 0x80;
// The same between a hit in a process and its runtime: the stack comes behind the record (common/abi/hit_stack.h).
inline constexpr std::uint8_t kHasStack = 0x40;
inline constexpr std::uint32_t kMaxStringBytes = 4096;      // with the NUL (MAX_STRING_SIZE / PATH_MAX)
inline constexpr std::uint32_t kMaxRecordBytes = 4080 - 4;  // one ring-buffer page less its header and event word

}  // namespace kevt::model
