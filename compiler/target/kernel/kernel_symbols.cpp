// kallsyms as a table. Problem: a hundred thousand lines, and each question (a name, an address) must be quick even in
// an emulated machine. Idea: the text is kept and symbols are views of it; one stable sort by address, one hash of
// names.
//
//   ffffffff812b1230 T vfs_read
//   ffffffff812b1230 T vfs_read_alias          an address belongs to the first symbol that begins there
//   ffffffffc0401000 t 9p_thing\t[9p]
//
// The kernel finds its own symbols only from _stext to _end, and a symbol reaches to the next one. The last function of
// a module reaches to the end of the module's text pages. Mirrors kallsyms_lookup_size_offset() and
// find_kallsyms_symbol() of kernel/kallsyms.c and kernel/module/kallsyms.c (6.1).
#include "compiler/target/kernel/kernel_symbols.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "common/page.h"

namespace kevt::target {

namespace {

// One line without its '\n'.
std::optional<KernelSymbol> parse_symbol(std::string_view line) {
  KernelSymbol symbol;
  const char* end = line.data() + line.size();
  const auto [after, error] = std::from_chars(line.data(), end, symbol.address, 16);
  if (error != std::errc() || end - after < 4 || after[0] != ' ' || after[2] != ' ') return std::nullopt;
  symbol.type = after[1];
  symbol.name = line.substr(static_cast<std::size_t>(after - line.data()) + 3);
  const std::size_t tab = symbol.name.find('\t');
  if (tab == std::string_view::npos) return symbol;
  std::string_view module = symbol.name.substr(tab + 1);
  symbol.name = symbol.name.substr(0, tab);
  if (module.size() < 3 || module.front() != '[' || module.back() != ']' || symbol.name.empty()) return std::nullopt;
  symbol.module = module.substr(1, module.size() - 2);
  return symbol;
}

}  // namespace

Result<KernelSymbols> KernelSymbols::parse(std::string text) {
  KernelSymbols out;
  out.text_ = std::make_unique<const std::string>(std::move(text));
  std::string_view rest = *out.text_;
  std::set<std::string_view> modules;
  bool visible = false;
  for (int number = 1; !rest.empty(); ++number) {
    const std::size_t end = rest.find('\n');
    const auto symbol = parse_symbol(rest.substr(0, end));
    if (!symbol) return std::unexpected(Error(fmt::format("line {} is not of kallsyms", number)));
    visible = visible || symbol->address != 0;
    if (!symbol->module.empty() && (modules.empty() || *modules.rbegin() != symbol->module))
      modules.insert(symbol->module);
    out.by_address_.push_back(*symbol);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  if (!out.by_address_.empty() && !visible)
    return std::unexpected(Error("the kernel hides the addresses of its symbols: CAP_SYSLOG is needed"));
  out.modules_.assign(modules.begin(), modules.end());
  std::ranges::stable_sort(out.by_address_, {}, &KernelSymbol::address);
  out.index_names();
  const auto boundary = [&](std::string_view name, std::uint64_t otherwise) {
    const auto found = out.named(name, "");
    return found.empty() ? otherwise : found.front().address;
  };
  out.image_begin_ = boundary("_stext", 1);
  out.text_end_ = boundary("_etext", ~std::uint64_t{0});
  out.image_end_ = boundary("_end", ~std::uint64_t{0});
  return out;
}

void KernelSymbols::index_names() {
  std::size_t buckets = 1024;
  while (buckets < by_address_.size()) buckets *= 2;
  first_.assign(buckets, 0);
  next_.assign(by_address_.size(), 0);
  const std::hash<std::string_view> hash;
  for (std::size_t i = by_address_.size(); i-- > 0;) {
    std::uint32_t& first = first_[hash(by_address_[i].name) & (buckets - 1)];
    next_[i] = first;
    first = static_cast<std::uint32_t>(i + 1);
  }
}

std::vector<KernelSymbol> KernelSymbols::named(std::string_view name, std::optional<std::string_view> module) const {
  std::vector<KernelSymbol> out;
  const std::size_t bucket = std::hash<std::string_view>()(name) & (first_.size() - 1);
  for (std::uint32_t at = first_[bucket]; at != 0; at = next_[at - 1]) {
    const KernelSymbol& symbol = by_address_[at - 1];
    if (symbol.name == name && (!module || symbol.module == *module)) out.push_back(symbol);
  }
  return out;
}

bool KernelSymbols::has_module(std::string_view module) const { return std::ranges::binary_search(modules_, module); }

std::size_t KernelSymbols::at_or_before(std::uint64_t address) const {
  auto after = std::ranges::upper_bound(by_address_, address, {}, &KernelSymbol::address);
  if (after == by_address_.begin()) return by_address_.size();
  const std::uint64_t start = std::prev(after)->address;
  const auto first = std::ranges::lower_bound(by_address_, start, {}, &KernelSymbol::address);
  return static_cast<std::size_t>(first - by_address_.begin());
}

std::uint64_t KernelSymbols::end_of(std::size_t index) const {
  const KernelSymbol& symbol = by_address_[index];
  std::size_t next = index + 1;
  while (next < by_address_.size() && by_address_[next].address == symbol.address) ++next;
  const std::uint64_t page_end = page_down(symbol.address) + kPage;
  const bool is_last = next == by_address_.size() || by_address_[next].module != symbol.module;
  if (!symbol.module.empty() && (is_last || (symbol.is_text() && !by_address_[next].is_text()))) return page_end;
  return is_last ? page_end : by_address_[next].address;
}

std::optional<Symbol> KernelSymbols::covering(std::uint64_t address) const {
  const std::size_t index = at_or_before(address);
  if (index == by_address_.size()) return std::nullopt;
  const KernelSymbol& symbol = by_address_[index];
  const bool in_image = address >= image_begin_ && address < image_end_;
  if (symbol.module.empty() ? !in_image : address >= end_of(index)) return std::nullopt;
  return Symbol{.name = std::string(symbol.name),
                .module = std::string(symbol.module),
                .address = symbol.address,
                .size = end_of(index) - symbol.address};
}

std::uint64_t KernelSymbols::size_of(const KernelSymbol& symbol) const {
  const std::size_t index = at_or_before(symbol.address);
  return index == by_address_.size() ? 0 : end_of(index) - symbol.address;
}

bool KernelSymbols::is_text(std::uint64_t address) const {
  if (address >= image_begin_ && address < text_end_) return true;
  if (address >= image_begin_ && address < image_end_) return false;
  const std::size_t index = at_or_before(address);
  return index < by_address_.size() && !by_address_[index].module.empty() && by_address_[index].is_text() &&
         address < end_of(index);
}

void KernelSymbols::each(const std::function<void(const KernelSymbol&)>& visit) const {
  for (const KernelSymbol& symbol : by_address_) visit(symbol);
}

}  // namespace kevt::target
