#include "compiler/target/elf/source_names.h"

#include <cxxabi.h>
#define HAVE_DECL_BASENAME 1  // libiberty.h would declare another one
#include <libiberty/demangle.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <csetjmp>
#include <cstdlib>
#include <memory>
#include <utility>

namespace kevt::target {

namespace {

constexpr std::uint64_t kMostOfAName = 64 << 20;        // bytes of one demangled name at most
constexpr std::uint64_t kAllNames = 512 << 20;          // bytes of all names that this process demangles
constexpr std::size_t kMostOfARewrittenName = 1 << 12;  // bytes; nobody writes a longer one
constexpr std::size_t kMostOfARustName = 1 << 16;       // bytes of a v0 name; it may repeat any part of itself

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }

struct Free {
  void operator()(char* text) const { std::free(text); }
};

bool is_rust_hash(std::string_view text) {
  constexpr std::size_t kLength = 17;  // h and 16 digits
  return text.size() == kLength && text[0] == 'h' &&
         std::ranges::all_of(text.substr(1), [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; });
}

std::string decoded_rust(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 17> kCodes = {{{"$LT$", "<"},
                                                                                            {"$GT$", ">"},
                                                                                            {"$RF$", "&"},
                                                                                            {"$BP$", "*"},
                                                                                            {"$C$", ","},
                                                                                            {"$SP$", "@"},
                                                                                            {"$LP$", "("},
                                                                                            {"$RP$", ")"},
                                                                                            {"$u20$", " "},
                                                                                            {"$u27$", "'"},
                                                                                            {"$u2b$", "+"},
                                                                                            {"$u5b$", "["},
                                                                                            {"$u5d$", "]"},
                                                                                            {"$u7b$", "{"},
                                                                                            {"$u7d$", "}"},
                                                                                            {"$u7e$", "~"},
                                                                                            {"..", "::"}}};
  std::string out;
  while (!text.empty()) {
    const auto code = std::ranges::find_if(kCodes, [text](const auto& one) { return text.starts_with(one.first); });
    out += code == kCodes.end() ? text.substr(0, 1) : code->second;
    text.remove_prefix(code == kCodes.end() ? 1 : code->first.size());
  }
  // Rust puts an underscore before a part that begins with a code: it is removed.
  for (std::size_t at = 0; (at = out.find("_<", at)) != std::string::npos;)
    if (at == 0 || out[at - 1] == ':')
      out.erase(at, 1);
    else
      ++at;
  return out;
}

std::string without_blanks(std::string_view text) {
  std::string out;
  std::ranges::copy_if(text, std::back_inserter(out), [](char c) { return c != ' '; });
  return out;
}

// Where the parameters of a function begin: the `(` that the last `)` closes. npos: there are no parameters.
std::size_t parameters_of(std::string_view text) {
  const std::size_t last = text.rfind(')');
  if (last == std::string_view::npos || text.substr(last + 1).starts_with("::")) return std::string_view::npos;
  if (text.substr(last + 1).contains('>'))
    return std::string_view::npos;  // of a type argument: Rust names have no more
  int depth = 0;
  for (std::size_t at = last + 1; at-- > 0;) {
    if (text[at] == ')') ++depth;
    if (text[at] == '(' && --depth == 0) return at;
  }
  return std::string_view::npos;
}

// Where the type begins that ends at `end`: behind the `(`, `,` or `<` that it stands in.
std::size_t type_begins(std::string_view text, std::size_t end) {
  int depth = 0;
  std::size_t at = end;
  for (; at > 0; --at) {
    const char c = text[at - 1];
    if (c == '>' || c == ')') ++depth;
    if (depth == 0 && (c == '(' || c == '<' || c == ',')) break;
    if (c == '<' || c == '(') --depth;
  }
  while (at < end && text[at] == ' ') ++at;
  return at;
}

// As most sources have it: `char const*` → `const char*`, where nothing but a type's name stands before `const`.
std::string with_leading_const(std::string text) {
  constexpr std::string_view kConst = " const";
  for (std::size_t at = 0; (at = text.find(kConst, at)) != std::string::npos;) {
    const std::size_t behind = at + kConst.size();
    const bool is_word = behind == text.size() || !is_of_name(text[behind]);
    const bool is_of_a_name = at > 0 && (is_of_name(text[at - 1]) || text[at - 1] == '>');
    const std::size_t begin = is_word && is_of_a_name ? type_begins(text, at) : at;
    if (begin < at) {
      text.erase(at, kConst.size());
      text.insert(begin, "const ");
    }
    at = behind;
  }
  return text;
}

std::string with_short_strings(std::string text) {
  static constexpr std::pair<std::string_view, std::string_view> kStrings[] = {
      {"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string"},
      {"std::basic_string_view<char, std::char_traits<char> >", "std::string_view"},
  };
  for (const auto& [whole, name] : kStrings)
    for (std::size_t at = 0; (at = text.find(whole, at)) != std::string::npos; at += name.size())
      text.replace(at, whole.size(), name);
  return text;
}

// Where the qualified name begins: behind the blank that ends the result of a template.
std::size_t name_begins(std::string_view text) {
  int depth = 0;
  for (std::size_t at = text.size(); at-- > 0;) {
    const char c = text[at];
    if (c == '>' && !(at > 0 && text[at - 1] == '-')) ++depth;
    if (c == ')') ++depth;
    if (c == '<' || c == '(') --depth;
    if (c == ' ' && depth <= 0 && !text.substr(0, at).ends_with("operator")) return at + 1;
  }
  return 0;
}

}  // namespace

