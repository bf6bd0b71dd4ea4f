// Symbols: addresses of a recording and what they are called.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"

namespace kevt::record {

struct Symbol {
  std::uint64_t address = 0;
  std::uint64_t size = 0;  // bytes; 0: up to the next one
  std::string name;
  std::string module;      // shown in brackets
  bool is_listed = false;  // by kallsyms, where the size follows from the next one
};

// The const functions may be called from several threads.
class Symbols {
 public:
  void add(Symbol symbol);
  // The one that covers the address.
  const Symbol* find(std::uint64_t address) const;
  bool empty() const { return by_address_.empty() && listed().empty(); }
  std::vector<const Symbol*> all() const;  // by address

  // Takes kallsyms text ("ADDRESS TYPE NAME [MODULE]" a line); what is no such line is left out. It is read when
  // somebody asks for a symbol. Symbols that were added before win over these.
  void parse_kallsyms(std::string_view text);

  // Strings of the kernel whose addresses records hold (printk_formats: `0xADDRESS : "TEXT"` a line); what is no such
  // line is left out.
  void parse_printk_formats(std::string_view text);
  const std::string* string_at(std::uint64_t address) const;
  const std::map<std::uint64_t, std::string>& strings() const { return strings_; }

 private:
  // Kallsyms text, and its symbols in their order once they were asked for.
  struct Listing {
    explicit Listing(std::string_view all) : text(all) {}
    std::string text;
    std::once_flag read;
    std::vector<Symbol> symbols;
  };
  const std::vector<Symbol>& listed() const;

  std::map<std::uint64_t, Symbol> by_address_;  // of several at one address the first that was added
  std::shared_ptr<Listing> listing_;            // those of by_address_ win over these
  std::map<std::uint64_t, std::string> strings_;
};

// A symbol that is one address without a name of its own: "libc.so.6+0x2724a", file and offset.
Symbol place_symbol(std::uint64_t address, std::string file_and_offset);
bool is_place(const Symbol& symbol);

enum class SymbolOffset : std::uint8_t { Shown, Hidden };
// "0x2f". Appends, and in less time than fmt: every line that is printed has some.
void append_address(std::uint64_t number, std::string& out);

// "vfs_read+0x0/0x140 [mod]" or "vfs_read [mod]"; a place's file and offset; "0x…" where nothing is known. Appends.
void append_symbol(const Symbols& symbols, std::uint64_t address, SymbolOffset offset, std::string& out);

}  // namespace kevt::record
