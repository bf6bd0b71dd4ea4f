// The parser of one fetch-arg, in three files: parse_definition_argument.cpp (name, type, dereferences),
// parse_definition_operand.cpp (the base of an expression) and parse_definition_typed.cpp (operands that only the
// target's types resolve).
#pragma once

#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/parse_definition_parts.h"

namespace kevt::grammar {

// Whether the place, by its text, is a function's entry or exit: only there arguments have names.
enum class PlaceText : std::uint8_t { Entry, Return, Elsewhere };
PlaceText place_text(const LineContext& line);

// Columns are bytes of the word, as the kernel counts them.
class ArgumentParser {
 public:
  ArgumentParser(const LineContext& line, std::size_t word)
      : line_(line), word_(word), index_(word - kFirstArgumentWord) {}

  model::FetchArg parse(const std::vector<model::FetchArg>& earlier);

  static constexpr std::size_t kFirstArgumentWord = 2;

 private:
  using Feature = dialect::Feature;

  // All functions that return a bool: false means that a mistake was reported.
  bool report(diag::Kind kind, std::uint32_t column, diag::ArgumentStep step, int errno_value = EINVAL);
  bool base_mistake(diag::Kind kind, std::uint32_t column, int errno_value = EINVAL) {
    return report(kind, column, diag::kArgBase, errno_value);
  }
  bool has(Feature feature) const { return line_.dialect.has(feature); }
  bool is_function_probe() const;

  std::string expand_file_names(std::string_view word);
  void generate_name(std::string_view body);
  bool take_name(const ArgumentPieces& pieces, const std::vector<model::FetchArg>& earlier);
  bool take_body(const Piece& body);
  bool take_length(const Piece& length, std::uint32_t column);
  bool take_expression(const BodyPieces& body, std::uint32_t column);
  bool take_dereference(const DereferencePieces& pieces, std::uint32_t column, std::uint32_t kernel_column);

  bool take_base(std::string_view text, std::uint32_t column);
  bool refuse_register(std::uint32_t column);
  bool take_variable(std::string_view name, std::uint32_t column);
  bool take_watched(std::string_view name, std::uint32_t column);
  bool take_retval(std::string_view name, std::uint32_t column);
  bool take_stack(std::string_view digits, std::uint32_t column);
  bool take_argument(std::string_view digits, std::uint32_t column);
  bool take_memory(std::string_view text, std::uint32_t column);
  bool take_symbol(std::string_view text);
  bool found_when_enabled() const;
  bool take_immediate(std::string_view text, std::uint32_t column);

  bool take_named(std::string_view text, std::uint32_t column);
  bool take_current(std::string_view text, std::uint32_t column);
  bool check_fields(std::string_view text, std::uint32_t column);
  bool take_path(std::string_view text, std::uint32_t column, model::VariableKind kind);
  bool take_typecast(std::string_view text, std::uint32_t column);
  bool take_field_typecast(std::string_view text, std::uint32_t column);
  bool check_cast_option(std::string_view type, std::uint32_t column);
  bool take_per_cpu(std::string_view text, std::uint32_t column);
  bool take_inner(std::string_view text, std::uint32_t column);
  bool deepen(std::uint32_t column);
  void keep(std::string_view text, model::VariableKind kind);

  const LineContext& line_;
  std::size_t word_;
  std::size_t index_;
  unsigned depth_ = 0;  // number of typecasts and dereferences around the current operand
  model::FetchArg arg_;
};

// Whether the text begins with `this_cpu_ptr(` or `this_cpu_read(`.
bool is_per_cpu(std::string_view text);

}  // namespace kevt::grammar
