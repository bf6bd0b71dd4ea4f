// A map, since names come one by one while a recording is made or read, and every line that is printed asks.
//
// kallsyms has no sizes: a symbol ends where the next one begins, as the kernel itself computes them. Recordings of
// kevtrace add lines of their own with the size, since user-space symbols have gaps between them (metadata.cpp).
#include "tracefs-compat/record/symbols.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace kevt::record {
namespace {

constexpr std::size_t kMaxName = 1024;  // the kernel's have 511 characters at most
constexpr std::size_t kMaxString = 4096;

// \n, \t, \\ and \" are written as two characters.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escapes = text[i] == '\\' && i + 1 < text.size();
    const char next = escapes ? text[++i] : text[i];
    out += escapes && next == 'n' ? '\n' : escapes && next == 't' ? '\t' : next;
  }
  return out;
}

}  // namespace

void Symbols::add(Symbol symbol) {
  if (symbol.name.size() > kMaxName) symbol.name.resize(kMaxName);
  const std::uint64_t address = symbol.address;
  by_address_.try_emplace(by_address_.lower_bound(address), address, std::move(symbol));
}

const Symbol* Symbols::find(std::uint64_t address) const {
  auto it = by_address_.upper_bound(address);
  if (it == by_address_.begin()) return nullptr;
  const bool is_last = it == by_address_.end();
  --it;
  const Symbol& found = it->second;
  const std::uint64_t distance = address - found.address;
  if (found.size ? distance >= found.size : is_last && distance > 0xffff) return nullptr;
  return &found;
}

std::vector<const Symbol*> Symbols::all() const {
  std::vector<const Symbol*> out;
  for (const auto& [address, symbol] : by_address_) out.push_back(&symbol);
  return out;
}

// As the kernel escapes them (t_show() of kernel/trace/trace_printk.c, 6.1).
void Symbols::parse_printk_formats(std::string_view text) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    std::uint64_t address = 0;
    if (!line.starts_with("0x")) continue;
    line.remove_prefix(2);
    const auto [after, error] = std::from_chars(line.data(), line.data() + line.size(), address, 16);
    if (error != std::errc()) continue;
    line.remove_prefix(static_cast<std::size_t>(after - line.data()));
    const auto open = line.find('"'), close = line.rfind('"');
    if (open == std::string_view::npos || close == open || close - open > kMaxString) continue;
    strings_.try_emplace(address, unescaped(line.substr(open + 1, close - open - 1)));
  }
}

const std::string* Symbols::string_at(std::uint64_t address) const {
  const auto found = strings_.find(address);
  return found == strings_.end() ? nullptr : &found->second;
}

void Symbols::parse_kallsyms(std::string_view text) {
  std::vector<Symbol> found;
  while (!text.empty()) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    Symbol symbol{.is_listed = true};
    const auto [after, error] = std::from_chars(line.data(), line.data() + line.size(), symbol.address, 16);
    if (error != std::errc() || symbol.address == 0) continue;
    line.remove_prefix(static_cast<std::size_t>(after - line.data()));
    if (line.size() < 4 || line[0] != ' ' || line[2] != ' ') continue;
    const char type = line[1];
    line.remove_prefix(3);
    if (type == 'A' || type == 'a') continue;  // absolute: per-CPU offsets, not places
    const auto name_end = line.find_first_of(" \t");
    symbol.name = line.substr(0, name_end);
    if (name_end != std::string_view::npos) {
      const auto open = line.find('[', name_end), close = line.find(']', name_end);
      if (open != std::string_view::npos && close != std::string_view::npos && close > open)
        symbol.module = line.substr(open + 1, close - open - 1);
    }
    found.push_back(std::move(symbol));
  }
  std::ranges::stable_sort(found, {}, &Symbol::address);
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::size_t next = i + 1;
    while (next < found.size() && found[next].address == found[i].address) ++next;
    if (next < found.size()) found[i].size = found[next].address - found[i].address;
  }
  // Of several at one address the first stays; those with a size, which came before, win over these.
  for (Symbol& symbol : found) add(std::move(symbol));
}

Symbol place_symbol(std::uint64_t address, std::string file_and_offset) {
  return {.address = address, .size = 1, .name = std::move(file_and_offset), .module = ""};
}

// No function is called so, and every format keeps names and sizes.
bool is_place(const Symbol& symbol) { return symbol.size == 1 && symbol.name.contains("+0x"); }

void append_symbol(const Symbols& symbols, std::uint64_t address, SymbolOffset offset, std::string& out) {
  const Symbol* symbol = symbols.find(address);
  if (!symbol) {
    fmt::format_to(std::back_inserter(out), "0x{:x}", address);
    return;
  }
  out += symbol->name;
  if (offset == SymbolOffset::Shown && !is_place(*symbol))
    fmt::format_to(std::back_inserter(out), "+0x{:x}/0x{:x}", address - symbol->address, symbol->size);
  if (!symbol->module.empty()) fmt::format_to(std::back_inserter(out), " [{}]", symbol->module);
}

}  // namespace kevt::record
