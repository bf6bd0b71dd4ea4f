// Members behind members, found in the target's types.
//
//   file->f_path.dentry->d_name    argument 1, read at +f_path.dentry, then at +d_name: `+24(+64($arg1))`
//   (S,m)x->f                      x points to the member m of an S: f is read at +(f − m)
//
// Problem: each `->` reads memory, each `.` only adds, and the kernel reports a mistake at the field where it stops.
// Idea: one loop over groups of dots, with the column of the current field. A typecast or a per-CPU access has an
// operand inside, which is resolved first: the kernel unwinds from the inside, too.
// From 6.12 on the kernel computes a caret behind the last field from two unrelated addresses; here it is at the field.
// Mirrors parse_btf_arg(), parse_btf_field() and unwind_parse_states() of kernel/trace/trace_probe.c (6.12, 7.3).
#include "compiler/sema/resolve_fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/model/record_layout.h"
#include "compiler/target/near_misses.h"

namespace kevt::sema {
namespace {

using target::Type;
using target::TypeClass;
using target::TypeId;
using target::TypeTable;

constexpr std::string_view kThisCpuPtr = "this_cpu_ptr(";
constexpr std::string_view kThisCpuRead = "this_cpu_read(";
constexpr unsigned kBitsPerByte = 8;

std::uint32_t length(std::string_view text) { return static_cast<std::uint32_t>(text.size()); }

bool is_structure(const Type& type) { return type.kind == TypeClass::Struct || type.kind == TypeClass::Union; }

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

std::size_t matching(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    if (text[at] == '(') ++depth;
    if (text[at] == ')' && --depth == 0) return at;
  }
  return std::string_view::npos;
}

// The note for an unknown member: the structure's members whose names are near `wanted`, or that it has none such.
std::string near_members(const TypeTable& table, TypeId structure, std::string_view wanted) {
  std::vector<std::string> names;
  for (const target::Member& member : table.members(table.type(structure))) {
    const std::string_view name = table.name(member.name);
    const unsigned limit = wanted.size() < 4 ? 1 : 2;
    if (!name.empty() && target::edit_distance(wanted, name, limit) <= limit)
      names.push_back(fmt::format("`{}`", name));
  }
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  const std::string type = table.type_text(structure);
  return list.empty() ? fmt::format("`{}` has no such member", type) : fmt::format("`{}` has {}", type, list);
}

}  // namespace

FieldResolver::Operand FieldResolver::report(diag::Kind kind, std::uint32_t column, int errno_value, std::string note) {
  check_.report({.kind = kind,
                 .column = column,
                 .order = diag::argument_order(argument_, diag::kArgBase),
                 .errno_value = errno_value,
                 .note = std::move(note)});
  return std::nullopt;
}

std::string FieldResolver::prototype() const {
  if (!function_) return "";
  std::string name = "…";
  if (const auto* place = std::get_if<model::SymbolPlace>(&check_.definition.place)) name = place->symbol;
  if (const auto* place = std::get_if<model::TracepointPlace>(&check_.definition.place)) name = place->tracepoint;
  return "`" + function_->table->prototype_text(function_->prototype, name) + "`";
}

FieldResolver::Operand FieldResolver::operand(std::string_view text, std::uint32_t column) {
  if (text.starts_with('(')) return typecast(text, column);
  if (text.starts_with('+') || text.starts_with('-')) return around(text, column);
  if (text.starts_with(kThisCpuPtr) || text.starts_with(kThisCpuRead)) return per_cpu(text, column);
  if (text.starts_with("$retval")) return return_value(text, column);
  if (text.starts_with("$current")) return current(text, column);
  const bool event = check_.definition.kind == model::EventKind::Eprobe;
  if (!text.empty() && is_name_start(text[0]) && !event) return named(text, column);
  return ResolvedOperand{};  // other rules judge it
}

// `+8(OPERAND)`: resolves OPERAND; the value read at +8 has no known type.
FieldResolver::Operand FieldResolver::around(std::string_view text, std::uint32_t column) {
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return ResolvedOperand{};
  const auto inner = text.substr(open + 1, close - open - 1);
  if (!operand(inner, column + static_cast<std::uint32_t>(open) + 1)) return std::nullopt;
  return ResolvedOperand{};
}

