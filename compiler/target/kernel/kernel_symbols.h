// KernelSymbols: the table of /proc/kallsyms, by name and by address.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "compiler/target/target_env.h"

namespace kevt::target {

// One line of kallsyms. The views are valid as long as the KernelSymbols lives.
struct KernelSymbol {
  std::uint64_t address = 0;
  std::string_view name;
  std::string_view module;  // empty: the kernel image
  char type = 't';          // as nm prints it
  bool is_text() const { return type == 't' || type == 'T' || type == 'w' || type == 'W'; }
};

class KernelSymbols {
 public:
  // `text` is that of kallsyms: lines "ADDRESS TYPE NAME[\t[MODULE]]" in the kernel's order. Fails on other text, and
  // if all addresses are 0 (hidden from the reader).
  static Result<KernelSymbols> parse(std::string text);

  std::size_t size() const { return by_address_.size(); }
  // All symbols of that name; with `module` only that module's ("": the kernel image's).
  std::vector<KernelSymbol> named(std::string_view name, std::optional<std::string_view> module) const;
  bool has_module(std::string_view module) const;
  // The symbol that covers `address` by the rules of the kernel's own lookup, with its size.
  std::optional<Symbol> covering(std::uint64_t address) const;
  // Bytes from the symbol's address to the next one.
  std::uint64_t size_of(const KernelSymbol& symbol) const;
  bool is_text(std::uint64_t address) const;
  void each(const std::function<void(const KernelSymbol&)>& visit) const;

 private:
  // Index of the first symbol at the highest address that is not above `address`; size() if there is none.
  std::size_t at_or_before(std::uint64_t address) const;
  std::uint64_t end_of(std::size_t index) const;
  void index_names();

  std::unique_ptr<const std::string> text_;  // the views point into it
  std::vector<KernelSymbol> by_address_;     // stable: aliases in the kernel's order
  std::vector<std::uint32_t> first_;         // for each hash the first symbol's index + 1; 0: none
  std::vector<std::uint32_t> next_;          // for each symbol the next one of its hash: index + 1; 0: none
  std::vector<std::string_view> modules_;    // sorted
  std::uint64_t image_begin_ = 0;            // _stext
  std::uint64_t image_end_ = 0;              // _end
  std::uint64_t text_end_ = 0;               // _etext
};

}  // namespace kevt::target
