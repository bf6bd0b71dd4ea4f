// Items of a filter, left to right, become a tree.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/model/filter.h"

namespace kevt::grammar {

// Call the functions for the items of the text, in order; parentheses must match (check_balance). No recursion.
// `(a)` is `a`, `!!a` is `a`, and `(a && b) && c` is one And of three.
class FilterTree {
 public:
  FilterTree() : levels_(1) {}
  void open();
  void invert() { inverted_ = !inverted_; }
  void predicate(model::FilterPredicate predicate);
  void close();
  void connect(model::FilterNode connective);  // And or Or

  // The whole tree; predicate() must have been called.
  model::FilterExpr take();

 private:
  struct Level {
    std::vector<model::FilterExpr> alternatives;  // finished operands of `||`
    std::vector<model::FilterExpr> factors;       // operands of `&&` being read
    bool inverted = false;                        // '!' in front of this level's '('
  };

  void operand(model::FilterExpr operand);
  static model::FilterExpr finish(Level& level);

  std::vector<Level> levels_;  // outermost first, never empty
  bool inverted_ = false;      // '!' in front of the next operand
};

}  // namespace kevt::grammar
