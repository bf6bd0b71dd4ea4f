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

// One line of kallsyms. Views live as long as the table.
struct KernelSymbol {
  std::uint64_t address = 0;
  std::string_view name;
  std::string_view module;  // empty: the kernel image
  char type = 't';          // as nm prints it
  bool is_text() const { return type == 't' || type == 'T' || type == 'w' || type == 'W'; }
};

class KernelSymbols {
 public:
  // The text of kallsyms: "ADDRESS TYPE NAME[\t[MODULE]]" lines in the kernel's order. Fails on other text and where
  // all addresses are 0 (hidden from who reads it).
  static Result<KernelSymbols> parse(std::string text);

  std::size_t size() const { return by_address_.size(); }
  // All symbols of that name; of one module only where one is given.
  std::vector<KernelSymbol> named(std::string_view name, std::optional<std::string_view> module) const;
  bool has_module(std::string_view module) const;
  // The symbol that covers `address` as the kernel's own lookup says it, with its size.
  std::optional<Symbol> covering(std::uint64_t address) const;
  // Bytes from the symbol's address to the next one.
  std::uint64_t size_of(const KernelSymbol& symbol) const;
  bool is_text(std::uint64_t address) const;
  void each(const std::function<void(const KernelSymbol&)>& visit) const;

 private:
  std::size_t at_or_before(std::uint64_t address) const;  // first of those at the highest address, or size()
  std::uint64_t end_of(std::size_t index) const;
  void index_names();

  std::unique_ptr<const std::string> text_;  // what the views look at
  std::vector<KernelSymbol> by_address_;     // stable: aliases in the kernel's order
  std::vector<std::uint32_t> first_;         // of each hash; index + 1
  std::vector<std::uint32_t> next_;          // of the same hash; index + 1
  std::vector<std::string_view> modules_;    // sorted
  std::uint64_t image_begin_ = 0;            // _stext
  std::uint64_t image_end_ = 0;              // _end
  std::uint64_t text_end_ = 0;               // _etext
};

}  // namespace kevt::target
