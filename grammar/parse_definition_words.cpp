// The bridge to ANTLR: text in, plain structs of pieces out.
//
// Problem: generated parsers speak of contexts, tokens and exceptions; the rest of kevtrace must not.
// Idea: each entrance rule of Definition.g4 accepts every text, so a parse cannot fail; this page
// runs one rule and copies where its parts begin and end.
//
//   cut_body("+8(%di):u8[4]")  ->  dereferences {+, "8"}, leaf "%di", type "u8", count "4"
//
// ANTLR reads bytes (antlr_input.h), so a token index is a byte column and no input can be invalid UTF-8. Not here:
// what a piece means, or whether it may be there.
#include "grammar/parse_definition_words.h"

#include <antlr4-runtime.h>

#include <algorithm>

#include "DefinitionLexer.h"
#include "DefinitionParser.h"
#include "common/assert.h"
#include "grammar/antlr_input.h"

namespace kevt::grammar {
namespace {

using kevt_antlr::DefinitionLexer;
using kevt_antlr::DefinitionParser;

// Lexer and parser, made once for each thread: making them costs more than parsing a word.
struct Machine {
  Machine() {
    lexer.removeErrorListeners();
    parser.removeErrorListeners();
    parser.setErrorHandler(std::make_shared<antlr4::BailErrorStrategy>());
  }
  void load(std::string_view text) {
    input.load(text);
    lexer.setInputStream(&input);
    tokens.setTokenSource(&lexer);
    parser.setTokenStream(&tokens);
  }

  ByteStream input;
  DefinitionLexer lexer{&input};
  antlr4::CommonTokenStream tokens{&lexer};
  DefinitionParser parser{&tokens};
  bool in_use = false;
};

Machine& this_threads_machine() {
  thread_local Machine machine;
  return machine;
}

// One text on its way through lexer and parser; a thread has one at a time.
class Session {
 public:
  explicit Session(std::string_view text) : text_(text), machine_(this_threads_machine()) {
    KEVT_ASSERT(!machine_.in_use);
    machine_.in_use = true;
    machine_.load(text);
  }
  ~Session() { machine_.in_use = false; }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  DefinitionParser& parser() { return machine_.parser; }

  Piece piece(antlr4::ParserRuleContext* context) const {
    const auto begin = static_cast<std::uint32_t>(context->getStart()->getStartIndex());
    const antlr4::Token* stop = context->getStop();
    const bool empty = stop == nullptr || stop->getTokenIndex() < context->getStart()->getTokenIndex() ||
                       stop->getType() == antlr4::Token::EOF;
    return make(begin, empty ? begin : static_cast<std::uint32_t>(stop->getStopIndex() + 1));
  }

  std::optional<Piece> optional_piece(antlr4::ParserRuleContext* context) const {
    if (context == nullptr) return std::nullopt;
    return piece(context);
  }

  Piece piece_of(const antlr4::Token& token) const {
    return make(static_cast<std::uint32_t>(token.getStartIndex()),
                static_cast<std::uint32_t>(token.getStopIndex() + 1));
  }

  Piece make(std::uint32_t begin, std::uint32_t end) const {
    return {.text = text_.substr(begin, end - begin), .begin = begin, .end = end};
  }

  // The text behind `node`.
  Piece rest(antlr4::tree::TerminalNode* node) const {
    return make(static_cast<std::uint32_t>(node->getSymbol()->getStopIndex() + 1),
                static_cast<std::uint32_t>(text_.size()));
  }

  std::vector<antlr4::Token*> all_tokens() {
    machine_.tokens.fill();
    return machine_.tokens.getTokens();
  }

