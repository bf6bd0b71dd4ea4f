// A sorted vector; what is added while recording is sorted in when somebody asks.
//
// kallsyms has no sizes: a symbol ends where the next one begins, as the kernel itself computes them. Recordings of
// kevtrace add lines of their own with the size, since user-space symbols have gaps between them (metadata.cpp).
#include "tracefs-compat/record/symbols.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace kevt::record {

void Symbols::add(Symbol symbol) { fresh_.push_back(std::move(symbol)); }

void Symbols::sort() const {
  if (fresh_.empty()) return;
  std::ranges::move(fresh_, std::back_inserter(sorted_));
  fresh_.clear();
  // Of several at one address the first that was added stays: those with a size come before kallsyms' aliases.
  std::ranges::stable_sort(sorted_, {}, &Symbol::address);
  const auto gone = std::ranges::unique(sorted_, {}, &Symbol::address);
  sorted_.erase(gone.begin(), gone.end());
}

const Symbol* Symbols::find(std::uint64_t address) const {
  sort();
  auto it = std::ranges::upper_bound(sorted_, address, {}, &Symbol::address);
  if (it == sorted_.begin()) return nullptr;
  --it;
  const std::uint64_t distance = address - it->address;
  const bool is_last = std::next(it) == sorted_.end();
  if (it->size ? distance >= it->size : is_last && distance > 0xffff) return nullptr;
  return &*it;
}

std::vector<const Symbol*> Symbols::all() const {
  sort();
  std::vector<const Symbol*> out;
  for (const Symbol& symbol : sorted_) out.push_back(&symbol);
  return out;
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
  std::ranges::move(found, std::back_inserter(fresh_));
}

Symbol place_symbol(std::uint64_t address, std::string file_and_offset) {
  return {.address = address, .size = 1, .name = std::move(file_and_offset), .module = ""};
}

namespace {

// No function is called so, and every format keeps names and sizes.
bool is_place(const Symbol& symbol) { return symbol.size == 1 && symbol.name.contains("+0x"); }

}  // namespace

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
