// The bridge to ANTLR: text in, plain structs of pieces out.
//
// Problem: generated parsers speak of contexts, tokens and exceptions; the rest of kevtrace must not.
// Idea: each entrance rule of Definition.g4 accepts every text, so a parse cannot fail; this page
// runs one rule and copies where its parts begin and end.
//
//   cut_body("+8(%di):u8[4]")  ->  dereferences {+, "8"}, leaf "%di", type "u8", count "4"
//
// Bytes are handed to ANTLR as Latin-1, one code point each, so a token index is a byte column and
// no input can be invalid UTF-8. Not here: what a piece means, or whether it may be there.
#include "grammar/parse_definition_words.h"

#include <antlr4-runtime.h>

#include <string>

#include "DefinitionLexer.h"
#include "DefinitionParser.h"
#include "common/assert.h"
#include "grammar/antlr_input.h"

namespace kevt::grammar {
namespace {

using kevt_antlr::DefinitionLexer;
using kevt_antlr::DefinitionParser;

// One text on its way through lexer and parser.
class Session {
 public:
  explicit Session(std::string_view text)
      : text_(text), input_(as_latin1(text)), lexer_(&input_), tokens_(&lexer_), parser_(&tokens_) {
    lexer_.removeErrorListeners();
    parser_.removeErrorListeners();
    parser_.setErrorHandler(std::make_shared<antlr4::BailErrorStrategy>());
  }

  DefinitionParser& parser() { return parser_; }

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

  std::vector<antlr4::Token*> all_tokens() {
    tokens_.fill();
    return tokens_.getTokens();
  }

 private:
  Piece make(std::uint32_t begin, std::uint32_t end) const {
    return {.text = text_.substr(begin, end - begin), .begin = begin, .end = end};
  }

  std::string_view text_;
  antlr4::ANTLRInputStream input_;
  DefinitionLexer lexer_;
  antlr4::CommonTokenStream tokens_;
  DefinitionParser parser_;
};

// Walks `+8(+0(%di))` from the outside in.
void add_operand(const Session& session, DefinitionParser::OperandContext* operand, BodyPieces& pieces) {
  const auto add = [&](auto* context, DereferenceEnd closing, antlr4::ParserRuleContext* inner) {
    const std::uint32_t end = session.piece(context).end;
    const Piece offset = session.piece(context->operandOffset());
    pieces.dereferences.push_back({.sign = session.piece(context->sign()),
                                   .offset = offset,
                                   .closing = closing,
                                   .inner = inner == nullptr ? end : offset.end + 1,
                                   .end = end});
  };
  if (auto* closed = dynamic_cast<DefinitionParser::DereferenceContext*>(operand)) {
    add(closed, DereferenceEnd::Closed, closed->operand());
    add_operand(session, closed->operand(), pieces);
  } else if (auto* open = dynamic_cast<DefinitionParser::OpenDereferenceContext*>(operand)) {
    add(open, DereferenceEnd::NotClosed, open->operand());
    add_operand(session, open->operand(), pieces);
  } else if (auto* bare = dynamic_cast<DefinitionParser::BareDereferenceContext*>(operand)) {
    add(bare, DereferenceEnd::NoBrace, nullptr);
  } else if (auto* leaf = dynamic_cast<DefinitionParser::LeafOperandContext*>(operand)) {
    pieces.leaf = session.piece(leaf->leaf());
  }
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
    return HeadPieces{.lead = session.piece(head->headLead()), .name = session.optional_piece(head->headName())};
  });
}

TargetPieces cut_target(std::string_view text) {
  Session session(text);
  return parse_any([&] {
    auto* target = session.parser().target();
    if (auto* slash = dynamic_cast<DefinitionParser::SlashTargetContext*>(target)) {
      return TargetPieces{.group = session.piece(slash->groupSlash()), .event = session.piece(slash->anything())};
    }
    if (auto* dot = dynamic_cast<DefinitionParser::DotTargetContext*>(target)) {
      return TargetPieces{.group = session.piece(dot->groupDot()), .event = session.piece(dot->eventNoSlash())};
    }
    auto* plain = dynamic_cast<DefinitionParser::PlainTargetContext*>(target);
    KEVT_ASSERT(plain != nullptr);
    return TargetPieces{.group = std::nullopt, .event = session.piece(plain->eventPlain())};
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

FilePlacePieces cut_file_place(std::string_view word) {
  Session session(word);
  return parse_any([&] {
    auto* place = session.parser().filePlace();
    FilePlacePieces pieces{.path = session.piece(place->path()),
                           .offset = session.piece(place->fileOffset()),
                           .suffix = session.optional_piece(place->fileSuffix()),
                           .reference = std::nullopt};
    if (auto* reference = place->reference()) {
      pieces.reference = ReferencePieces{.counter = session.piece(reference->counter()),
                                         .tail = session.optional_piece(reference->counterTail())};
    }
    return pieces;
  });
}

ArgumentPieces cut_argument(std::string_view word) {
  Session session(word);
  return parse_any([&] {
    auto* argument = session.parser().argument();
    return ArgumentPieces{.name = session.optional_piece(argument->argumentName()),
                          .body = session.piece(argument->argumentBody())};
  });
}

BodyPieces cut_body(std::string_view body) {
  Session session(body);
  return parse_any([&] {
    auto* context = session.parser().body();
    BodyPieces pieces;
    pieces.operand = session.piece(context->operand());
    add_operand(session, context->operand(), pieces);
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
