// SymbolIndex: names of functions and markers, ranked by how they match the typed text: exact, prefix, part, letters in
// order.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/target/process/process_env.h"

namespace kevt::author {

struct SymbolName {
  std::string name;    // behind the ':': "open64", "shapes::Square::scale(int)", "python:gc__start"
  std::string module;  // the word before the ':'; empty: the program or the kernel itself
  std::string note{};  // what it is, where the name does not tell; or empty
};

class SymbolIndex {
 public:
  SymbolIndex() = default;
  explicit SymbolIndex(std::vector<SymbolName> names);
  // The functions and markers of the files that a process has mapped. Functions of C++ and Rust, but for those of
  // system libraries, have the names of their source besides, with parameters where these tell overloads apart.
  static SymbolIndex of_modules(const std::vector<target::ProcessModule>& modules);
  // `text`: available_filter_functions, or names of kallsyms, one per line.
  static SymbolIndex of_kernel_list(std::string_view text);
  // Its available_filter_functions; the functions of /proc/kallsyms, which everybody may read, where that is hidden.
  static SymbolIndex of_running_kernel();

  std::size_t size() const { return names_.size(); }
  // At most `limit` names, best first. "libc:op" searches only modules named libc; what stands before another colon
  // belongs to the name.
  std::vector<const SymbolName*> find(std::string_view typed, std::size_t limit) const;
  // All places that begin with what is typed, in their order: "libc:op" gives functions of libc, "op" functions of any
  // module, "li" also "libc:"; without a word, modules and functions of the program.
  std::vector<std::string> places_prefixed(std::string_view typed) const;

 private:
  std::vector<SymbolName> names_;  // by name
  std::set<std::string, std::less<>> modules_;
};

// The names of functions in a text like /proc/kallsyms: "NAME" or "NAME [MODULE]", a line each.
std::string functions_of_kallsyms(std::string_view text);

}  // namespace kevt::author