FieldResolver::Operand FieldResolver::per_cpu(std::string_view text, std::uint32_t column) {
  auto inner = around(text, column);
  if (!inner) return std::nullopt;
  const bool read = text.starts_with(kThisCpuRead);
  inner->base =
      model::VariableBase{.name = std::string(text),
                          .kind = read ? model::VariableKind::PerCpuValue : model::VariableKind::PerCpuAddress,
                          .resolved = true};
  return inner;
}

FieldResolver::Operand FieldResolver::named(std::string_view text, std::uint32_t column) {
  const std::size_t end = std::min(text.find_first_of(".-"), text.size());
  if (!function_ || function_->parameters == 0) return report(diag::Kind::NoBtfEntry, column, ENOENT, prototype());
  const TypeTable& table = *function_->table;
  const auto parameters = table.members(table.type(function_->prototype));
  for (std::uint32_t i = function_->first_parameter; i < function_->first_parameter + function_->parameters; ++i) {
    if (i >= parameters.size() || parameters[i].name == 0 || table.name(parameters[i].name) != text.substr(0, end)) {
      continue;
    }
    const std::uint32_t number = parameters[i].bit_offset;
    if (const std::uint32_t vector = parameters[i].bit_size; vector != 0) {
      if (check_.definition.probe_kind == model::ProbeKind::Return)
        return report(diag::Kind::NoBtfarg, column, ENOENT,
                      fmt::format("`{}` is in %xmm{} at the entry and is not kept for the return", text.substr(0, end),
                                  vector - 1));
      return ResolvedOperand{.base = model::RegisterBase{.name = target::vector_register_name(vector - 1)},
                             .table = &table,
                             .type = table.strip(parameters[i].type)};
    }
    if (number == 0)
      return report(
          diag::Kind::NoBtfarg, column, ENOENT,
          fmt::format("`{}` is passed in no register that is known; what lies on the stack is `+8($stack)` and on; {}",
                      text.substr(0, end), prototype()));
    const bool by_value = is_structure(table.type(table.strip(parameters[i].type)));
    if (by_value && end != text.size() && check_.env.type_source() == target::TypeSource::DebugInformation)
      return in_registers(number, table.strip(parameters[i].type),
                          {text.substr(end + 2), column + static_cast<std::uint32_t>(end) + 2});
    // The kernel's own parameters are not counted: a tracepoint's first argument is $arg1.
    ResolvedOperand found{.base = model::ArgumentBase{.number = number - function_->first_parameter},
                          .table = &table,
                          .type = table.strip(parameters[i].type)};
    if (end == text.size()) return found;
    return follow(std::move(found), {text.substr(end + 2), column + static_cast<std::uint32_t>(end) + 2});
  }
  return report(diag::Kind::NoBtfarg, column, ENOENT, prototype());
}

// A member of a structure that argument `number` and those behind it hold, 8 bytes each.
FieldResolver::Operand FieldResolver::in_registers(std::uint32_t number, TypeId structure, Path path) {
  constexpr unsigned kWordBits = 64;
  ResolvedOperand found{.table = function_->table, .type = structure};
  std::uint32_t bits = 0;
  bool arrow = false;
  do {
    if (!take_member(found, path, arrow, bits)) return std::nullopt;
  } while (!arrow && !path.is_done);
  const bool is_part = bits % kWordBits != 0 || found.bit_size != 0;
  const Type& type = found.table->type(found.type);
  if (is_part || is_structure(type) || type.kind == TypeClass::Array)
    return report(diag::Kind::NoBtfarg, found.field_column, ENOENT,
                  is_part              ? "it is a part of a register"
                  : is_structure(type) ? "it is a structure: name one of its members"
                                       : "it is an array in a register");
  found.base = model::ArgumentBase{.number = number + bits / kWordBits};
  return arrow ? follow(std::move(found), path) : std::move(found);
}

FieldResolver::Operand FieldResolver::return_value(std::string_view text, std::uint32_t column) {
  constexpr std::string_view kRetval = "$retval";
  const bool field = text.size() > kRetval.size();
  const std::uint32_t field_column = column + length(kRetval) + 2;
  if (!function_) return field ? report(diag::Kind::NoBtfEntry, field_column, ENOENT) : ResolvedOperand{};
  const TypeTable& table = *function_->table;
  const TypeId type = table.type(function_->prototype).target;
  if (type == 0) return report(diag::Kind::NoRetval, column, ENOENT, prototype());
  ResolvedOperand found{.base = model::ReturnValueBase{}, .table = &table, .type = table.strip(type)};
  if (!field) return found;
  return follow(std::move(found), {text.substr(kRetval.size() + 2), field_column});
}

