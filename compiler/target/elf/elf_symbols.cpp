// Names: .symtab, and .dynsym with its versions; of a stripped program .symtab of its debug file, if this machine has
// one (debug_file.h); of a stripped Go program those of its own table (elf_go.cpp).
//
// Both symbol tables are read into one list ordered by address; a symbol of both tables is kept once.
// A stripped library still has .dynsym, found through DT_SYMTAB when even the section headers are gone.
//   `memcpy` in libc.so.6: memcpy@@GLIBC_2.14 (default) and memcpy@GLIBC_2.2.5 (hidden): the default
//   wins; `open`, `open64`, `__open` lie at one address and are one function.
// A name of the source, `Foo::bar`, is sought among the symbols that are mangled (source_names.h).
// Not done: symbols without a type.
#include <algorithm>
#include <functional>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "compiler/target/elf/debug_file.h"
#include "compiler/target/elf/elf_image_state.h"
#include "compiler/target/elf/source_names.h"

namespace kevt::target {
namespace {

struct SymbolTable {
  CheckedBytes entries;
  CheckedBytes names;
  CheckedBytes versions;                      // u16 per symbol, or empty
  std::vector<std::string_view> definitions;  // version index → name
};

constexpr std::uint64_t kMostVersions = 1 << 15;  // a symbol has 15 bits for its version

std::vector<std::string_view> read_version_names(CheckedBytes table, CheckedBytes names, std::uint64_t count) {
  std::vector<std::string_view> result;
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(count, kMostVersions); ++i) {
    const auto entry = table.read<Elf64_Verdef>(at);
    if (!entry) break;
    const auto first_name = table.read<Elf64_Verdaux>(at + entry->vd_aux);
    const unsigned index = entry->vd_ndx & 0x7fff;
    if (result.size() <= index) result.resize(index + 1);
    if (first_name) result[index] = names.text(first_name->vda_name);
    if (entry->vd_next == 0) break;
    at += entry->vd_next;
  }
  return result;
}

// Number of dynamic symbols when there are no section headers: the highest chain of DT_GNU_HASH, or
// the second word of DT_HASH.
std::uint64_t dynamic_symbol_count(const ElfImage::State& state) {
  if (const auto hash = state.tag(DT_HASH)) return state.mapped({*hash + 4}).read<std::uint32_t>(0).value_or(0);
  const auto gnu = state.tag(DT_GNU_HASH);
  if (!gnu) return 0;
  const CheckedBytes table = state.mapped({*gnu}).unbroken();
  const std::uint64_t buckets = table.read<std::uint32_t>(0).value_or(0);
  const std::uint64_t first = table.read<std::uint32_t>(4).value_or(0);
  const std::uint64_t bloom = table.read<std::uint32_t>(8).value_or(0);
  const std::uint64_t bucket_at = 16 + bloom * 8;
  std::uint64_t last = 0;
  for (std::uint64_t i = 0; i < buckets; ++i) {
    const auto head = table.read<std::uint32_t>(bucket_at + i * 4);
    if (!head) return 0;
    last = std::max<std::uint64_t>(last, *head);
  }
  if (last < first) return first;
  const std::uint64_t chain_at = bucket_at + buckets * 4;
  for (;; ++last) {
    const auto chain = table.read<std::uint32_t>(chain_at + (last - first) * 4);
    if (!chain) return 0;
    if (*chain & 1) return last + 1;
  }
}

CheckedBytes first_bytes(CheckedBytes bytes, std::uint64_t count) {
  return bytes.part(0, std::min(bytes.size(), count))->unbroken().loaded();
}

std::optional<SymbolTable> dynamic_table(const ElfImage::State& state) {
  const auto entries = state.tag(DT_SYMTAB);
  const auto names = state.tag(DT_STRTAB);
  if (!entries || !names) return std::nullopt;
  SymbolTable table;
  std::uint64_t bytes = dynamic_symbol_count(state) * sizeof(Elf64_Sym);
  for (const Elf64_Shdr& section : state.sections.headers) {
    if (section.sh_type == SHT_DYNSYM && section.sh_addr == *entries) bytes = section.sh_size;
  }
  const CheckedBytes rest = state.mapped({*entries}).unbroken();
  table.entries = first_bytes(rest, bytes);
  table.names = first_bytes(state.mapped({*names}), state.tag(DT_STRSZ).value_or(~std::uint64_t{0}));
  if (const auto versions = state.tag(DT_VERSYM))
    table.versions = first_bytes(state.mapped({*versions}), table.entries.size() / sizeof(Elf64_Sym) * 2);
  if (const auto definitions = state.tag(DT_VERDEF)) {
    table.definitions =
        read_version_names(state.mapped({*definitions}), table.names, state.tag(DT_VERDEFNUM).value_or(0));
  }
  return table;
}

std::optional<SymbolTable> full_table(const ElfSections& sections) {
  for (const Elf64_Shdr& section : sections.headers) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.headers.size()) continue;
    SymbolTable table;
    table.entries = sections.contents(section).unbroken().loaded();
    table.names = sections.contents(sections.headers[section.sh_link]).unbroken().loaded();
    return table;
  }
  return std::nullopt;
}

