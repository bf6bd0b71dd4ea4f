// The problem: a filter as a tree must be shown as text again (listings, scripts, property tests).
//
// The idea: print the tree from its root; parentheses are written only for an Or under an And, and for an And or Or
// under a Not. Text that holds a " is quoted with '.
//
//   Or{a, And{b, Not{Or{c, d}}}}     a || b && !(c || d)
//
// What it prints parses to the same tree; it is not the text the user wrote (engine keeps that).
#include "compiler/sema/filter.h"

#include <utility>

namespace kevt::sema {
namespace {

using model::CompareOp;
using model::FieldModifier;
using model::FilterExpr;
using model::FilterNode;
using model::FilterPredicate;

std::string_view symbol(CompareOp op) {
  switch (op) {
    case CompareOp::Equal:
      return "==";
    case CompareOp::NotEqual:
      return "!=";
    case CompareOp::Less:
      return "<";
    case CompareOp::LessEqual:
      return "<=";
    case CompareOp::Greater:
      return ">";
    case CompareOp::GreaterEqual:
      return ">=";
    case CompareOp::BitAnd:
      return "&";
    case CompareOp::Glob:
      return "~";
  }
  std::unreachable();
}

std::string_view suffix(FieldModifier modifier) {
  switch (modifier) {
    case FieldModifier::None:
      return "";
    case FieldModifier::UserString:
      return ".ustring";
    case FieldModifier::Function:
      return ".function";
  }
  std::unreachable();
}

void print_predicate(const FilterPredicate& predicate, std::string& out) {
  out += predicate.field_name;
  out += suffix(predicate.modifier);
  out += ' ';
  out += symbol(predicate.op);
  out += ' ';
  if (!predicate.operand_quoted) {
    out += predicate.operand;
    return;
  }
  const char quote = predicate.operand.find('"') == std::string::npos ? '"' : '\'';
  out += quote;
  out += predicate.operand;
  out += quote;
}

int strength(FilterNode node) {
  switch (node) {
    case FilterNode::Or:
      return 0;
    case FilterNode::And:
      return 1;
    case FilterNode::Not:
    case FilterNode::Predicate:
      return 2;
  }
  std::unreachable();
}

// Prints `filter`, in parentheses if it binds weaker than the node around it.
void print(const FilterExpr& filter, int around, std::string& out) {
  const int own = strength(filter.node);
  if (own < around) out += '(';
  switch (filter.node) {
    case FilterNode::Predicate:
      print_predicate(filter.predicate, out);
      break;
    case FilterNode::Not:
      out += '!';
      print(filter.children.front(), own, out);
      break;
    case FilterNode::And:
    case FilterNode::Or:
      for (std::size_t i = 0; i < filter.children.size(); ++i) {
        if (i > 0) out += filter.node == FilterNode::And ? " && " : " || ";
        print(filter.children[i], own, out);
      }
      break;
  }
  if (own < around) out += ')';
}

}  // namespace

std::string print_filter(const model::FilterExpr& filter) {
  std::string out;
  print(filter, 0, out);
  return out;
}

}  // namespace kevt::sema
