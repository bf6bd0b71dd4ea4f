// Operands that name types' members: `file->f_path.dentry`, `$retval->f_mode`, `(task_struct)(+8($arg1))->pid`.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "compiler/model/definition.h"
#include "compiler/sema/definition_check.h"

namespace kevt::sema {

// A resolved operand: a base, reads of members behind the base, and the type of the value that the last one reads.
struct ResolvedOperand {
  std::optional<model::FetchBase> base;          // nullopt: the base that was written stays
  std::vector<model::Dereference> dereferences;  // innermost first
  const target::TypeTable* table = nullptr;      // has `type`; nullptr: the operand has no known type
  target::TypeId type = 0;                       // without modifiers
  std::uint32_t bit_offset = 0;                  // within the byte that is read
  std::uint32_t bit_size = 0;
  std::uint32_t field_column = 0;  // column of the last field; 0: there is no field
};

// Resolves the operand of one argument. Columns are the command's; mistakes are reported for argument `argument`.
class FieldResolver {
 public:
  // `function`: nullopt if there are no types for the place.
  FieldResolver(DefinitionCheck& check, std::size_t argument, std::optional<target::FunctionTypes> function)
      : check_(check), argument_(argument), function_(function) {}

  // nullopt: a mistake was reported; so for all functions here that return an operand.
  std::optional<ResolvedOperand> operand(std::string_view text, std::uint32_t column);
  // `(STRUCT)FIELD[->MEMBERS]`, FIELD being one of the event `attached`; without types only the text is judged.
  std::optional<ResolvedOperand> event_typecast(std::string_view text, std::uint32_t column,
                                                const target::CatalogEntry& attached);
  std::optional<ResolvedOperand> return_value(std::string_view text, std::uint32_t column);
  // "`ssize_t vfs_read(struct file *file, …)`"; empty if it is not known.
  std::string prototype() const;

 private:
  using Operand = std::optional<ResolvedOperand>;
  struct Path {
    std::string_view text;  // `f_path.dentry->d_name`; empty behind a separator: a field without a name
    std::uint32_t column = 0;
    bool is_done = false;
  };

  Operand report(diag::Kind kind, std::uint32_t column, int errno_value, std::string note = "");
  Operand named(std::string_view text, std::uint32_t column);
  Operand in_registers(std::uint32_t number, target::TypeId structure, Path path);
  Operand current(std::string_view text, std::uint32_t column);
  Operand typecast(std::string_view text, std::uint32_t column);
  Operand per_cpu(std::string_view text, std::uint32_t column);
  Operand around(std::string_view text, std::uint32_t column);
  Operand follow(ResolvedOperand from, Path path);
  bool check_hyphens(Path path);
  bool take_group(ResolvedOperand& operand, Path& path, bool at_structure);
  bool take_member(ResolvedOperand& operand, Path& path, bool& arrow, std::uint32_t& bits);
  std::optional<std::uint32_t> member_offset(const target::TypeTable& table, target::TypeId structure, Path path);

  DefinitionCheck& check_;
  std::size_t argument_;
  std::optional<target::FunctionTypes> function_;
};

}  // namespace kevt::sema