SymbolBinding binding_of(unsigned char info) {
  switch (ELF64_ST_BIND(info)) {
    case STB_LOCAL:
      return SymbolBinding::Local;
    case STB_WEAK:
      return SymbolBinding::Weak;
  }
  return SymbolBinding::Global;
}

std::optional<SymbolKind> kind_of(unsigned char info) {
  switch (ELF64_ST_TYPE(info)) {
    case STT_FUNC:
      return SymbolKind::Function;
    case STT_GNU_IFUNC:
      return SymbolKind::IFunc;
    case STT_OBJECT:
      return SymbolKind::Object;
  }
  return std::nullopt;
}

// .symtab spells versions in the name, .dynsym in a table beside it.
void set_version(ElfSymbol& symbol, const SymbolTable& table, std::uint64_t index) {
  const std::size_t at = symbol.name.find('@');
  if (at != std::string_view::npos && at > 0) {
    const bool is_default = symbol.name.substr(at).starts_with("@@");
    symbol.version = symbol.name.substr(at + (is_default ? 2 : 1));
    symbol.versioning = is_default ? SymbolVersion::Default : SymbolVersion::Hidden;
    symbol.name = symbol.name.substr(0, at);
    return;
  }
  const auto version = table.versions.read<std::uint16_t>(index * 2);
  if (!version || (*version & 0x7fff) < 2 || (*version & 0x7fff) >= table.definitions.size()) return;
  symbol.version = table.definitions[*version & 0x7fff];
  symbol.versioning = (*version & 0x8000) ? SymbolVersion::Hidden : SymbolVersion::Default;
}

// A table of a sparse file was cut at its first hole, so all its entries are in the file.
// Those whose names are in `left_out` are not taken.
void append_symbols(const SymbolTable& table, ElfImage::State& state,
                    const std::unordered_set<std::string_view>& left_out = {}) {
  const std::uint64_t count = table.entries.size() / sizeof(Elf64_Sym);
  state.symbols.reserve(state.symbols.size() + std::min<std::uint64_t>(count, ElfImage::State::kMostEntries));
  for (std::uint64_t i = 1; i < count; ++i) {
    const auto raw = table.entries.read<Elf64_Sym>(i * sizeof(Elf64_Sym));
    if (!raw) return;
    if (ELF64_ST_TYPE(raw->st_info) == STT_TLS && raw->st_shndx != SHN_UNDEF)
      state.add_thread_local({table.names.text(raw->st_name), raw->st_value, raw->st_size,
                              binding_of(raw->st_info) == SymbolBinding::Local});
    const auto kind = kind_of(raw->st_info);
    if (!kind || raw->st_shndx == SHN_UNDEF || raw->st_shndx == SHN_ABS || raw->st_value == 0) continue;
    ElfSymbol symbol{.name = table.names.text(raw->st_name),
                     .version = {},
                     .address = {raw->st_value},
                     .size = raw->st_size,
                     .kind = *kind,
                     .binding = binding_of(raw->st_info)};
    if (symbol.name.empty()) continue;
    set_version(symbol, table, i);
    if (!left_out.contains(symbol.name)) state.add_symbol(symbol);
  }
}

// Ascending by address, then by name, then those that know their version. Few symbols share an address, so that places
// are sorted by it and whole symbols only where it is the same.
void sort_by_address(std::vector<ElfSymbol>& symbols) {
  std::vector<std::pair<ImageAddr, std::uint32_t>> order;
  order.reserve(symbols.size());
  for (std::uint32_t i = 0; i < symbols.size(); ++i) order.emplace_back(symbols[i].address, i);
  std::ranges::sort(order);
  std::vector<ElfSymbol> sorted;
  sorted.reserve(symbols.size());
  for (const auto& [_, place] : order) sorted.push_back(symbols[place]);
  for (auto begin = sorted.begin(); begin != sorted.end();) {
    const auto end = std::find_if(begin, sorted.end(), [&](const ElfSymbol& s) { return s.address != begin->address; });
    if (end - begin > 1)
      std::stable_sort(begin, end, [](const ElfSymbol& a, const ElfSymbol& b) {
        return std::tie(a.name, b.version) < std::tie(b.name, a.version);
      });
    begin = end;
  }
  symbols = std::move(sorted);
}

