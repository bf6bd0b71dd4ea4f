// The dynamic part is laid out anew, in field order: strings are copied, addresses become
// "SYM+0xOFF/0xSIZE" as sprint_symbol() of the kernel writes them, or "0x…" where no symbol is known.
#include "runtime-user/engine/text/symbol_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "compiler/model/record_view.h"

namespace kevt::engine {

namespace {

using Bytes = std::vector<std::uint8_t>;

std::span<const std::uint8_t> string_at(std::span<const std::uint8_t> record, std::uint32_t word) {
  const std::uint32_t offset = word & 0xffff, length = word >> 16;
  if (offset > record.size() || length > record.size() - offset) return {};
  return record.subspan(offset, length);
}

std::string symbol_text(std::uint64_t address, const target::TargetEnv& env) {
  const auto symbol = env.symbolize(address);
  if (!symbol) return fmt::format("{:#x}", address);
  std::string text = fmt::format("{}+{:#x}/{:#x}", symbol->name, address - symbol->address, symbol->size);
  if (!symbol->module.empty()) text += " [" + symbol->module + "]";
  return text;
}

void append_symbol(Bytes& out, std::uint32_t word_offset, std::span<const std::uint8_t> text) {
  const auto word = static_cast<std::uint32_t>(text.size() << 16 | (out.size() & 0xffff));
  std::memcpy(out.data() + word_offset, &word, sizeof word);
  out.insert(out.end(), text.begin(), text.end());
}

}  // namespace

bool has_symbol_text(const model::RecordLayout& layout) {
  return std::ranges::any_of(
      layout.fields, [](const model::RecordField& field) { return field.type.kind == model::TypeKind::SymbolString; });
}

std::vector<std::uint8_t> expand_symbol_texts(const model::RecordLayout& layout, std::span<const std::uint8_t> record,
                                              const target::TargetEnv& env) {
  Bytes out(layout.fixed_size, 0);
  std::ranges::copy(record.first(std::min<std::size_t>(record.size(), layout.fixed_size)), out.begin());
  for (const model::RecordField& field : layout.fields) {
    if (!model::RecordLayout::is_string(field)) continue;
    for (std::uint32_t at = field.offset; at < field.offset + field.size; at += 4) {
      const auto text = string_at(record, static_cast<std::uint32_t>(model::number_at(record, at, 4)));
      if (field.type.kind != model::TypeKind::SymbolString || text.size() != sizeof(std::uint64_t)) {
        append_symbol(out, at,
                      field.type.kind == model::TypeKind::SymbolString ? std::span<const std::uint8_t>{} : text);
        continue;
      }
      std::uint64_t address;
      std::memcpy(&address, text.data(), sizeof address);
      const std::string symbol = symbol_text(address, env);
      append_symbol(out, at, {reinterpret_cast<const std::uint8_t*>(symbol.c_str()), symbol.size() + 1});
    }
  }
  return out;
}

}  // namespace kevt::engine
