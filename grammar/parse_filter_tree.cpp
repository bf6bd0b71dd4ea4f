// The problem: `a || !(b && c)` is a flat list of items; `&&` binds tighter than `||`, '!' tightest.
//
// The idea: one level per open parenthesis, each with the finished operands of `||` and the operands of
// the `&&` chain being read. `||` closes the chain, ')' closes the level and hands one operand to the
// level around it. The levels are a vector, so a filter of 2000 parentheses needs no deep stack.
//
//   a        factors {a}
//   || b     alternatives {a}, factors {b}
//   && c     alternatives {a}, factors {b, c}         finish: Or{a, And{b, c}}
//
// It does not check anything. Mirrors predicate_parse() of kernel/trace/trace_events_filter.c, 6.1, which
// makes a jump program of the same meaning.
#include "grammar/parse_filter_tree.h"

#include <iterator>
#include <utility>

namespace kevt::grammar {

using model::FilterExpr;
using model::FilterNode;

namespace {

// One operand stays itself; operands that are the same connective are taken in.
FilterExpr join(FilterNode connective, std::vector<FilterExpr> operands) {
  if (operands.size() == 1) return std::move(operands.front());
  FilterExpr joined{.node = connective, .children = {}, .predicate = {}};
  for (FilterExpr& operand : operands) {
    if (operand.node == connective) {
      std::move(operand.children.begin(), operand.children.end(), std::back_inserter(joined.children));
    } else {
      joined.children.push_back(std::move(operand));
    }
  }
  return joined;
}

FilterExpr negate(FilterExpr operand) {
  if (operand.node == FilterNode::Not) return FilterExpr(std::move(operand.children.front()));
  FilterExpr negated{.node = FilterNode::Not, .children = {}, .predicate = {}};
  negated.children.push_back(std::move(operand));
  return negated;
}

}  // namespace

void FilterTree::open() { levels_.emplace_back().inverted = std::exchange(inverted_, false); }

void FilterTree::predicate(model::FilterPredicate predicate) {
  operand({.node = FilterNode::Predicate, .children = {}, .predicate = std::move(predicate)});
}

void FilterTree::close() {
  Level level = std::move(levels_.back());
  levels_.pop_back();
  inverted_ = level.inverted;
  operand(finish(level));
}

void FilterTree::connect(FilterNode connective) {
  Level& level = levels_.back();
  if (connective == FilterNode::And) return;
  level.alternatives.push_back(join(FilterNode::And, std::exchange(level.factors, {})));
}

FilterExpr FilterTree::take() { return finish(levels_.front()); }

void FilterTree::operand(FilterExpr operand) {
  if (std::exchange(inverted_, false)) operand = negate(std::move(operand));
  levels_.back().factors.push_back(std::move(operand));
}

FilterExpr FilterTree::finish(Level& level) {
  if (!level.factors.empty()) level.alternatives.push_back(join(FilterNode::And, std::move(level.factors)));
  return join(FilterNode::Or, std::move(level.alternatives));
}

}  // namespace kevt::grammar