FieldResolver::Operand FieldResolver::current(std::string_view text, std::uint32_t column) {
  constexpr std::string_view kCurrent = "$current";
  const TypeTable* table = check_.env.named_types();
  if (table == nullptr) return ResolvedOperand{};
  const auto task = table->find_struct("task_struct");
  if (!task) return report(diag::Kind::NoBtfEntry, column, ENOENT);
  ResolvedOperand found{
      .base = model::VariableBase{.name = "$current", .kind = model::VariableKind::CurrentTask, .resolved = true},
      .table = table,
      .type = *task};
  if (text.size() <= kCurrent.size()) return found;
  const Path path{text.substr(kCurrent.size() + 2), column + length(kCurrent) + 2};
  Path rest = path;
  if (!take_group(found, rest, true)) return std::nullopt;
  return rest.is_done ? std::move(found) : follow(std::move(found), rest);
}

// `(S[,M])INNER->FIELDS`; the grammar has checked its parentheses.
FieldResolver::Operand FieldResolver::typecast(std::string_view text, std::uint32_t column) {
  const TypeTable* table = check_.env.named_types();
  const std::size_t close = text.find(')');
  if (table == nullptr || close == std::string_view::npos) return ResolvedOperand{};
  const std::string_view rest = text.substr(close + 1);
  std::size_t inner_end = rest.find("->");  // where the fields' arrow stands in `rest`
  if (rest.starts_with('(')) inner_end = matching(rest, 0) + 1;
  if (rest.starts_with('+') || rest.starts_with('-') || rest.starts_with("this_cpu_"))
    inner_end = matching(rest, rest.find('(', 1)) + 1;
  if (inner_end == std::string_view::npos || inner_end + 2 > rest.size()) return ResolvedOperand{};
  const bool wrapped = rest.starts_with('(');
  const std::string_view inner = wrapped ? rest.substr(1, inner_end - 2) : rest.substr(0, inner_end);
  const auto inner_column = column + static_cast<std::uint32_t>(close + 1 + (wrapped ? 1 : 0));
  auto found = operand(inner, inner_column);
  if (!found) return std::nullopt;

  const std::string_view type = text.substr(1, close - 1);
  const std::size_t comma = type.find(',');
  const auto structure = table->find_struct(type.substr(0, comma));
  if (!structure) {
    return report(diag::Kind::NoPtrStrct, column + 1, EINVAL,
                  fmt::format("there is no `struct {}`", type.substr(0, comma)));
  }
  std::uint32_t prefix = 0;
  if (comma != std::string_view::npos) {
    const auto bits =
        member_offset(*table, *structure, {type.substr(comma + 1), column + static_cast<std::uint32_t>(comma) + 2});
    if (!bits) return std::nullopt;
    prefix = *bits / kBitsPerByte;
  }
  if (!found->base)
    found->base =
        model::VariableBase{.name = std::string(inner), .kind = model::VariableKind::Typecast, .resolved = true};
  found->table = table;
  found->type = *structure;
  Path path{rest.substr(inner_end + 2), column + static_cast<std::uint32_t>(close + 1 + inner_end + 2)};
  if (!take_group(*found, path, true)) return std::nullopt;
  found->dereferences.back().offset -= prefix;
  return path.is_done ? std::move(found) : follow(*std::move(found), path);
}

// In the kernel's order: the structure is looked up, then the field, then member by member.
FieldResolver::Operand FieldResolver::event_typecast(std::string_view text, std::uint32_t column,
                                                     const target::CatalogEntry& attached) {
  const TypeTable* table = check_.env.named_types();
  const std::size_t close = text.find(')');
  if (close == std::string_view::npos) return std::nullopt;  // the grammar reported it
  const std::string_view structure = text.substr(1, close - 1);
  TypeId type = 0;  // stays 0 if no types are known
  if (table != nullptr) type = table->find_struct(structure).value_or(type);
  if (table != nullptr && table->type(type).kind != TypeClass::Struct)
    return report(diag::Kind::NoPtrStrct, column + 1, EINVAL, fmt::format("there is no `struct {}`", structure));
  const std::string_view rest = text.substr(close + 1);
  const std::uint32_t begin = column + static_cast<std::uint32_t>(close) + 1;
  const std::size_t end = std::min(rest.find_first_of(".-"), rest.size());
  const std::string_view field = rest.substr(0, end);
  const auto& fields = attached.layout.fields;
  if (std::ranges::find(fields, field, &model::RecordField::name) == fields.end()) {
    const bool dollar = field.starts_with('$');
    return report(diag::Kind::BadAttachArg, begin, EINVAL, dollar ? "a typecast's field is written without `$`" : "");
  }
  ResolvedOperand found{
      .base = model::VariableBase{.name = std::string(field), .kind = model::VariableKind::Typecast, .resolved = true},
      .table = table,
      .type = type,
      .field_column = begin};
  if (end == rest.size()) return found;
  Path path{rest.substr(end + 2), begin + static_cast<std::uint32_t>(end) + 2};
  if (table == nullptr) return check_hyphens(path) ? Operand(found) : std::nullopt;
  if (!take_group(found, path, true)) return std::nullopt;
  return path.is_done ? std::move(found) : follow(std::move(found), path);
}

