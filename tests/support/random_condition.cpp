// Purely random comparisons nearly always give the same answer, so constants are small numbers or
// addresses of the arena, and patterns are words of the arena with some bytes turned into
// metacharacters:
//
//   "libc.so"  →  "l*c.[!x]o", "lib[a-d]*", "\libc.so", "libc.so["
#include "tests/support/random_condition.h"

namespace kevt::test {

using ir::Condition;
using ir::ConditionKind;
using model::GlobKind;

namespace {

std::uint64_t random_constant(Random& random, const RandomOptions& options) {
  switch (below(random, 6)) {
    case 0:
      return 0;
    case 1:
      return below(random, 256);
    case 2:
      return 0 - below(random, 256);
    case 3:
      return random();
    case 4:
      return std::uint64_t{1} << below(random, 64);
    default:
      return pick(random, options.addresses);
  }
}

Condition random_compare(Random& random, const ConditionOperands& operands) {
  Condition compare;
  compare.kind = ConditionKind::Compare;
  compare.value = pick(random, operands.integers);
  compare.op = static_cast<model::CompareOp>(below(random, static_cast<std::uint64_t>(model::CompareOp::BitAnd) + 1));
  compare.is_signed = one_in(random, 2);
  compare.constant = random_constant(random, operands.options);
  return compare;
}

Condition random_match(Random& random, const ConditionOperands& operands) {
  Condition match;
  match.kind = ConditionKind::MatchText;
  match.value = pick(random, operands.texts);
  match.glob = static_cast<GlobKind>(below(random, static_cast<std::uint64_t>(GlobKind::Glob) + 1));
  match.negated = one_in(random, 3);
  match.text = random_pattern(random, match.glob, pick(random, operands.options.words));
  return match;
}

Condition random_tree(Random& random, const ConditionOperands& operands, std::uint32_t depth) {
  Condition tree;
  tree.kind = static_cast<ConditionKind>(static_cast<std::uint64_t>(ConditionKind::And) + below(random, 3));
  const std::uint64_t count = tree.kind == ConditionKind::Not ? 1 : 2 + below(random, 3);
  while (tree.children.size() < count) tree.children.push_back(random_condition(random, operands, depth - 1));
  return tree;
}

// One byte of a glob: itself, or something that may match it.
std::string random_glob_byte(Random& random, char c) {
  switch (below(random, 10)) {
    case 0:
      return "*";
    case 1:
      return "?";
    case 2:
      return "[a-c" + std::string(1, c) + "]";
    case 3:
      return "[!x-z]";
    case 4:
      return std::string("\\") + c;
    case 5:
      return "[]" + std::string(1, c) + "-]";
    default:
      return std::string(1, c);
  }
}

std::string random_glob(Random& random, const std::string& word) {
  static constexpr std::string_view kEnds[] = {"*", "[", "[a-", "\\", "?", "[!]"};
  std::string glob;
  for (const char c : word) glob += random_glob_byte(random, c);
  if (one_in(random, 3)) glob += kEnds[below(random, std::size(kEnds))];
  if (one_in(random, 6)) glob = "*" + glob;
  return glob;
}

}  // namespace

std::string random_pattern(Random& random, GlobKind kind, const std::string& word) {
  const std::size_t part = word.empty() ? 0 : below(random, word.size() + 1);
  switch (kind) {
    case GlobKind::Full:
      return word;
    case GlobKind::Prefix:
      return word.substr(0, part);
    case GlobKind::Suffix:
      return word.substr(part);
    case GlobKind::Middle:
      return word.substr(part / 2, word.size() / 2);
    case GlobKind::Glob:
      return random_glob(random, word);
  }
  return word;
}

Condition random_condition(Random& random, const ConditionOperands& operands, std::uint32_t depth) {
  if (depth > 1 && one_in(random, 2)) return random_tree(random, operands, depth);
  if (one_in(random, 20)) return {};
  if (!operands.texts.empty() && one_in(random, 2)) return random_match(random, operands);
  return random_compare(random, operands);
}

}  // namespace kevt::test
