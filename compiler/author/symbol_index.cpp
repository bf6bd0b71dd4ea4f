// Completion of names of functions and markers.
//
// The names are sorted: exact and prefix hits are a binary search. Only if these do not fill the list, one pass over
// all names looks for parts and for letters in order; 150,000 names take a few milliseconds.
#include "compiler/author/symbol_index.h"

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "compiler/target/elf/elf_image.h"
#include "compiler/target/elf/mapped_file.h"
#include "compiler/target/elf/source_names.h"
#include "compiler/target/elf/usdt.h"

namespace kevt::author {
namespace {

bool has_letters(std::string_view name, std::string_view letters) {
  std::size_t at = 0;
  for (const char c : letters) {
    at = name.find(c, at);
    if (at == std::string_view::npos) return false;
    ++at;
  }
  return true;
}

bool is_of_system(std::string_view path) {
  return std::ranges::any_of(std::initializer_list<std::string_view>{"/usr/lib/", "/lib/", "/usr/lib64/", "/lib64/"},
                             [&](std::string_view folder) { return path.starts_with(folder); });
}

std::string contents_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

// As a definition names them: the qualified name, or with parameters where there are several.
void add_source_names(const target::ElfImage& image, const std::string& module, std::vector<SymbolName>& names) {
  std::map<std::string, std::set<std::string>> overloads;
  for (const target::ElfSymbol& symbol : image.symbols()) {
    if (symbol.kind == target::SymbolKind::Object) continue;
    std::string name = target::source_name(symbol.name);
    if (name.empty() || !target::copied_function(symbol.name).empty()) continue;
    std::erase(name, ' ');
    overloads[std::string(target::qualified_name(name))].insert(name);
  }
  for (const auto& [qualified, full] : overloads)
    for (const std::string& name : full)
      names.push_back({.name = full.size() == 1 ? qualified : name, .module = module, .note = module});
}

void add_markers(const target::ElfImage& image, const std::string& module, std::vector<SymbolName>& names) {
  const auto markers = target::read_usdt_markers(image);
  if (!markers) return;
  for (const target::UsdtMarker& marker : *markers)
    names.push_back({.name = marker.provider + ":" + marker.name, .module = module, .note = "marker of " + module});
}

}  // namespace

SymbolIndex::SymbolIndex(std::vector<SymbolName> names) : names_(std::move(names)) {
  const auto key = [](const SymbolName& s) { return std::tie(s.name, s.module); };
  std::ranges::sort(names_, [&](const SymbolName& a, const SymbolName& b) { return key(a) < key(b); });
  const auto twins =
      std::ranges::unique(names_, [&](const SymbolName& a, const SymbolName& b) { return key(a) == key(b); });
  names_.erase(twins.begin(), twins.end());
  for (const SymbolName& one : names_) modules_.insert(one.module);
}

SymbolIndex SymbolIndex::of_modules(const std::vector<target::ProcessModule>& modules) {
  std::vector<SymbolName> names;
  for (const target::ProcessModule& module : modules) {
    auto image = target::ElfImage::open(module.open_path);
    if (!image) continue;
    const std::string named(target::library_stem(module.name));  // "libc.so.6" is written `libc`
    const std::string written = module.is_program ? std::string() : named;
    for (const target::ElfSymbol& symbol : image->symbols())
      if (symbol.kind != target::SymbolKind::Object) names.push_back({std::string(symbol.name), written});
    add_markers(*image, named, names);
    if (!is_of_system(module.path)) add_source_names(*image, named, names);
  }
  return SymbolIndex(std::move(names));
}

SymbolIndex SymbolIndex::of_kernel_list(std::string_view text) {
  std::vector<SymbolName> names;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::string_view name = line.substr(0, line.find_first_of(" \t"));
    const std::size_t bracket = line.find('[');
    const std::size_t end = line.find(']');
    const bool has_module = bracket != std::string_view::npos && end != std::string_view::npos && bracket < end;
    if (!name.empty())
      names.push_back({std::string(name), has_module ? std::string(line.substr(bracket + 1, end - bracket - 1)) : ""});
  }
  return SymbolIndex(std::move(names));
}

std::string functions_of_kallsyms(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t kind = line.find(' ');
    if (kind == std::string_view::npos || kind + 3 > line.size() || (line[kind + 1] != 't' && line[kind + 1] != 'T'))
      continue;
    out.append(line.substr(kind + 3)).push_back('\n');
  }
  return out;
}

SymbolIndex SymbolIndex::of_running_kernel() {
  for (const char* path :
       {"/sys/kernel/tracing/available_filter_functions", "/sys/kernel/debug/tracing/available_filter_functions"})
    if (const std::string text = contents_of(path); !text.empty()) return of_kernel_list(text);
  return of_kernel_list(functions_of_kallsyms(contents_of("/proc/kallsyms")));
}

std::vector<std::string> SymbolIndex::places_prefixed(std::string_view typed) const {
  std::set<std::string> places;
  const std::size_t colon = typed.find(':');
  const std::string_view module =
      colon != std::string_view::npos && modules_.contains(typed.substr(0, colon)) ? typed.substr(0, colon) : "";
  const std::string_view name = module.empty() ? typed : typed.substr(colon + 1);
  if (module.empty())
    for (const std::string& one : modules_)
      if (!one.empty() && one.starts_with(typed)) places.insert(one + ':');
  for (auto at =
           std::ranges::lower_bound(names_, name, {}, [](const SymbolName& s) { return std::string_view(s.name); });
       at != names_.end() && at->name.starts_with(name); ++at) {
    if (!module.empty() && at->module != module) continue;
    if (typed.empty() && !at->module.empty()) continue;  // too many
    places.insert(module.empty() ? at->name : std::string(module) + ':' + at->name);
  }
  return {places.begin(), places.end()};
}

std::vector<const SymbolName*> SymbolIndex::find(std::string_view typed, std::size_t limit) const {
  std::string_view module;
  if (const std::size_t colon = typed.find(':');
      colon != std::string_view::npos && (colon == 0 || modules_.contains(typed.substr(0, colon)))) {
    module = typed.substr(0, colon);
    typed.remove_prefix(colon + 1);
  }
  const bool any_module = module.empty();
  const auto fits = [&](const SymbolName& s) { return any_module || s.module == module; };
  std::vector<const SymbolName*> found;
  for (auto at =
           std::ranges::lower_bound(names_, typed, {}, [](const SymbolName& s) { return std::string_view(s.name); });
       at != names_.end() && at->name.starts_with(typed) && found.size() < limit; ++at)
    if (fits(*at)) found.push_back(&*at);
  if (found.size() >= limit || typed.size() < 2) return found;
  std::vector<const SymbolName*> parts, letters;
  for (const SymbolName& symbol : names_) {
    if (!fits(symbol) || symbol.name.starts_with(typed)) continue;
    if (symbol.name.find(typed) != std::string::npos)
      parts.push_back(&symbol);
    else if (symbol.note.empty() && parts.size() + letters.size() < limit && has_letters(symbol.name, typed))
      letters.push_back(&symbol);
    if (found.size() + parts.size() >= limit) break;
  }
  for (const auto* more : {&parts, &letters})
    for (const SymbolName* symbol : *more)
      if (found.size() < limit) found.push_back(symbol);
  return found;
}

}  // namespace kevt::author
