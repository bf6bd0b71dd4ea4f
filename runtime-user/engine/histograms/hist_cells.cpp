#include "runtime-user/engine/histograms/hist_cells.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>

#include "common/syscall_names.h"

namespace kevt::engine {

namespace {

using model::HistField;
using model::HistModifier;

enum class Offset : std::uint8_t { Shown, Hidden };

using Envs = std::span<const target::TargetEnv* const>;

// As %pS and %ps of the kernel; for a program's code without a symbol, the file and the offset in the file.
std::string address_text(Envs envs, std::uint64_t address, Offset offset) {
  for (const target::TargetEnv* env : envs) {
    const auto symbol = env->symbolize(address);
    if (!symbol) continue;
    std::string text = symbol->name;
    if (offset == Offset::Shown) text += fmt::format("+0x{:x}/0x{:x}", address - symbol->address, symbol->size);
    if (!symbol->module.empty()) text += fmt::format(" [{}]", symbol->module);
    return text;
  }
  for (const target::TargetEnv* env : envs)
    if (auto place = env->place_name(address)) return *std::move(place);
  return fmt::format("0x{:x}", address);
}

std::vector<std::uint64_t> addresses_of(std::string_view bytes) {
  std::vector<std::uint64_t> addresses;
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t address = 0;
    std::memcpy(&address, bytes.data() + at, sizeof address);
    if (address == 0) break;
    addresses.push_back(address);
  }
  return addresses;
}

std::string name_of(const HistField& key, std::uint64_t number, const HistEntry& entry, Envs envs) {
  switch (key.modifier) {
    case HistModifier::Sym:
      return address_text(envs, number, Offset::Hidden);
    case HistModifier::SymOffset:
      return address_text(envs, number, Offset::Shown);
    case HistModifier::Execname:
      return entry.comm;
    case HistModifier::Syscall:
      return std::string(syscall_name(number).value_or("unknown_syscall"));
    default:
      return "";
  }
}

HistCell cell_of(const HistField& key, std::string_view bytes, const HistEntry& entry, Envs envs) {
  HistCell cell;
  if (key.source == model::HistSource::Stacktrace) {
    cell.addresses = addresses_of(bytes);
    for (const std::uint64_t address : cell.addresses)
      cell.frames.push_back(address_text(envs, address, Offset::Shown));
  } else if (key.is_string) {
    cell.text = bytes.substr(0, bytes.find('\0'));
  } else {
    std::memcpy(&cell.number, bytes.data(), sizeof cell.number);
    cell.text = name_of(key, cell.number, entry, envs);
  }
  return cell;
}

}  // namespace

std::vector<HistCell> hist_cells(const model::Histogram& histogram, const HistEntry& entry, Envs envs) {
  const std::vector<std::size_t> offsets = key_offsets(histogram);
  std::vector<HistCell> cells;
  for (std::size_t i = 0; i < histogram.keys.size(); ++i) {
    const HistField& key = histogram.keys[i];
    cells.push_back(cell_of(key, std::string_view(entry.key).substr(offsets[i], key.bytes), entry, envs));
  }
  return cells;
}

}  // namespace kevt::engine
