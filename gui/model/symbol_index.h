// SymbolIndex: function names, ranked by how they match the typed text: exact, prefix, part, letters in order.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/target/process/process_env.h"

namespace kevt::gui {

struct SymbolName {
  std::string name;
  std::string module;  // the word before the ':'; empty: the program or the kernel itself
};

class SymbolIndex {
 public:
  SymbolIndex() = default;
  explicit SymbolIndex(std::vector<SymbolName> names);
  // The functions of the files that a process has mapped.
  static SymbolIndex ofModules(const std::vector<target::ProcessModule>& modules);
  // `text`: available_filter_functions, or names of kallsyms, one per line.
  static SymbolIndex ofKernelList(std::string_view text);

  std::size_t size() const { return names_.size(); }
  // At most `limit` names, best first. "libc:op" searches only modules named libc.
  std::vector<const SymbolName*> find(std::string_view typed, std::size_t limit) const;

 private:
  std::vector<SymbolName> names_;  // by name
};

}  // namespace kevt::gui