namespace {

// The most bytes that the demangled text may have. S_, S0_, T_ and the like repeat a piece of the text: each may double
// it. An expanded pack (Dp, sp) repeats its pattern for each member, and nested packs multiply.
std::uint64_t longest_text(std::string_view symbol) {
  std::uint64_t references = 0, packs = 0;
  for (std::size_t i = 0; i + 1 < symbol.size(); ++i) {
    const char next = symbol[i + 1];
    const bool is_reference = next == '_' || std::isdigit(static_cast<unsigned char>(next)) ||
                              (symbol[i] == 'S' && std::isupper(static_cast<unsigned char>(next)));
    if ((symbol[i] == 'S' || symbol[i] == 'T') && is_reference) ++references;
    if ((symbol[i] == 'D' || symbol[i] == 's') && next == 'p') ++packs;
  }
  if (packs > 1 || references > 20 || symbol.size() > 4096) return UINT64_MAX;
  return (symbol.size() << references) * (packs ? symbol.size() : 1);
}

std::atomic<std::uint64_t> made_bytes = 0;

}  // namespace

namespace {

// `<main::Shape>::area` is main::Shape::area, as legacy names have it; `<A as B>::c` stays.
std::string without_own_brackets(const std::string& name) {
  if (!name.starts_with('<')) return name;
  int depth = 0;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (name[at] == '<') ++depth;
    if (name[at] == '>' && name[at - 1] != '-' && --depth == 0) return name.substr(1, at - 1) + name.substr(at + 1);
    if (depth == 1 && name.compare(at, 4, " as ") == 0) return name;
  }
  return name;
}

struct RustName {
  std::string text;
  std::jmp_buf too_long;
};

// Called by libiberty's C code, through which no exception passes.
void append_rust_name(const char* piece, std::size_t bytes, void* to) {
  auto& name = *static_cast<RustName*>(to);
  if (name.text.size() + bytes > kMostOfARustName) std::longjmp(name.too_long, 1);
  name.text.append(piece, bytes);
}

std::string rust_v0_name(std::string_view symbol) {
  const std::string text(symbol);
  RustName name;
  name.text.reserve(kMostOfARustName);  // append_rust_name() allocates nothing
  if (setjmp(name.too_long) != 0) return "";
  return rust_demangle_callback(text.c_str(), 0, append_rust_name, &name) ? without_own_brackets(name.text) : "";
}

}  // namespace

