// The problem: filters are checked against events; the corpus has five that its set-up defines, five of the
// trigger corpus, and three of the kernel's own.
//
// The idea: each event is one line of text, `name:type`, laid out back to back. Types are u8 … s64, `str`
// (__data_loc char[]), `text16` (char[16]), `ptr` (const char *) and `big16` (a number of 16 bytes).
//
// Offsets of synthetic and static events differ from the kernel's; no filter depends on them.
#include "tests/golden/filter_fixtures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

namespace kevt::golden {
namespace {

using model::RecordField;
using model::RecordLayout;
using model::TypeKind;

struct Event {
  std::string_view name;
  std::string_view fields;
};

constexpr Event kEvents[] = {
    {"kprobes/fk", "__probe_ip:u64 u8:u8 s8:s8 u16:u16 s16:s16 u32:u32 s32:s32 u64:u64 s64:s64 x64:u64"},
    {"kprobes/fs", "__probe_ip:u64 str:str ustr:str sym:u64 arr:big16 sarr:str bf:u32 who:str lit:str n:s32 plain:u64"},
    {"uprobes/fu", "__probe_ip:u64 a:s32 b:u32 name:str"},
    {"kprobes/fr", "__probe_func:u64 __probe_ret_ip:u64 ret:s64"},
    {"synthetic/fsyn", "lat:u64 pid:s32 name:text16 dyn:str x:s32 y:u64 b:s8 c:u8"},
    {"uprobes/ta", "__probe_ip:u64 i:s32 m:s32 v:s64 p:u64"},
    {"uprobes/tb", "__probe_ip:u64 id:s32 val:s64"},
    {"uprobes/tc", "__probe_ip:u64 id:s32 val:s64"},
    {"uprobes/ts", "__probe_ip:u64 s:str n:u64 who:str"},
    {"synthetic/tsyn", "id:s32 d:s64 who:s32"},
    {"sched/sched_switch",
     "prev_comm:text16 prev_pid:s32 prev_prio:s32 prev_state:s64 next_comm:text16 next_pid:s32 next_prio:s32"},
    {"sched/sched_process_exec", "filename:str pid:s32 old_pid:s32"},
    {"syscalls/sys_enter_openat", "__syscall_nr:s32 dfd:u64 filename:ptr flags:u64 mode:u64"},
};

RecordField make_field(std::string_view name, std::string_view type) {
  RecordField field;
  field.name = name;
  field.size = 8;
  if (type == "str") {
    field.type.kind = TypeKind::String;
    field.size = 4;
    field.is_signed = true;
  } else if (type == "text16") {
    field.type.kind = TypeKind::Char;
    field.type.bytes = 1;
    field.type.array_count = 16;
    field.size = 16;
  } else if (type == "ptr") {
    field.type.text = "const char *";
  } else if (type == "big16") {
    field.type.kind = TypeKind::Unsigned;
    field.type.bytes = 4;
    field.type.array_count = 4;
    field.size = 16;
  } else {
    field.is_signed = type[0] == 's';
    field.type.kind = field.is_signed ? TypeKind::Signed : TypeKind::Unsigned;
    field.size = static_cast<std::uint32_t>(std::stoul(std::string(type.substr(1)))) / 8;
    field.type.bytes = static_cast<std::uint8_t>(field.size);
  }
  return field;
}

RecordLayout make_layout(std::string_view fields) {
  RecordLayout layout;
  while (!fields.empty()) {
    const std::string_view word = fields.substr(0, fields.find(' '));
    fields.remove_prefix(std::min(fields.size(), word.size() + 1));
    const std::size_t colon = word.find(':');
    RecordField field = make_field(word.substr(0, colon), word.substr(colon + 1));
    field.offset = layout.fixed_size;
    layout.fixed_size += field.size;
    layout.has_dynamic = layout.has_dynamic || RecordLayout::is_string(field);
    layout.fields.push_back(std::move(field));
  }
  return layout;
}

const std::map<std::string, RecordLayout, std::less<>>& layouts() {
  static const auto all = [] {
    std::map<std::string, RecordLayout, std::less<>> made;
    for (const Event& event : kEvents) made.emplace(event.name, make_layout(event.fields));
    return made;
  }();
  return all;
}

std::string_view glob_name(model::GlobKind kind) {
  switch (kind) {
    case model::GlobKind::Full:
      return "full";
    case model::GlobKind::Prefix:
      return "prefix";
    case model::GlobKind::Suffix:
      return "suffix";
    case model::GlobKind::Middle:
      return "middle";
    case model::GlobKind::Glob:
      return "glob";
  }
  std::unreachable();
}

std::string_view op_name(model::CompareOp op) {
  switch (op) {
    case model::CompareOp::Equal:
      return "==";
    case model::CompareOp::NotEqual:
      return "!=";
    case model::CompareOp::Less:
      return "<";
    case model::CompareOp::LessEqual:
      return "<=";
    case model::CompareOp::Greater:
      return ">";
    case model::CompareOp::GreaterEqual:
      return ">=";
    case model::CompareOp::BitAnd:
      return "&";
    case model::CompareOp::Glob:
      return "~";
  }
  std::unreachable();
}

std::string source_name(const model::FilterPredicate& predicate) {
  switch (predicate.source) {
    case model::FilterOperand::Unbound:
      return "unbound";
    case model::FilterOperand::RecordField:
      return fmt::format("field{}", predicate.field);
    case model::FilterOperand::CommonType:
      return "type";
    case model::FilterOperand::CommonFlags:
      return "flags";
    case model::FilterOperand::CommonPreemptCount:
      return "preempt";
    case model::FilterOperand::CommonPid:
      return "pid";
    case model::FilterOperand::Cpu:
      return "cpu";
    case model::FilterOperand::Comm:
      return "comm";
  }
  std::unreachable();
}

std::string describe_predicate(const model::FilterPredicate& predicate) {
  const std::string source = source_name(predicate);
  const std::string_view user = predicate.modifier == model::FieldModifier::UserString ? " user" : "";
  if (predicate.is_string) {
    return fmt::format("({}{} {}{} \"{}\")", source, user, predicate.negated ? "not " : "", glob_name(predicate.glob),
                       predicate.text);
  }
  if (predicate.bytes == 0) return fmt::format("({}{} {} never)", source, user, op_name(predicate.op));
  const std::string value = predicate.is_signed ? fmt::format("{}", static_cast<std::int64_t>(predicate.value))
                                                : fmt::format("{}", predicate.value);
  return fmt::format("({}{} {} {}{} {})", source, user, op_name(predicate.op), predicate.is_signed ? "s" : "u",
                     8 * predicate.bytes, value);
}

}  // namespace

const RecordLayout* fixture_layout(std::string_view event) {
  const auto found = layouts().find(event);
  return found == layouts().end() ? nullptr : &found->second;
}

std::vector<std::string> fixture_events() {
  std::vector<std::string> names;
  for (const auto& [name, layout] : layouts()) names.push_back(name);
  return names;
}

std::string describe(const model::FilterExpr& filter) {
  std::string text;
  switch (filter.node) {
    case model::FilterNode::Predicate:
      return describe_predicate(filter.predicate);
    case model::FilterNode::And:
      text = "(and";
      break;
    case model::FilterNode::Or:
      text = "(or";
      break;
    case model::FilterNode::Not:
      text = "(not";
      break;
  }
  for (const model::FilterExpr& child : filter.children) text += " " + describe(child);
  return text + ")";
}

std::string errno_name(int value) {
  switch (value) {
    case 0:
      return "";
    case EPERM:
      return "EPERM";
    case ENOENT:
      return "ENOENT";
    case ESRCH:
      return "ESRCH";
    case EINVAL:
      return "EINVAL";
    default:
      return fmt::format("errno {}", value);
  }
}

}  // namespace kevt::golden
