// Completion of function names.
//
// The names are sorted: exact and prefix hits are a binary search. Only if these do not fill the list, one pass over
// all names looks for parts and for letters in order; 150,000 names take a few milliseconds.
#include "gui/model/symbol_index.h"

#include <algorithm>
#include <set>

#include "compiler/target/elf/elf_image.h"

namespace kevt::gui {
namespace {

// "libc.so.6" is written `libc`.
std::string short_module(const std::string& file) {
  const std::size_t at = file.find(".so");
  return at == std::string::npos ? file : file.substr(0, at);
}

bool has_letters(std::string_view name, std::string_view letters) {
  std::size_t at = 0;
  for (const char c : letters) {
    at = name.find(c, at);
    if (at == std::string_view::npos) return false;
    ++at;
  }
  return true;
}

}  // namespace

SymbolIndex::SymbolIndex(std::vector<SymbolName> names) : names_(std::move(names)) {
  const auto key = [](const SymbolName& s) { return std::tie(s.name, s.module); };
  std::ranges::sort(names_, [&](const SymbolName& a, const SymbolName& b) { return key(a) < key(b); });
  const auto twins =
      std::ranges::unique(names_, [&](const SymbolName& a, const SymbolName& b) { return key(a) == key(b); });
  names_.erase(twins.begin(), twins.end());
}

SymbolIndex SymbolIndex::ofModules(const std::vector<target::ProcessModule>& modules) {
  std::vector<SymbolName> names;
  for (const target::ProcessModule& module : modules) {
    auto image = target::ElfImage::open(module.open_path);
    if (!image) continue;
    const std::string written = module.is_program ? std::string() : short_module(module.name);
    for (const target::ElfSymbol& symbol : image->symbols())
      if (symbol.kind != target::SymbolKind::Object) names.push_back({std::string(symbol.name), written});
  }
  return SymbolIndex(std::move(names));
}

SymbolIndex SymbolIndex::ofKernelList(std::string_view text) {
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

std::vector<const SymbolName*> SymbolIndex::find(std::string_view typed, std::size_t limit) const {
  std::string_view module;
  if (const std::size_t colon = typed.find(':'); colon != std::string_view::npos) {
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
    else if (parts.size() + letters.size() < limit && has_letters(symbol.name, typed))
      letters.push_back(&symbol);
    if (found.size() + parts.size() >= limit) break;
  }
  for (const auto* more : {&parts, &letters})
    for (const SymbolName* symbol : *more)
      if (found.size() < limit) found.push_back(symbol);
  return found;
}

}  // namespace kevt::gui