 private:
  std::string_view text_;
  Machine& machine_;
};

// Walks `+8(+0(%di))` from the outside in; what is searched for ')' ends at `end`.
void add_operand(const Session& session, DefinitionParser::OperandContext* operand, std::string_view text,
                 BodyPieces& pieces) {
  std::uint32_t end = session.piece(operand).end;
  while (operand->sign() != nullptr) {
    const Piece sign = session.piece(operand->sign());
    if (sign.begin >= end) break;  // `+8()+4`: closed before it begins
    const Piece offset = session.piece(operand->operandOffset());
    const bool has_brace = operand->OPEN() != nullptr && offset.end < end;
    if (!has_brace) {
      pieces.dereferences.push_back({.sign = sign,
                                     .offset = session.make(offset.begin, std::min(offset.end, end)),
                                     .closing = DereferenceEnd::NoBrace,
                                     .inner = end,
                                     .end = end});
      return;
    }
    const std::uint32_t inner = offset.end + 1;
    const std::size_t close = text.substr(0, end).rfind(')');
    const bool is_closed = close != std::string_view::npos && close >= inner;
    pieces.dereferences.push_back({.sign = sign,
                                   .offset = offset,
                                   .closing = is_closed ? DereferenceEnd::Closed : DereferenceEnd::NotClosed,
                                   .inner = inner,
                                   .end = end});
    if (is_closed) end = static_cast<std::uint32_t>(close);
    operand = operand->operand();
  }
  const std::uint32_t begin = std::min(session.piece(operand).begin, end);
  pieces.leaf = session.make(begin, end);
}

TypePieces type_pieces(const Session& session, DefinitionParser::TypeContext* type) {
  return {.name = session.piece(type->typeName()),
          .count = session.optional_piece(type->count()),
          .tail = session.optional_piece(type->typeTail())};
}

// Runs a rule that accepts everything.
template <class Cut>
auto parse_any(Cut cut) {
  try {
    return cut();
  } catch (const antlr4::ParseCancellationException&) {
    KEVT_ASSERT(!"an entrance rule of Definition.g4 refused a text");
    throw;
  }
}

}  // namespace

HeadPieces cut_head(std::string_view word) {
  Session session(word);
  return parse_any([&] {
    auto* head = session.parser().head();
    HeadPieces pieces{.lead = session.piece(head->headLead()), .name = std::nullopt};
    if (head->COLON() != nullptr) pieces.name = session.rest(head->COLON());
    return pieces;
  });
}

TargetPieces cut_target(std::string_view text) {
  Session session(text);
  return parse_any([&] {
    auto* target = session.parser().target();
    const Piece before = session.piece(target->beforeSplit());
    if (target->DOT() == nullptr && target->SLASH() == nullptr) return TargetPieces{.group = {}, .event = before};
    if (target->DOT() == nullptr) return TargetPieces{.group = before, .event = session.rest(target->SLASH())};
    const Piece behind = session.piece(target->beforeSlash());
    if (target->SLASH() == nullptr) return TargetPieces{.group = before, .event = behind};
    return TargetPieces{.group = session.make(before.begin, behind.end), .event = session.rest(target->SLASH())};
  });
}

SymbolPlacePieces cut_symbol_place(std::string_view word) {
  Session session(word);
  return parse_any([&] {
    auto* place = session.parser().symbolPlace();
    return SymbolPlacePieces{.symbol = session.piece(place->symbol()),
                             .displacement = session.optional_piece(place->displacement()),
                             .suffix = session.optional_piece(place->suffix())};
  });
}

namespace {

// Where the last piece of `/path:0x10(0x20)` begins.
std::uint32_t last_piece_of_file_place(std::string_view word) {
  Session session(word);
  return parse_any([&] { return session.piece(session.parser().filePlace()->filePiece().back()).begin; });
}

Piece moved(Piece piece, std::uint32_t by) {
  return {.text = piece.text, .begin = piece.begin + by, .end = piece.end + by};
}

std::optional<Piece> moved(std::optional<Piece> piece, std::uint32_t by) {
  if (!piece) return std::nullopt;
  return moved(*piece, by);
}

}  // namespace

FilePlacePieces cut_file_place(std::string_view word) {
  const std::uint32_t tail = last_piece_of_file_place(word);
  KEVT_ASSERT(tail > 0);
  Session session(word.substr(tail));
  return parse_any([&] {
    auto* place = session.parser().fileTail();
    FilePlacePieces pieces{.path = {.text = word.substr(0, tail - 1), .begin = 0, .end = tail - 1},
                           .offset = moved(session.piece(place->fileOffset()), tail),
                           .suffix = moved(session.optional_piece(place->fileSuffix()), tail),
                           .reference = std::nullopt};
    if (auto* reference = place->reference()) {
      pieces.reference = ReferencePieces{.counter = moved(session.piece(reference->counter()), tail),
                                         .tail = moved(session.optional_piece(reference->anything()), tail)};
    }
    return pieces;
  });
}

WatchPlacePieces cut_watch_place(std::string_view word) {
  Session session(word);
  return parse_any([&] {
    auto* place = session.parser().watchPlace();
    return WatchPlacePieces{.access = session.piece(place->watchAccess()),
                            .symbol = session.optional_piece(place->watchSymbol()),
                            .offset = session.optional_piece(place->watchOffset()),
                            .length = session.optional_piece(place->anything())};
  });
}

ArgumentPieces cut_argument(std::string_view word) {
  Session session(word);
  return parse_any([&] {
    auto* argument = session.parser().argument();
    const Piece before = session.piece(argument->beforeEquals());
    if (argument->EQUALS() == nullptr) return ArgumentPieces{.name = std::nullopt, .body = before};
    return ArgumentPieces{.name = before, .body = session.rest(argument->EQUALS())};
  });
}

BodyPieces cut_body(std::string_view body) {
  Session session(body);
  return parse_any([&] {
    auto* context = session.parser().body();
    BodyPieces pieces;
    pieces.operand = session.piece(context->operand());
    add_operand(session, context->operand(), body, pieces);
    if (auto* type = context->type()) pieces.type = type_pieces(session, type);
    return pieces;
  });
}

std::vector<Lexeme> lex(std::string_view line) {
  Session session(line);
  std::vector<Lexeme> lexemes;
  for (const antlr4::Token* token : session.all_tokens()) {
    if (token->getType() == antlr4::Token::EOF) break;
    LexemeKind kind = LexemeKind::Punctuation;
    if (token->getType() == DefinitionLexer::NUMBER) kind = LexemeKind::Number;
    if (token->getType() == DefinitionLexer::NAME) kind = LexemeKind::Name;
    if (token->getType() == DefinitionLexer::BLANK) kind = LexemeKind::Blank;
    if (token->getType() == DefinitionLexer::OTHER) kind = LexemeKind::Other;
    lexemes.push_back({.kind = kind, .piece = session.piece_of(*token)});
  }
  return lexemes;
}

}  // namespace kevt::grammar
