// The problem: a filter's text becomes a tree, or the one error the kernel would report, with its column
// and errno.
//
// The idea: quotes and parentheses are matched first, as the kernel does. Then ANTLR's lexer reads with
// the kernel's own state (Filter.g4) and stops at the first byte that does not fit; what it looked for
// there names the mistake:
//
//   u32 = 1          an operator was wanted at 4: INVALID_OP, column 5 (the kernel counts from the byte after)
//   u32 == 1 and …   a connective was wanted at 9: TOO_MANY_PREDS, column 9 (here it does not), errno EPERM
//   u32 ==           a value was wanted at the end: INVALID_VALUE
//   a == 1 && && …   a term was wanted: EPERM and only "Error"
//
//   a == 1 &&        the same at the end: INVALID_FILTER
//
// Not here: whether fields exist, and whether operator and value fit them (sema). Mirrors process_preds(),
// predicate_parse() and the syntax of parse_pred() of kernel/trace/trace_events_filter.c, 6.1 and 6.12.
#include "grammar/parse_filter.h"

#include <antlr4-runtime.h>

#include <cerrno>
#include <string>
#include <utility>

#include "FilterLexer.h"
#include "FilterParser.h"
#include "common/assert.h"
#include "grammar/antlr_input.h"
#include "grammar/parse.h"
#include "grammar/parse_definition_text.h"
#include "grammar/parse_filter_balance.h"
#include "grammar/parse_filter_tree.h"

