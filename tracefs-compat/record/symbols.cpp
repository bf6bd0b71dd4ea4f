// A map, since names come one by one while a recording is made, and every line that is printed asks. Kallsyms text,
// which is long and in order, is kept beside it and not read before somebody asks: most lines hold no address.
//
// kallsyms has no sizes: a symbol ends where the next one begins, as the kernel itself computes them. Recordings of
// kevtrace add lines of their own with the size, since user-space symbols have gaps between them (metadata.cpp).
#include "tracefs-compat/record/symbols.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <utility>

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

// A line of kallsyms: small, since there are some 200,000, and those of modules are out of order.
struct Line {
  std::uint64_t address = 0;
  std::string_view name, module;
};

std::optional<Line> read_line(std::string_view line) {
  Line read;
  const auto [after, error] = std::from_chars(line.data(), line.data() + line.size(), read.address, 16);
  if (error != std::errc() || read.address == 0) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(after - line.data()));
  if (line.size() < 4 || line[0] != ' ' || line[2] != ' ') return std::nullopt;
  if (line[1] == 'A' || line[1] == 'a') return std::nullopt;  // absolute: per-CPU offsets, not places
  line.remove_prefix(3);
  const auto name_end = line.find_first_of(" \t");
  read.name = line.substr(0, std::min(name_end, kMaxName));
  if (name_end == std::string_view::npos) return read;
  const auto open = line.find('[', name_end), close = line.find(']', name_end);
  if (open != std::string_view::npos && close != std::string_view::npos && close > open)
    read.module = line.substr(open + 1, close - open - 1);
  return read;
}

std::vector<Symbol> read_kallsyms(std::string_view text) {
  std::vector<Line> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    if (const auto line = read_line(text.substr(0, end))) lines.push_back(*line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  if (!std::ranges::is_sorted(lines, {}, &Line::address)) std::ranges::stable_sort(lines, {}, &Line::address);
  // Of several at one address the first stays; it ends where the next address begins.
  const auto tail = std::ranges::unique(lines, {}, &Line::address);
  lines.erase(tail.begin(), tail.end());
  std::vector<Symbol> found;
  found.reserve(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i)
    found.push_back({.address = lines[i].address,
                     .size = i + 1 < lines.size() ? lines[i + 1].address - lines[i].address : 0,
                     .name = std::string(lines[i].name),
                     .module = std::string(lines[i].module),
                     .is_listed = true});
  return found;
}

}  // namespace

const std::vector<Symbol>& Symbols::listed() const {
  static const std::vector<Symbol> none;
  if (!listing_) return none;
  std::call_once(listing_->read, [this] { listing_->symbols = read_kallsyms(std::exchange(listing_->text, {})); });
  return listing_->symbols;
}

// A second text adds to the first.
void Symbols::parse_kallsyms(std::string_view text) {
  for (const Symbol& symbol : listed()) by_address_.try_emplace(symbol.address, symbol);
  listing_ = std::make_shared<Listing>(text);
}

// What the text lists came before.
void Symbols::add(Symbol symbol) {
  if (symbol.name.size() > kMaxName) symbol.name.resize(kMaxName);
  const std::uint64_t address = symbol.address;
  if (std::ranges::binary_search(listed(), address, {}, &Symbol::address)) return;
  by_address_.try_emplace(by_address_.lower_bound(address), address, std::move(symbol));
}

const Symbol* Symbols::find(std::uint64_t address) const {
  const std::vector<Symbol>& listed = this->listed();
  const auto added_end = by_address_.upper_bound(address);
  const auto listed_end = std::ranges::upper_bound(listed, address, {}, &Symbol::address);
  const Symbol* found = added_end == by_address_.begin() ? nullptr : &std::prev(added_end)->second;
  if (listed_end != listed.begin() && (!found || std::prev(listed_end)->address > found->address))
    found = &*std::prev(listed_end);
  if (!found) return nullptr;
  const bool is_last = added_end == by_address_.end() && listed_end == listed.end();
  const std::uint64_t distance = address - found->address;
  if (found->size ? distance >= found->size : is_last && distance > 0xffff) return nullptr;
  return found;
}

std::vector<const Symbol*> Symbols::all() const {
  std::vector<const Symbol*> out;
  for (const auto& [address, symbol] : by_address_) out.push_back(&symbol);
  for (const Symbol& symbol : listed())
    if (!by_address_.contains(symbol.address)) out.push_back(&symbol);
  std::ranges::sort(out, {}, &Symbol::address);
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

Symbol place_symbol(std::uint64_t address, std::string file_and_offset) {
  return {.address = address, .size = 1, .name = std::move(file_and_offset), .module = ""};
}

// No function is called so, and every format keeps names and sizes.
bool is_place(const Symbol& symbol) { return symbol.size == 1 && symbol.name.contains("+0x"); }

void append_address(std::uint64_t number, std::string& out) {
  char digits[18] = "0x";
  out.append(digits, std::to_chars(digits + 2, std::end(digits), number, 16).ptr);
}

void append_symbol(const Symbols& symbols, std::uint64_t address, SymbolOffset offset, std::string& out) {
  const Symbol* symbol = symbols.find(address);
  if (!symbol) return append_address(address, out);
  out += symbol->name;
  if (offset == SymbolOffset::Shown && !is_place(*symbol)) {
    out += '+';
    append_address(address - symbol->address, out);
    out += '/';
    append_address(symbol->size, out);
  }
  if (!symbol->module.empty()) out.append(" [").append(symbol->module) += ']';
}

}  // namespace kevt::record