// Equal names at one address are one symbol; the one that knows its version is kept.
void drop_doubles(std::vector<ElfSymbol>& symbols) {
  sort_by_address(symbols);
  const auto same = [](const ElfSymbol& a, const ElfSymbol& b) {
    return a.address == b.address && a.name == b.name && (a.version == b.version || b.version.empty());
  };
  const auto tail = std::ranges::unique(symbols, same);
  symbols.erase(tail.begin(), tail.end());
}

std::uint64_t hash_of(std::string_view name) { return std::hash<std::string_view>()(name); }

struct WantedName {
  std::string_view name;
  std::string_view version;  // empty: any
};

WantedName split_version(std::string_view text) {
  const std::size_t at = text.find('@');
  if (at == std::string_view::npos || at == 0) return {text, {}};
  const std::size_t version = text.find_first_not_of('@', at);
  return {text.substr(0, at), version == std::string_view::npos ? std::string_view{} : text.substr(version)};
}

// One candidate per address, default versions before hidden ones.
std::vector<ElfSymbol> choose(std::vector<ElfSymbol> all) {
  const bool has_visible =
      std::ranges::any_of(all, [](const ElfSymbol& s) { return s.versioning != SymbolVersion::Hidden; });
  if (has_visible) std::erase_if(all, [](const ElfSymbol& s) { return s.versioning == SymbolVersion::Hidden; });
  std::ranges::stable_sort(all, {}, &ElfSymbol::address);
  const auto tail = std::ranges::unique(all, {}, &ElfSymbol::address);
  all.erase(tail.begin(), tail.end());
  return all;
}

template <class Keep>
std::vector<ElfSymbol> find_named(ElfImage::State& state, std::string_view text, Keep keep) {
  const WantedName wanted = split_version(text);
  std::vector<ElfSymbol> found;
  const auto consider = [&](const ElfSymbol& symbol) {
    if (symbol.name == wanted.name && keep(symbol) && (wanted.version.empty() || symbol.version == wanted.version))
      found.push_back(symbol);
  };
  if (!state.is_ordered_by_name()) {
    std::ranges::for_each(state.symbols, consider);
    return choose(std::move(found));
  }
  const auto alike = std::ranges::equal_range(state.symbols_by_name, hash_of(wanted.name), {},
                                              [](const auto& entry) { return entry.first; });
  for (const auto& [hash, place] : alike) consider(state.symbols[place]);
  return choose(std::move(found));
}

// Finds functions by their name in the source. Functions with exactly this qualified name win over those whose
// qualified name only ends with it. Clones (`.cold`) and thunks are no functions of their own.
template <class Keep>
std::vector<ElfSymbol> find_by_source_name(const ElfImage::State& state, std::string_view wanted, Keep keep) {
  const std::string_view identifier = last_identifier(wanted);
  std::vector<ElfSymbol> exact, suffix;
  for (const ElfSymbol& symbol : state.symbols) {
    if (!may_be_mangled(symbol.name) || symbol.name.contains('.') || !symbol.name.contains(identifier)) continue;
    if (symbol.name.starts_with("_ZTh") || symbol.name.starts_with("_ZTv") || symbol.name.starts_with("_ZTc")) continue;
    if (!keep(symbol)) continue;
    const std::string name = source_name(symbol.name);
    if (name.empty()) continue;
    const NameMatch match = matches_source_name(name, wanted);
    if (match == NameMatch::Exact) exact.push_back(symbol);
    if (match == NameMatch::Suffix) suffix.push_back(symbol);
  }
  return choose(std::move(exact.empty() ? suffix : exact));
}

}  // namespace

bool plainer_name(const ElfSymbol& a, const ElfSymbol& b) {
  const auto rank = [](const ElfSymbol& s) {
    const std::size_t underscores = std::min(s.name.find_first_not_of('_'), s.name.size());
    const bool hidden = s.versioning == SymbolVersion::Hidden;
    return std::tuple(hidden, underscores, -static_cast<int>(s.binding), s.name.size(), s.name);
  };
  return rank(a) < rank(b);
}

// The names of a hostile table may be one long text, each name beginning a byte later: their sum is limited, too.
void ElfImage::State::add_symbol(ElfSymbol symbol) {
  constexpr std::uint64_t kNameBytes = 64 << 20;
  name_bytes += symbol.name.size();
  if (symbols.size() < kMostEntries && name_bytes <= kNameBytes + 4 * file.data_bytes()) symbols.push_back(symbol);
}

void ElfImage::State::add_thread_local(ThreadLocalVariable variable) {
  variable.name = variable.name.substr(0, variable.name.find('@'));
  name_bytes += variable.name.size();
  if (!variable.name.empty() && thread_locals.size() < kMostThreadLocals) thread_locals.push_back(variable);
}

