// The problem: trace lines must read as the kernel prints them, byte for byte.
//
// The idea: e2e.jsonl.gz holds definitions and the lines a real kernel printed for them. Each line is turned back
// into the record it must have come from, by a small reader of its own that knows only the layout; event_text()
// of that record must be the line again. A type printed in another base, a missing quote or a field at another
// offset shows.
//
// Not tested here: that a hit makes this record (the runtimes' tests do). The folder comes from KEVT_CORPUS.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "compiler/layout/layout.h"
#include "tests/golden/corpus_reader.h"
#include "tests/golden/definition_world.h"

namespace kevt::golden {
namespace {

using nlohmann::json;

// Writes the values of a line into a record.
class LineReader {
 public:
  LineReader(const target::CatalogEntry& entry, const DefinitionWorld& world)
      : entry_(entry), world_(world), bytes_(entry.layout.fixed_size) {}

  std::vector<std::uint8_t> read(std::string_view line) {
    const model::RecordLayout& layout = entry_.layout;
    if (line.starts_with("(")) line = read_place(line);
    for (std::size_t i = 0; i < layout.fields.size(); ++i) {
      if (layout.fields[i].role != model::FieldRole::Argument) continue;
      line.remove_prefix(line.find('=') + 1);
      std::size_t end = line.size();
      if (i + 1 < layout.fields.size()) end = line.find(" " + layout.fields[i + 1].name + "=");
      read_value(layout.fields[i], std::string(line.substr(0, end)));
      line.remove_prefix(std::min(end, line.size()));
    }
    return bytes_;
  }

 private:
  void put(std::uint32_t offset, std::uint64_t value, std::uint32_t size) {
    std::memcpy(bytes_.data() + offset, &value, size);
  }

  std::uint64_t address(const std::string& text) const {
    if (text.starts_with("0x")) return std::stoull(text, nullptr, 16);
    const std::string name = text.substr(0, text.find('+'));
    const auto symbol = world_.env().find_function({}, name);
    EXPECT_TRUE(symbol) << name;
    const std::size_t plus = text.find("+0x");
    return (symbol ? symbol->address : 0) +
           (plus == std::string::npos ? 0 : std::stoull(text.substr(plus), nullptr, 16));
  }

  // `(0x401000)`, `(0x4011b2 <- 0x401017)`; returns what follows.
  std::string_view read_place(std::string_view line) {
    const std::size_t close = line.find(')');
    const std::string place(line.substr(1, close - 1));
    const std::size_t arrow = place.find(" <- ");
    for (const model::RecordField& field : entry_.layout.fields) {
      if (field.role == model::FieldRole::ProbeIp) put(field.offset, address(place), 8);
      if (field.role == model::FieldRole::ProbeRetIp) put(field.offset, address(place.substr(0, arrow)), 8);
      if (field.role == model::FieldRole::ProbeFunc) put(field.offset, address(place.substr(arrow + 4)), 8);
    }
    return line.substr(close + 1);
  }

  void read_value(const model::RecordField& field, const std::string& text) {
    if (field.type.array_count == 0) return read_item(field, field.offset, text);
    std::uint32_t offset = field.offset;
    for (std::size_t begin = 1; begin < text.size(); offset += field.type.bytes) {
      const std::size_t end = text.find_first_of(",}", begin);
      read_item(field, offset, text.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  void read_item(const model::RecordField& field, std::uint32_t offset, const std::string& text) {
    if (model::RecordLayout::is_string(field)) return read_text(offset, text);
    if (field.type.kind == model::TypeKind::Symbol) return put(offset, address(text), 8);
    const bool negative = text.starts_with("-");
    const std::uint64_t value = negative ? static_cast<std::uint64_t>(std::stoll(text)) : std::stoull(text, nullptr, 0);
    put(offset, value, field.type.bytes);
  }

  void read_text(std::uint32_t offset, const std::string& text) {
    if (text == "(fault)") return put(offset, 0, 4);
    const std::string content = text.substr(1, text.size() - 2);
    put(offset, (content.size() + 1) << 16 | bytes_.size(), 4);
    bytes_.insert(bytes_.end(), content.begin(), content.end());
    bytes_.push_back(0);
  }

  const target::CatalogEntry& entry_;
  const DefinitionWorld& world_;
  std::vector<std::uint8_t> bytes_;
};

// Sizes of functions, and offsets inside callers, depend on that kernel: `/SZ`, `+OFF`. Ours are these.
std::string with_our_sizes(std::string line) {
  line = std::regex_replace(line, std::regex("\\+OFF/SZ"), "+0x5d/SZ");
  return std::regex_replace(line, std::regex("/SZ"), "/0x1000");
}

const target::CatalogEntry* find_event(const DefinitionWorld& world, const std::string& name) {
  for (const char* group : {"kprobes", "uprobes", "eprobes", "synthetic"}) {
    if (const auto* entry = world.catalog().find(group, name)) return entry;
  }
  return nullptr;
}

// Lines that were compared.
int compare_lines(const json& record) {
  DefinitionWorld world;
  for (const char* name : {"do_syscall_64", "ksys_lseek"}) {
    static std::uint64_t address = 0xffffffff81800000;
    world.env().add_function({.name = name, .module = "", .address = address += 0x1000, .size = 0x1000});
  }
  for (const json& op : record.at("ops")) {
    if (op.size() < 3 || !events_file(op[1].get<std::string>())) continue;
    const std::string text = std::regex_replace(op[2].get<std::string>(), std::regex("@DIR@"), std::string(kFolder));
    EXPECT_EQ(world.write(*events_file(op[1].get<std::string>()), text).errno_value, 0) << text;
  }
  int compared = 0;
  const json& results = record.at("result").at("results");
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (record.at("ops")[i][0] != "trace") continue;
    for (const json& item : results[i]) {
      const std::string line = with_our_sizes(item);
      const std::size_t colon = line.find(": ");
      const auto* entry = find_event(world, line.substr(0, colon));
      EXPECT_NE(entry, nullptr) << line;
      if (entry == nullptr) continue;
      const auto bytes = LineReader(*entry, world).read(std::string_view(line).substr(colon + 2));
      EXPECT_EQ(layout::event_text(*entry->siblings.front(), entry->layout, bytes, world.env()), line);
      ++compared;
    }
  }
  return compared;
}

TEST(CorpusTraces, ReadAsTheKernelPrintsThem) {
  const auto folder = corpus_folder();
  if (!folder) GTEST_SKIP() << "KEVT_CORPUS does not name the corpus' folder";
  int compared = 0;
  for (const json& record : read_corpus(*folder + "/e2e.jsonl.gz")) compared += compare_lines(record);
  fmt::print("{} trace lines compared\n", compared);
  EXPECT_GT(compared, 0);
}

}  // namespace
}  // namespace kevt::golden
