// The fixed world: tables in, answers out.
//
// Problem: parser, sema, layout and lowering are tested without a kernel or a process, yet with
// everything that can go wrong there: missing, ambiguous and unloaded symbols, places that cannot be probed.
// Idea: plain tables, filled by the test; near misses are names within two edits.
//
//   env.add_function({.name = "vfs_read", .address = 0x1000, .size = 0x100});
//   env.find_function({}, "vfs_raed")  ->  NotFound, candidates {"vfs_read"}
//
// Not here: any I/O; the real environments read processes and kernels.
#include "compiler/target/fixed_target.h"

#include <algorithm>
#include <numeric>

#include "compiler/target/glob_matches.h"
#include "compiler/target/kernel/kernel_types.h"

namespace kevt::target {
namespace {

constexpr std::size_t kNearEdits = 2;

// Levenshtein distance; names are short.
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string qualified(const Symbol& symbol) {
  return symbol.module.empty() ? symbol.name : symbol.module + ":" + symbol.name;
}

std::expected<Symbol, LookupError> pick(const std::vector<Symbol>& symbols, std::string_view name) {
  std::vector<const Symbol*> found;
  LookupError error;
  for (const Symbol& symbol : symbols) {
    if (symbol.name == name) found.push_back(&symbol);
    if (edits_between(symbol.name, name) <= kNearEdits) error.candidates.push_back(qualified(symbol));
  }
  if (found.size() == 1) return *found[0];
  if (found.size() > 1) {
    error = {.failure = LookupFailure::NotUnique, .candidates = {}};
    for (const Symbol* symbol : found) error.candidates.push_back(qualified(*symbol));
  }
  return std::unexpected(std::move(error));
}

const Symbol* covering(const std::vector<Symbol>& symbols, std::uint64_t address) {
  const auto covers = [address](const Symbol& symbol) {
    return address >= symbol.address && address - symbol.address < std::max<std::uint64_t>(symbol.size, 1);
  };
  const auto found = std::ranges::find_if(symbols, covers);
  return found == symbols.end() ? nullptr : &*found;
}

LookupError not_checked() { return {.failure = LookupFailure::NotChecked, .candidates = {}}; }

}  // namespace

std::expected<Symbol, LookupError> FixedTargetEnv::find_function(std::optional<std::string_view> module,
                                                                 std::string_view name) const {
  if (!module) return pick(functions_, name);
  std::vector<Symbol> of_module;
  std::ranges::copy_if(functions_, std::back_inserter(of_module),
                       [&](const Symbol& symbol) { return !module->empty() && symbol.module == *module; });
  if (of_module.empty()) {
    return std::unexpected(LookupError{.failure = LookupFailure::ModuleMissing, .candidates = {}});
  }
  return pick(of_module, name);
}

std::vector<std::string> FixedTargetEnv::functions_matching(std::optional<std::string_view> module,
                                                            std::string_view glob) const {
  GlobMatches matches(glob);
  for (const Symbol& symbol : functions_)
    if (!module || symbol.module == *module) matches.consider(symbol.name);
  return matches.take();
}

std::expected<Symbol, LookupError> FixedTargetEnv::find_data(std::string_view name) const {
  const auto data = pick(data_, name);
  if (data || data.error().failure == LookupFailure::NotUnique) return data;
  const auto function = pick(functions_, name);
  return function ? function : data;
}

std::expected<std::uint64_t, LookupError> FixedTargetEnv::find_file_offset(std::string_view path,
                                                                           std::uint64_t offset) const {
  const auto found = mapped_.find(path);
  if (found == mapped_.end()) return std::unexpected(LookupError{});
  return found->second + offset;
}

std::expected<LinePlaces, LookupError> FixedTargetEnv::find_line(const LineQuestion& question) const {
  const auto found = lines_.find({std::string(question.source), question.line});
  if (found != lines_.end()) return found->second;
  return std::unexpected(LookupError{lines_.empty() ? LookupFailure::NotChecked : LookupFailure::NotFound, {}});
}

Probeability FixedTargetEnv::probeability(std::uint64_t address) const {
  const auto found = probeability_.find(address);
  return found == probeability_.end() ? Probeability::Ok : found->second;
}

FileStatus FixedTargetEnv::file_status(std::string_view path) const {
  const auto found = files_.find(path);
  return found == files_.end() ? FileStatus::Missing : found->second;
}

std::optional<Symbol> FixedTargetEnv::symbolize(std::uint64_t address) const {
  if (const Symbol* symbol = covering(functions_, address)) return *symbol;
  if (const Symbol* symbol = covering(data_, address)) return *symbol;
  return std::nullopt;
}

std::expected<FunctionTypes, TypesError> FixedTargetEnv::function_types(std::optional<std::string_view> module,
                                                                        std::string_view name) const {
  if (!types_) return std::unexpected(TypesError{});
  if (module) return std::unexpected(TypesError{TypesFailure::Missing, ""});
  return kernel_prototype(*types_, name, 0);
}

std::expected<FunctionTypes, TypesError> FixedTargetEnv::tracepoint_types(std::string_view name) const {
  if (!types_) return std::unexpected(TypesError{});
  auto found = kernel_prototype(*types_, "__probestub_" + std::string(name), 1);
  return found ? found : kernel_prototype(*types_, name, 1);
}

// The kernel image is no module: a probe on module `vmlinux` waits for ever.
std::expected<Symbol, LookupError> UncheckedTargetEnv::find_function(std::optional<std::string_view> module,
                                                                     std::string_view) const {
  if (module == "vmlinux")
    return std::unexpected(LookupError{.failure = LookupFailure::ModuleMissing, .candidates = {}});
  return std::unexpected(not_checked());
}

std::expected<Symbol, LookupError> UncheckedTargetEnv::find_data(std::string_view) const {
  return std::unexpected(not_checked());
}

std::expected<std::uint64_t, LookupError> UncheckedTargetEnv::find_file_offset(std::string_view, std::uint64_t) const {
  return std::unexpected(not_checked());
}

namespace {

std::string whole_name(std::string_view group, std::string_view event) {
  std::string name;
  name.reserve(group.size() + 1 + event.size());
  name.append(group).append("/").append(event);
  return name;
}

}  // namespace

void FixedCatalog::add(CatalogEntry entry) {
  std::string key = whole_name(entry.group, entry.event);
  entries_.insert_or_assign(std::move(key), std::move(entry));
}

void FixedCatalog::add_probe(std::shared_ptr<const model::Definition> definition, const model::RecordLayout& layout) {
  const auto [it, is_new] = entries_.try_emplace(whole_name(definition->group, definition->event));
  CatalogEntry& entry = it->second;
  if (is_new)
    entry = {.group = definition->group,
             .event = definition->event,
             .owner = owner_of(definition->kind),
             .siblings = {},
             .layout = layout};
  entry.siblings.push_back(std::move(definition));
}

bool FixedCatalog::remove(std::string_view group, std::string_view event) {
  return entries_.erase(whole_name(group, event)) > 0;
}

std::vector<const model::Definition*> FixedCatalog::probes_of(model::EventKind kind) const {
  std::vector<const model::Definition*> probes;
  for (const auto& [name, entry] : entries_) {
    for (const auto& sibling : entry.siblings) {
      if (sibling->kind == kind) probes.push_back(sibling.get());
    }
  }
  return probes;
}

const CatalogEntry* FixedCatalog::find(std::string_view group, std::string_view event) const {
  const auto found = entries_.find(whole_name(group, event));
  return found == entries_.end() ? nullptr : &found->second;
}

CatalogEntry* FixedCatalog::find(std::string_view group, std::string_view event) {
  const auto found = entries_.find(whole_name(group, event));
  return found == entries_.end() ? nullptr : &found->second;
}

}  // namespace kevt::target
