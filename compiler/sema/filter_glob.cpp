// The problem: most patterns are "x*" or "*x*", which need no glob matcher.
//
// The idea: a '*' only at the ends makes a prefix, suffix or middle match; any other metacharacter makes
// it a full glob; none at all compares whole strings. '!' in front negates.
//
//   "!/bin/*"  not, Prefix "/bin/"      "*"  Suffix ""      "a*b"  Glob      "1*"  Full "1*" (sic)
//
// A pattern that begins with a digit is compared as it stands: the kernel takes it for an index. The kernel
// does not look behind a '*' that is the last byte. Mirrors filter_parse_regex() of
// kernel/trace/trace_events_filter.c, 6.1.
#include "compiler/sema/filter_glob.h"

namespace kevt::sema {

using model::GlobKind;

FilterGlob classify_glob(std::string_view pattern) {
  FilterGlob glob;
  if (pattern.starts_with('!')) {
    glob.negated = true;
    pattern.remove_prefix(1);
  }
  glob.text = pattern;
  if (pattern.empty() || (pattern[0] >= '0' && pattern[0] <= '9')) return glob;

  const bool star_first = pattern[0] == '*';
  const bool star_last = pattern.size() > 1 && pattern.back() == '*';
  const std::string_view inner = pattern.substr(star_first, pattern.size() - star_first - star_last);
  if (inner.find_first_of("*[?\\") != std::string_view::npos) {
    glob.kind = GlobKind::Glob;
    return glob;
  }
  glob.text = inner;
  if (star_first && star_last) {
    glob.kind = GlobKind::Middle;
  } else if (star_first) {
    glob.kind = GlobKind::Suffix;
  } else if (star_last) {
    glob.kind = GlobKind::Prefix;
  }
  return glob;
}

}  // namespace kevt::sema