namespace kevt::grammar {
namespace {

using diag::Kind;
using kevt_antlr::FilterLexer;
using kevt_antlr::FilterParser;
using model::CompareOp;
using model::FilterPredicate;
using model::Span;

diag::Diagnostic filter_mistake(std::string_view text, Kind kind, std::size_t column, int errno_value) {
  return {.kind = kind,
          .location = diag::Location::Filter,
          .command = std::string(text),
          .column = static_cast<std::uint32_t>(column),
          .errno_value = errno_value,
          .detail = {},
          .notes = {},
          .fixits = {}};
}

diag::Diagnostic too_long(std::string_view text) {
  diag::Diagnostic diagnostic = filter_mistake(text, Kind::FilterTooLong, 0, EINVAL);
  diagnostic.column.reset();
  diagnostic.logged = false;
  return diagnostic;
}

std::optional<diag::Diagnostic> balance_mistake(std::string_view text) {
  const BalanceResult balance = check_balance(text);
  switch (balance.verdict) {
    case Balance::Even:
      return std::nullopt;
    case Balance::MissingQuote:
      return filter_mistake(text, Kind::FilterMissingQuote, balance.column, ESRCH);
    case Balance::TooManyOpen:
      return filter_mistake(text, Kind::FilterTooManyOpen, balance.column, ENOENT);
    case Balance::TooManyClose:
      return filter_mistake(text, Kind::FilterTooManyClose, balance.column, EPERM);
    case Balance::NoPredicate: {
      diag::Diagnostic none = filter_mistake(text, Kind::FilterErrno, 0, EINVAL);
      none.notes.push_back({"there is nothing to compare; write `0` to clear a filter"});
      return none;
    }
  }
  std::unreachable();
}

void add_help(diag::Diagnostic& diagnostic, std::string text) { diagnostic.notes.push_back({std::move(text)}); }

diag::Diagnostic connective_mistake(std::string_view text, std::size_t at) {
  diag::Diagnostic diagnostic = filter_mistake(text, Kind::FilterTooManyPreds, at, EPERM);
  const bool doubled = at < text.size() && (text[at] == '&' || text[at] == '|');
  add_help(diagnostic,
           doubled ? "`&&` and `||` join terms; a single one does not" : "terms are joined by `&&` or `||`");
  return diagnostic;
}

// `at`: where something else was found than `wanted`, or the end of the text.
std::optional<diag::Diagnostic> syntax_mistake(std::string_view text, FilterLexer::Want wanted, std::size_t at) {
  using Want = FilterLexer::Want;
  const bool at_end = at == text.size();
  switch (wanted) {
    case Want::Term: {
      if (at_end) return std::nullopt;
      diag::Diagnostic diagnostic = filter_mistake(text, Kind::FilterErrno, 0, EPERM);
      diagnostic.detail = "a field was expected at column " + std::to_string(at);
      return diagnostic;
    }
    case Want::Modifier:
    case Want::Operator: {
      diag::Diagnostic diagnostic = filter_mistake(text, Kind::FilterInvalidOp, at + 1, EINVAL);
      add_help(diagnostic, "operators are ~ != == <= < >= > &");
      return diagnostic;
    }
    case Want::Value: {
      diag::Diagnostic diagnostic = filter_mistake(text, Kind::FilterInvalidValue, at + 1, EINVAL);
      add_help(diagnostic, "a value is a number, or text in \" or '");
      return diagnostic;
    }
    case Want::Connective:
    case Want::Nothing:
      if (at_end) return std::nullopt;
      return connective_mistake(text, at);
  }
  std::unreachable();
}

CompareOp compare_op(std::string_view text) {
  if (text == "~") return CompareOp::Glob;
  if (text == "!=") return CompareOp::NotEqual;
  if (text == "==") return CompareOp::Equal;
  if (text == "<=") return CompareOp::LessEqual;
  if (text == "<") return CompareOp::Less;
  if (text == ">=") return CompareOp::GreaterEqual;
  if (text == ">") return CompareOp::Greater;
  KEVT_ASSERT(text == "&");
  return CompareOp::BitAnd;
}

Span span_of_token(antlr4::tree::TerminalNode* node) {
  return {static_cast<std::uint32_t>(node->getSymbol()->getStartIndex()),
          static_cast<std::uint32_t>(node->getSymbol()->getStopIndex() + 1)};
}

std::string_view piece(std::string_view text, Span span) { return text.substr(span.begin, span.end - span.begin); }

FilterPredicate read_predicate(std::string_view text, FilterParser::PredicateContext* context) {
  FilterPredicate predicate;
  predicate.field_span = span_of_token(context->NAME());
  predicate.field_name = piece(text, predicate.field_span);
  if (context->USTRING() != nullptr) predicate.modifier = model::FieldModifier::UserString;
  if (context->FUNCTION() != nullptr) predicate.modifier = model::FieldModifier::Function;
  if (context->operation() == nullptr) return predicate;
  predicate.op_span = span_of_token(context->operation()->OPERATOR());
  predicate.op = compare_op(piece(text, predicate.op_span));
  if (context->value() == nullptr) return predicate;
  FilterParser::ValueContext* value = context->value();
  predicate.operand_quoted = value->QUOTED() != nullptr;
  predicate.operand_cpus = value->CPUS() != nullptr;
  antlr4::tree::TerminalNode* tokens[] = {value->QUOTED(), value->NUMBER(), value->FRACTION(), value->SYMBOL(),
                                          value->CPUS()};
  for (antlr4::tree::TerminalNode* token : tokens)
    if (token != nullptr) predicate.operand_span = span_of_token(token);
  predicate.operand = piece(text, predicate.operand_span);
  if (predicate.operand_quoted) predicate.operand = predicate.operand.substr(1, predicate.operand.size() - 2);
  return predicate;
}

// What the parser has read so far.
struct Walk {
  FilterTree tree;
  std::vector<FilterPredicate> whole;
  std::optional<FilterPredicate> unfinished;
};

void walk_item(std::string_view text, FilterParser::ItemContext* item, Walk& walk) {
  for (auto* prefix : item->prefix()) {
    prefix->NOT() != nullptr ? walk.tree.invert() : walk.tree.open();
  }
  auto* context = item->predicate();
  if (context == nullptr) return;
  FilterPredicate predicate = read_predicate(text, context);
  if (context->value() == nullptr) {
    walk.unfinished = std::move(predicate);
    return;
  }
  walk.whole.push_back(predicate);
  walk.tree.predicate(std::move(predicate));
  for (std::size_t closing = item->close().size(); closing > 0; --closing) walk.tree.close();
}

Walk walk_filter(std::string_view text, FilterParser::FilterContext* filter) {
  Walk walk;
  const auto items = filter->item();
  const auto connectives = filter->connective();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) {
      walk.tree.connect(connectives[i - 1]->AND() != nullptr ? model::FilterNode::And : model::FilterNode::Or);
    }
    walk_item(text, items[i], walk);
  }
  return walk;
}

