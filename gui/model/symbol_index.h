// SymbolIndex: names of functions, ranked for what was typed: exact, prefix, part, letters in order.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/target/process/process_env.h"

namespace kevt::gui {

struct SymbolName {
  std::string name;
  std::string module;  // what stands in front of the ':'; empty: the program or the kernel itself
};

class SymbolIndex {
 public:
  SymbolIndex() = default;
  explicit SymbolIndex(std::vector<SymbolName> names);
  // Functions of what a process has mapped.
  static SymbolIndex ofModules(const std::vector<target::ProcessModule>& modules);
  // available_filter_functions, or kallsyms' names, one a line.
  static SymbolIndex ofKernelList(std::string_view text);

  std::size_t size() const { return names_.size(); }
  // At most `limit`, best first. "libc:op" looks in the modules called libc only.
  std::vector<const SymbolName*> find(std::string_view typed, std::size_t limit) const;

 private:
  std::vector<SymbolName> names_;  // by name
};

}  // namespace kevt::gui
