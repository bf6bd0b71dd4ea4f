// Tokens of a line, for highlighting and completion.
//
//   p:w libc:write b=+0(%si):string   ->  keyword p, operator :, name w, name libc, …, register %si, type string
//
// Problem: the class of a name depends on the text before it. Idea: the lexer of Definition.g4 gives the raw
// pieces; the neighbours of a piece decide its class. A sigil and its name are one token.
// It accepts everything and never reports: that is the parser's work.
#include <algorithm>

#include "grammar/parse.h"
#include "grammar/parse_definition_words.h"

namespace kevt::grammar {
namespace {

bool is(const Lexeme& lexeme, std::string_view text) { return lexeme.piece.text == text; }

// Walks the lexemes; knows in which word it is and whether a type may follow.
class Classifier {
 public:
  explicit Classifier(std::vector<Lexeme> lexemes) : lexemes_(std::move(lexemes)) {}

  std::vector<Token> run() {
    while (at_ < lexemes_.size()) step();
    return std::move(tokens_);
  }

 private:
  const Lexeme* next() const { return at_ + 1 < lexemes_.size() ? &lexemes_[at_ + 1] : nullptr; }

  void add(TokenClass kind, std::size_t count = 1) {
    tokens_.push_back({.kind = kind, .span = {lexemes_[at_].piece.begin, lexemes_[at_ + count - 1].piece.end}});
    at_ += count;
  }

  void step() {
    const Lexeme& lexeme = lexemes_[at_];
    switch (lexeme.kind) {
      case LexemeKind::Blank:
        ++word_;
        after_colon_ = false;
        ++at_;
        return;
      case LexemeKind::Number:
        return add(TokenClass::Number);
      case LexemeKind::Name:
        return add(name_class(lexeme.piece.text));
      case LexemeKind::Punctuation:
        return punctuation(lexeme);
      case LexemeKind::Other:
        return add(TokenClass::Other);
    }
  }

  TokenClass name_class(std::string_view name) const {
    if (word_ == 0 && tokens_.empty()) return TokenClass::Keyword;
    if (name == "if" && word_ >= 2) return TokenClass::Keyword;
    return word_ >= 2 && after_colon_ ? TokenClass::Type : TokenClass::Name;
  }

  void punctuation(const Lexeme& lexeme) {
    const Lexeme* following = next();
    const bool named = following != nullptr && following->kind == LexemeKind::Name;
    if (is(lexeme, "%") && named) return add(TokenClass::Register, 2);
    if (is(lexeme, "$") && named) return add(TokenClass::Variable, 2);
    if (is(lexeme, "\\") && following != nullptr && is(*following, "\"")) return text();
    if (is(lexeme, ":")) after_colon_ = true;
    add(TokenClass::Operator);
  }

  // `\"…"`: up to the closing quote or the word's end.
  void text() {
    std::size_t count = 2;
    while (at_ + count < lexemes_.size() && lexemes_[at_ + count].kind != LexemeKind::Blank) {
      ++count;
      if (is(lexemes_[at_ + count - 1], "\"")) break;
    }
    add(TokenClass::String, count);
  }

  std::vector<Lexeme> lexemes_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::size_t word_ = 0;
  bool after_colon_ = false;
};

}  // namespace

std::vector<Token> tokenize(std::string_view line) {
  line = line.substr(0, std::min(line.find('#'), line.find('\0')));
  return Classifier(lex(line)).run();
}

}  // namespace kevt::grammar