// False: a '-' that is not part of `->` was reported.
bool FieldResolver::check_hyphens(Path path) {
  for (std::size_t at = path.text.find('-'); at != std::string_view::npos; at = path.text.find('-', at + 2)) {
    if (path.text.substr(at).starts_with("->")) continue;
    report(diag::Kind::BadHyphen, path.column + static_cast<std::uint32_t>(at), EINVAL);
    return false;
  }
  return true;
}

// The member's offset in bits from the start of the structure; nullopt: a mistake was reported.
std::optional<std::uint32_t> FieldResolver::member_offset(const TypeTable& table, TypeId structure, Path path) {
  ResolvedOperand at{.table = &table, .type = structure};
  std::uint32_t bits = 0;
  bool arrow = false;
  std::uint32_t last = path.column;
  while (!path.is_done) {
    last = path.column;
    if (!take_member(at, path, arrow, bits)) return std::nullopt;
    if (arrow) break;  // the grammar refused it
  }
  if (bits % kBitsPerByte == 0) return bits;
  report(diag::Kind::TypecastNotAligned, last, EINVAL);
  return std::nullopt;
}

FieldResolver::Operand FieldResolver::follow(ResolvedOperand from, Path path) {
  while (!path.is_done)
    if (!take_group(from, path, false)) return std::nullopt;
  return from;
}

// Takes one `->` and the members that dots join behind it. `at_structure`: the operand's type is the structure itself,
// not a pointer to it. False: a mistake was reported.
bool FieldResolver::take_group(ResolvedOperand& operand, Path& path, bool at_structure) {
  const TypeTable& table = *operand.table;
  if (!at_structure) {
    const Type& pointer = table.type(operand.type);
    if (pointer.kind != TypeClass::Pointer) {
      report(diag::Kind::NoPtrStrct, path.column, EINVAL, fmt::format("it is `{}`", table.type_text(operand.type)));
      return false;
    }
    operand.type = table.strip(pointer.target);
  }
  std::uint32_t bits = 0;
  bool arrow = false;
  do {
    if (!take_member(operand, path, arrow, bits)) return false;
  } while (!arrow && !path.is_done);
  operand.dereferences.push_back({.offset = bits / kBitsPerByte});
  operand.bit_offset = bits % kBitsPerByte;
  return true;
}

bool FieldResolver::take_member(ResolvedOperand& operand, Path& path, bool& arrow, std::uint32_t& bits) {
  const TypeTable& table = *operand.table;
  if (!is_structure(table.type(operand.type))) {
    report(diag::Kind::BadBtfTid, path.column, EINVAL,
           fmt::format("it is `{}`, no structure", table.type_text(operand.type)));
    return false;
  }
  const std::size_t end = std::min(path.text.find_first_of(".-"), path.text.size());
  arrow = end < path.text.size() && path.text[end] == '-';
  if (arrow && !path.text.substr(end).starts_with("->")) {
    report(diag::Kind::BadHyphen, path.column + static_cast<std::uint32_t>(end), EINVAL);
    return false;
  }
  const std::string_view field = path.text.substr(0, end);
  const auto member = table.find_member(operand.type, field);
  if (!member) {
    report(diag::Kind::NoBtfField, path.column, ENOENT, near_members(table, operand.type, field));
    return false;
  }
  bits += member->bit_offset;
  operand.bit_size = member->bit_size;
  operand.type = table.strip(member->type);
  operand.field_column = path.column;
  const bool is_last = end == path.text.size();
  const std::size_t next = std::min(end + (arrow ? 2 : 1), path.text.size());
  path = {path.text.substr(next), path.column + static_cast<std::uint32_t>(next), is_last};
  return true;
}

}  // namespace kevt::sema