// Of a program only. Debug files of libraries name static copies of what other libraries export (`strdup` of ld.so): a
// name that was one function's would be several functions' once the debug package is installed.
bool ElfImage::State::append_debug_symbols() {
  const bool is_asked = is_file() && is_program();
  const auto found = is_asked ? find_debug_file(path, DebugSources::ThisMachine).contents : nullptr;
  if (!found) return false;
  const CheckedBytes bytes(*found);
  const auto its_header = read_elf_header(bytes);
  const auto table = its_header ? full_table(read_sections(bytes, *its_header)) : std::nullopt;
  if (!table) return false;
  std::unordered_set<std::string_view> exported;
  for (const ElfSymbol& symbol : symbols) exported.insert(symbol.name);
  symbol_file = found;  // the names are there
  append_symbols(*table, *this, exported);
  return true;
}

void ElfImage::State::load_symbols() {
  if (symbols_loaded) return;
  symbols_loaded = true;
  if (const auto table = dynamic_table(*this)) append_symbols(*table, *this);
  const auto table = full_table(sections);
  if (table) append_symbols(*table, *this);
  if (!table && !append_debug_symbols()) append_go_functions();
  drop_doubles(symbols);
  reach.reserve(symbols.size());
  std::uint64_t farthest = 0;
  for (const ElfSymbol& symbol : symbols) {
    farthest = std::max(farthest, symbol.address.value + symbol.size);
    reach.push_back(farthest);
  }
}

bool ElfImage::State::is_ordered_by_name() {
  constexpr unsigned kFewQuestions = 8;  // as long as it takes to put all names in order
  if (++questions_for_names <= kFewQuestions) return false;
  if (symbols_by_name.size() == symbols.size()) return true;
  symbols_by_name.reserve(symbols.size());
  for (std::uint32_t i = 0; i < symbols.size(); ++i) symbols_by_name.emplace_back(hash_of(symbols[i].name), i);
  std::ranges::sort(symbols_by_name);
  return true;
}

std::vector<ThreadLocalVariable> ElfImage::find_thread_locals(std::string_view name) const {
  state_->load_symbols();
  std::vector<ThreadLocalVariable> found;
  std::ranges::copy_if(state_->thread_locals, std::back_inserter(found),
                       [&](const ThreadLocalVariable& one) { return one.name == name; });
  std::ranges::stable_sort(found, {}, &ThreadLocalVariable::offset);
  const auto doubles = std::ranges::unique(found, {}, &ThreadLocalVariable::offset);
  found.erase(doubles.begin(), doubles.end());
  return found;
}

const std::vector<ElfSymbol>& ElfImage::symbols() const {
  state_->load_symbols();
  return state_->symbols;
}

std::vector<ElfSymbol> ElfImage::find_functions(std::string_view name) const {
  state_->load_symbols();
  return find_named(*state_, name,
                    [&](const ElfSymbol& s) { return s.kind != SymbolKind::Object && is_executable(s.address); });
}

std::vector<ElfSymbol> ElfImage::find_functions_of_source(std::string_view name) const {
  state_->load_symbols();
  return find_by_source_name(
      *state_, name, [&](const ElfSymbol& s) { return s.kind != SymbolKind::Object && is_executable(s.address); });
}

std::vector<ElfSymbol> ElfImage::find_copies(std::string_view name) const {
  state_->load_symbols();
  const std::string_view identifier = last_identifier(name);
  std::vector<ElfSymbol> exact, suffix;
  for (const ElfSymbol& symbol : state_->symbols) {
    const std::string_view of = copied_function(symbol.name);
    if (of.empty() || !of.contains(identifier) || symbol.kind == SymbolKind::Object || !is_executable(symbol.address))
      continue;
    const NameMatch match = of == name           ? NameMatch::Exact
                            : may_be_mangled(of) ? matches_source_name(source_name(of), name)
                                                 : NameMatch::No;
    if (match == NameMatch::Exact) exact.push_back(symbol);
    if (match == NameMatch::Suffix) suffix.push_back(symbol);
  }
  return exact.empty() ? suffix : exact;
}

std::vector<ElfSymbol> ElfImage::find_objects(std::string_view name) const {
  state_->load_symbols();
  return find_named(*state_, name, [](const ElfSymbol& s) { return s.kind == SymbolKind::Object; });
}

std::optional<ElfSymbol> ElfImage::symbol_covering(ImageAddr address) const {
  state_->load_symbols();
  const std::vector<ElfSymbol>& all = state_->symbols;
  auto after = std::ranges::upper_bound(all, address, {}, &ElfSymbol::address);
  const ElfSymbol* best = nullptr;
  for (std::size_t i = after - all.begin(); i-- > 0 && state_->reach[i] > address.value;) {
    if (address.value - all[i].address.value >= all[i].size) continue;
    if (best && all[i].address < best->address) break;  // the innermost symbol has been seen completely
    if (!best || plainer_name(all[i], *best)) best = &all[i];
  }
  if (!best) return std::nullopt;
  return *best;
}

}  // namespace kevt::target