bool may_be_mangled(std::string_view symbol) { return symbol.starts_with("_Z") || symbol.starts_with("_R"); }

std::string source_name(std::string_view symbol) {
  if (symbol.starts_with("_R") && made_bytes <= kAllNames) {
    std::string name = rust_v0_name(symbol);
    made_bytes += name.size();
    return name;
  }
  if (!symbol.starts_with("_Z") || longest_text(symbol) > kMostOfAName || made_bytes > kAllNames) return "";
  int status = 0;
  const std::unique_ptr<char, Free> text(abi::__cxa_demangle(std::string(symbol).c_str(), nullptr, nullptr, &status));
  if (!text || status != 0) return "";
  const std::string_view made(text.get());
  made_bytes += made.size();
  if (const std::size_t hash = made.rfind("::"); hash != std::string_view::npos && is_rust_hash(made.substr(hash + 2)))
    return decoded_rust(made.substr(0, hash));
  return std::string(made);
}

std::string_view qualified_name(std::string_view source_name) {
  const std::string_view name = source_name.substr(0, parameters_of(source_name));
  return name.substr(name_begins(name));
}

std::string shown_name(std::string_view symbol) {
  const std::string name = source_name(symbol);
  return name.empty() ? std::string(symbol) : without_blanks(qualified_name(name));
}

namespace {

NameMatch matches(std::string_view text, std::string_view want) {
  const std::string have = without_blanks(text);
  if (have == want) return NameMatch::Exact;
  if (!have.ends_with(want) || !std::string_view(have).substr(0, have.size() - want.size()).ends_with("::"))
    return NameMatch::No;
  return NameMatch::Suffix;
}

}  // namespace

NameMatch matches_source_name(std::string_view source_name, std::string_view wanted) {
  const std::string_view qualified = qualified_name(source_name);
  const bool has_parameters = parameters_of(wanted) != std::string_view::npos;
  const std::string_view whole =
      has_parameters ? source_name.substr(static_cast<std::size_t>(qualified.data() - source_name.data())) : qualified;
  const std::string want = without_blanks(wanted);
  const NameMatch as_demangled = matches(whole, want);
  if (as_demangled != NameMatch::No || !has_parameters || whole.size() > kMostOfARewrittenName) return as_demangled;
  const std::string shortened = with_short_strings(std::string(whole));
  for (const std::string& written : {shortened, with_leading_const(shortened), with_leading_const(std::string(whole))})
    if (const NameMatch match = matches(written, want); match != NameMatch::No) return match;
  return NameMatch::No;
}

std::string_view last_identifier(std::string_view wanted) {
  std::string_view name = wanted.substr(0, parameters_of(wanted));
  if (name.ends_with('>')) {
    int depth = 0;
    for (std::size_t at = name.size(); at-- > 0;) {
      if (name[at] == '>') ++depth;
      if (name[at] == '<' && --depth == 0) {
        name = name.substr(0, at);
        break;
      }
    }
  }
  std::size_t begin = name.size();
  while (begin > 0 && is_of_name(name[begin - 1])) --begin;
  const bool is_plain = begin == 0 || name.substr(0, begin).ends_with("::");
  return is_plain && !name.substr(begin).starts_with("operator") ? name.substr(begin) : std::string_view{};
}

std::string_view copied_function(std::string_view symbol) {
  const std::size_t dot = symbol.find('.');
  if (dot == std::string_view::npos || dot == 0) return {};
  std::string_view rest = symbol.substr(dot);
  if (rest.size() > 1 && rest[1] >= '0' && rest[1] <= '9') return {};  // a number alone says nothing
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view word = rest.substr(0, rest.find('.'));
    const bool is_number = !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
    if (!is_number && word != "isra" && word != "constprop" && word != "lto_priv") return {};
    rest.remove_prefix(word.size());
  }
  return symbol.substr(0, dot);
}

bool has_other_arguments(std::string_view symbol) {
  return !copied_function(symbol).empty() && (symbol.contains(".isra.") || symbol.contains(".constprop."));
}

}  // namespace kevt::target
