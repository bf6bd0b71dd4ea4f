// Words of a definition cut into pieces by the ANTLR grammar (Definition.g4), as plain structs.
//
// Every function accepts any text; columns count from the text's first byte. No type of ANTLR leaves this file.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace kevt::grammar {

struct Piece {
  std::string_view text;  // a view of the word that was cut
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

struct HeadPieces {  // `r10:grp/ev`
  Piece lead;        // "r10"
  std::optional<Piece> name;
};
HeadPieces cut_head(std::string_view word);

struct TargetPieces {  // `grp/ev`
  std::optional<Piece> group;
  Piece event;
};
TargetPieces cut_target(std::string_view text);

struct SymbolPlacePieces {  // `mod:symbol+0x10%return`
  Piece symbol;
  std::optional<Piece> displacement;  // with its sign
  std::optional<Piece> suffix;        // with '%'
};
SymbolPlacePieces cut_symbol_place(std::string_view word);

struct ReferencePieces {  // `(0x2224)`
  Piece counter;
  std::optional<Piece> tail;  // after ')'; nullopt: not closed
};
struct FilePlacePieces {  // `/path:0x10%return(0x2224)`
  Piece path;
  Piece offset;
  std::optional<Piece> suffix;  // with '%'
  std::optional<ReferencePieces> reference;
};
// `word` must hold a ':'.
FilePlacePieces cut_file_place(std::string_view word);

struct WatchPlacePieces {  // `rw@symbol+0x10:8`
  Piece access;
  std::optional<Piece> symbol;  // or an address; nullopt: no '@'
  std::optional<Piece> offset;  // with its sign
  std::optional<Piece> length;
};
WatchPlacePieces cut_watch_place(std::string_view word);

struct ArgumentPieces {  // `name=body`
  std::optional<Piece> name;
  Piece body;
};
ArgumentPieces cut_argument(std::string_view word);

enum class DereferenceEnd : std::uint8_t { Closed, NotClosed, NoBrace };
struct DereferencePieces {
  Piece sign;
  Piece offset;  // after the sign, up to '('
  DereferenceEnd closing = DereferenceEnd::Closed;
  std::uint32_t inner = 0;  // column of the operand inside the parentheses
  std::uint32_t end = 0;    // end of the text that was searched for ')'
};
struct TypePieces {  // `u8[4]`
  Piece name;
  std::optional<Piece> count;
  std::optional<Piece> tail;  // after ']'; nullopt with a count: not closed
};
struct BodyPieces {                             // `+8(+0(%di)):string[4]`
  std::vector<DereferencePieces> dereferences;  // outermost first
  Piece leaf;                                   // meaningless behind a NoBrace
  Piece operand;                                // the whole text before ':'
  std::optional<TypePieces> type;
};
BodyPieces cut_body(std::string_view body);

// Token kinds of the grammar's lexer, for tokenize().
enum class LexemeKind : std::uint8_t { Punctuation, Number, Name, Blank, Other };
struct Lexeme {
  LexemeKind kind = LexemeKind::Other;
  Piece piece;
};
std::vector<Lexeme> lex(std::string_view line);

}  // namespace kevt::grammar
