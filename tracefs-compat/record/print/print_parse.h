// PrintParser: the text of a `print fmt` → PrintFormat.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tracefs-compat/record/print/print_constants.h"
#include "tracefs-compat/record/print/print_format.h"

namespace kevt::record {

// Of names in C.
inline bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

class PrintParser {
 public:
  PrintParser(const EventFormat& event, PrintFormat& out) : event_(event), out_(out), text_(event.print_fmt) {}
  bool parse();

 private:
  using Node = std::uint32_t;  // 0: not understood

  bool pieces(std::string_view format);
  void print_floats();
  bool conversion(std::string_view& format, PrintPiece& piece);
  bool arguments();
  void join_quotes();
  void swap_places();
  bool set_pointer_kind(std::string_view& format, PrintPiece& piece);

  Node choose();
  Node binary(int level);
  Node unary();
  Node postfix();
  Node parenthesis();
  Node call(std::string_view name);
  Node field_reference();
  Node names(NodeKind kind);
  Node hex(std::string_view between);
  Node array();
  Node literal_number();
  bool named_numbers(std::vector<NamedNumber>& out);
  std::optional<ConstantNumber> constant(Node node) const;  // nullopt: it is none
  bool cast(PrintNode& node);

  void blanks();
  bool take(std::string_view token);
  std::string_view word();
  std::optional<std::string> string();
  Node add(PrintNode node);
  bool is_wide_unsigned(const PrintNode& node) const;

  const EventFormat& event_;
  PrintFormat& out_;
  std::string_view text_;
  int depth_ = 0;
};

}  // namespace kevt::record
