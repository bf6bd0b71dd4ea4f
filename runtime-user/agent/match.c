/*
 * String predicates of filters over a text of known length: the forms that are not worth
 * generating code for.  `kind` is model::GlobKind.  A glob knows * ? [a-z] [!a-z] and backslash
 * (lib/glob.c of 6.1 states the meaning); matching is iterative with one backtrack point, so a
 * hostile text costs at most length * pattern steps.
 */
#include "runtime-user/agent/agent.h"

enum { FULL, PREFIX, SUFFIX, MIDDLE, GLOB };

static int same(const uint8_t* a, const uint8_t* b, uint32_t length) {
  for (uint32_t i = 0; i < length; i++)
    if (a[i] != b[i]) return 0;
  return 1;
}

/* `*at` stands behind '['. Advances behind the class and says whether `c` is in it; -1: no class, a plain '['. */
static int in_class(const uint8_t* pattern, uint32_t length, uint32_t* at, uint8_t c) {
  uint32_t i = *at;
  int inverted = i < length && pattern[i] == '!', found = 0;
  i += (uint32_t)inverted;
  uint32_t first = i;
  for (;;) {
    if (i >= length) return -1;
    uint8_t low = pattern[i++], high = low;
    if (low == ']' && i - 1 != first) break;
    if (i + 1 < length && pattern[i] == '-' && pattern[i + 1] != ']') {
      high = pattern[i + 1];
      i += 2;
    }
    found |= low <= c && c <= high;
  }
  *at = i;
  return found != inverted;
}

static int glob(const uint8_t* pattern, uint32_t plen, const uint8_t* text, uint32_t tlen) {
  uint32_t p = 0, t = 0, back_p = 0, back_t = 0;
  int can_go_back = 0;
  for (;;) {
    if (t == tlen) {
      while (p < plen && pattern[p] == '*') p++;
      return p == plen || (p + 1 == plen && pattern[p] == '\\');
    }
    int matched = 0;
    uint32_t next = p;
    if (p < plen) {
      uint8_t c = pattern[next++];
      if (c == '*') {
        back_p = next, back_t = t, can_go_back = 1;
        p = next;
        continue;
      }
      if (c == '?') {
        matched = 1;
      } else {
        int in = c == '[' ? in_class(pattern, plen, &next, text[t]) : -1;
        if (in >= 0) {
          matched = in;
        } else {
          /* A backslash at the pattern's end stands for the end of the text. */
          int at_end = c == '\\' && next == plen;
          if (c == '\\' && !at_end) c = pattern[next++];
          matched = !at_end && c == text[t];
        }
      }
    }
    if (matched) {
      p = next, t++;
    } else if (can_go_back) {
      p = back_p, t = ++back_t;
    } else {
      return 0;
    }
  }
}

KEVT_SERVICE int kevt_service_match(uint32_t kind, const uint8_t* pattern, uint32_t plen, const uint8_t* text,
                                    uint32_t tlen) {
  switch (kind) {
    case FULL:
      return plen == tlen && same(pattern, text, plen);
    case PREFIX:
      return tlen >= plen && same(pattern, text, plen);
    case SUFFIX:
      return tlen >= plen && same(pattern, text + tlen - plen, plen);
    case MIDDLE:
      for (uint32_t i = 0; i + plen <= tlen; i++)
        if (same(pattern, text + i, plen)) return 1;
      return 0;
    default:
      return glob(pattern, plen, text, tlen);
  }
}