// Does the text end in `&&`, with an `||` before it outside of all parentheses?
bool ends_in_and_after_or(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \t!");
  if (last == std::string_view::npos || !text.substr(0, last + 1).ends_with("&&")) return false;
  int depth = 0;
  char quote = '\0';
  for (const char c : text) {
    if (quote != '\0' || c == '"' || c == '\'') {
      quote = quote == '\0' ? c : c == quote ? '\0' : quote;
    } else if (c == '|' && depth == 0) {
      return true;
    } else {
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    }
  }
  return false;
}

// A connective, or '!'s, without a term behind them.
std::optional<diag::Diagnostic> ending_mistake(std::string_view text, const Walk& walk, FilterLexer::Want wanted,
                                               dialect::Dialect dialect) {
  if (walk.whole.empty()) return filter_mistake(text, Kind::FilterNoFilter, text.size(), EINVAL);
  if (wanted != FilterLexer::Want::Term) return std::nullopt;
  if (dialect.has(dialect::Feature::LooseFilterEnd)) {
    // A jump of the program would have no target then.
    if (!ends_in_and_after_or(text)) return std::nullopt;
    diag::Diagnostic diagnostic = filter_mistake(text, Kind::FilterErrno, 0, EINVAL);
    diagnostic.detail = "`&&` at the end has no second term";
    return diagnostic;
  }
  diag::Diagnostic diagnostic = filter_mistake(text, Kind::FilterInvalidFilter, text.size(), EINVAL);
  add_help(diagnostic, "a term is missing at the end");
  return diagnostic;
}

FilterReading read_balanced(std::string_view text, dialect::Dialect dialect, FilterNumbers numbers) {
  ByteStream input(text);
  FilterLexer lexer(&input);
  lexer.functions = dialect.has(dialect::Feature::FunctionFilter);
  lexer.cpu_lists = dialect.has(dialect::Feature::CpuListFilter);
  lexer.fractions = numbers == FilterNumbers::Fractions;
  lexer.removeErrorListeners();
  antlr4::CommonTokenStream tokens(&lexer);
  tokens.fill();
  FilterParser parser(&tokens);
  parser.removeErrorListeners();
  FilterParser::FilterContext* filter = parser.filter();

  Walk walk = walk_filter(text, filter);
  FilterReading reading;
  if (filter->BAD() != nullptr) {
    reading.mistake = syntax_mistake(text, lexer.mistake, filter->BAD()->getSymbol()->getStartIndex());
  } else {
    reading.mistake = syntax_mistake(text, lexer.want, text.size());
    if (!reading.mistake) reading.mistake = ending_mistake(text, walk, lexer.want, dialect);
  }
  if (!reading.mistake) {
    reading.tree = walk.tree.take();
  } else {
    reading.before = std::move(walk.whole);
    reading.unfinished = std::move(walk.unfinished);
  }
  return reading;
}

}  // namespace

std::string_view filter_command(std::string_view text) {
  text = text.substr(0, text.find('\0'));
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

FilterReading read_filter(std::string_view text, dialect::Dialect dialect, FilterNumbers numbers) {
  FilterReading reading;
  if (text.size() > kMaxFilterBytes) {
    reading.mistake = too_long(text);
    return reading;
  }
  text = filter_command(text);
  reading.mistake = balance_mistake(text);
  if (reading.mistake) return reading;
  return read_balanced(text, dialect, numbers);
}

std::optional<model::FilterExpr> parse_filter(std::string_view text, diag::Sink& sink, dialect::Dialect dialect) {
  FilterReading reading = read_filter(text, dialect);
  if (reading.mistake) sink.report(*std::move(reading.mistake));
  return std::move(reading.tree);
}

}  // namespace kevt::grammar
