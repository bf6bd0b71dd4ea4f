// What is kept of an index: which debug information it is of, then its entries, numbers of 8 bytes, texts behind their
// lengths. user_cache.h guards it against damage; each reader here still ends at what does not fit.
#include "compiler/target/types/source_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "common/hexadecimal.h"
#include "common/user_cache.h"
#include "compiler/target/elf/elf_sections.h"
#include "compiler/target/types/dwarf_die.h"
#include "compiler/target/types/line_files.h"

namespace kevt::target {

namespace {

constexpr std::string_view kFiles = "files", kFunctions = "functions";

class IndexWriter {
 public:
  void number(std::uint64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(std::string_view value) {
    number(value.size());
    bytes_ += value;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class IndexReader {
 public:
  explicit IndexReader(std::string_view bytes) : bytes_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    if (const std::string_view bytes = take(sizeof value); !bytes.empty())
      std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  std::string text() { return std::string(take(number())); }
  // How many entries follow, each of `least` bytes at least.
  std::uint64_t count(std::size_t least) {
    const std::uint64_t said = number();
    if (said <= bytes_.size() / least) return said;
    fits_ = false;
    return 0;
  }
  bool is_whole() const { return fits_ && bytes_.empty(); }

 private:
  std::string_view take(std::uint64_t length) {
    if (length > bytes_.size()) {
      fits_ = false;
      bytes_ = {};
      return {};
    }
    const std::string_view taken = bytes_.substr(0, length);
    bytes_.remove_prefix(length);
    return taken;
  }
  std::string_view bytes_;
  bool fits_ = true;
};

std::string words_of(const IndexIdentity& identity) {
  constexpr unsigned kVersion = 2;  // of what follows
  return fmt::format("{} {} {}", kVersion, hexadecimal(identity.build_id), identity.file_bytes);
}

auto order_of(const std::pair<IndexedFunction, unsigned>& found) {
  const auto& [function, nth] = found;
  return std::tie(function.name, function.file, function.line, nth);
}

}  // namespace

IndexCache IndexCache::of_user() { return {.folder = user_cache_folder(), .least_bytes = 16 << 20}; }

SourceIndex::SourceIndex(Dwarf* dwarf, IndexIdentity identity, IndexCache cache)
    : dwarf_(dwarf), identity_(std::move(identity)), cache_(std::move(cache)) {
  if (identity_.build_id.empty() || identity_.file_bytes < cache_.least_bytes) cache_.folder.clear();
}

std::string SourceIndex::place_of(std::string_view kind) const {
  return fmt::format("{}-{}", hexadecimal(identity_.build_id), kind);
}

const std::map<std::string, std::vector<Dwarf_Off>>& SourceIndex::files() {
  if (!files_ && !load(kFiles)) {
    build_files();
    keep(kFiles);
  }
  return *files_;
}

const std::vector<IndexedFunction>& SourceIndex::functions() {
  if (!functions_ && !load(kFunctions)) {
    build_functions();
    keep(kFunctions);
  }
  return *functions_;
}

bool SourceIndex::load(std::string_view kind) {
  if (cache_.folder.empty()) return false;
  const auto bytes = read_cached(cache_.folder, place_of(kind));
  if (!bytes) return false;
  IndexReader reader(*bytes);
  if (reader.text() != words_of(identity_)) return false;
  if (kind == kFiles) {
    std::map<std::string, std::vector<Dwarf_Off>> files;
    for (std::uint64_t left = reader.count(16); left > 0; --left) {
      std::vector<Dwarf_Off>& units = files[reader.text()];
      for (std::uint64_t of_file = reader.count(8); of_file > 0; --of_file) units.push_back(reader.number());
    }
    if (reader.is_whole()) files_ = std::move(files);
    return files_.has_value();
  }
  std::vector<std::string> names;
  for (std::uint64_t left = reader.count(8); left > 0; --left) names.push_back(reader.text());
  std::vector<IndexedFunction> functions;
  for (std::uint64_t left = reader.count(32); left > 0; --left) {
    IndexedFunction& function = functions.emplace_back();
    function.name = reader.text();
    function.file = static_cast<std::uint32_t>(reader.number());
    function.line = static_cast<std::uint32_t>(reader.number());
    function.die = reader.number();
    if (function.file >= names.size()) return false;
  }
  if (!reader.is_whole()) return false;
  function_files_ = std::move(names);
  functions_ = std::move(functions);
  return true;
}

void SourceIndex::keep(std::string_view kind) const {
  if (cache_.folder.empty()) return;
  IndexWriter writer;
  writer.text(words_of(identity_));
  if (kind == kFiles) {
    writer.number(files_->size());
    for (const auto& [file, units] : *files_) {
      writer.text(file);
      writer.number(units.size());
      for (const Dwarf_Off unit : units) writer.number(unit);
    }
  } else {
    writer.number(function_files_.size());
    for (const std::string& file : function_files_) writer.text(file);
    writer.number(functions_->size());
    for (const IndexedFunction& function : *functions_) {
      writer.text(function.name);
      writer.number(function.file);
      writer.number(function.line);
      writer.number(function.die);
    }
  }
  write_cached(cache_.folder, place_of(kind), writer.bytes());
}

void SourceIndex::build_files() {
  files_.emplace();
  const LineFiles heads(dwarf_);
  each_unit(dwarf_, [&](Dwarf_Die unit) {
    if (!read_lines_of(unit)) return;
    const auto add = [this, &unit, at = dwarf_dieoffset(&unit)](const char* name) {
      std::vector<Dwarf_Off>& units = (*files_)[whole_path(unit, name)];
      if (units.empty() || units.back() != at) units.push_back(at);  // a table may have a file twice
    };
    if (const auto names = heads.of(unit)) {
      for (const std::string& name : *names) add(name.c_str());
      return;
    }
    Dwarf_Files* files = nullptr;
    std::size_t count = 0;
    if (dwarf_getsrcfiles(&unit, &files, &count) != 0) return;
    for (std::size_t i = 0; i < count; ++i)
      if (const char* name = dwarf_filesrc(files, i, nullptr, nullptr)) add(name);
  });
}

void SourceIndex::build_functions() {
  functions_.emplace();
  std::unordered_map<std::string, std::uint32_t> by_path;
  const auto number_of = [&](const std::string& path) {
    const auto [at, is_new] = by_path.try_emplace(path, static_cast<std::uint32_t>(function_files_.size()));
    if (is_new) function_files_.push_back(path);
    return at->second;
  };
  // One function is described in each unit that uses it; a macro may define several of one name in a line.
  std::vector<std::pair<IndexedFunction, unsigned>> found;  // and which of its name, file and line in its unit
  each_unit(dwarf_, [&](Dwarf_Die unit) {
    std::map<std::tuple<std::string, std::uint32_t, std::uint32_t>, unsigned> in_unit;
    std::unordered_map<const char*, std::uint32_t> by_name;  // of the unit's table: making a path of each is slow
    each_function(unit, 0, [&](Dwarf_Die& die, SourceFileName& file, std::uint32_t line) {
      const std::string name = name_of(die);
      if (name.empty()) return;
      const auto [at, is_new] = by_name.try_emplace(file.name);
      if (is_new) at->second = number_of(file.path());
      const unsigned nth = in_unit[{name, at->second, line}]++;
      found.emplace_back(IndexedFunction{name, at->second, line, dwarf_dieoffset(&die)}, nth);
    });
  });
  std::ranges::stable_sort(found, {}, order_of);
  const auto tail = std::ranges::unique(found, {}, order_of);
  found.erase(tail.begin(), tail.end());
  for (auto& [function, _] : found) functions_->push_back(std::move(function));
}

}  // namespace kevt::target
