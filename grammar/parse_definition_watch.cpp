// Places of watchpoints: memory that is watched.
//
//   w:g/e rw@jiffies+8:4  ->  reads and writes, 4 bytes from jiffies+8        w jiffies  ->  WatchNeedsAt at the place
//
// Problem: the kernel series with watchpoints is not merged, so its texts may change. Idea: the series' present rules
// and texts, under kinds of our own. Not here: whether the symbol exists. Mirrors trace_wprobe.c of probes/for-next.
#include <algorithm>
#include <array>
#include <limits>

#include "grammar/parse_definition_parts.h"

namespace kevt::grammar {
namespace {

constexpr std::array<std::string_view, 3> kAccesses = {"r", "w", "rw"};
constexpr std::array<std::uint64_t, 4> kLengths = {1, 2, 4, 8};

}  // namespace

std::optional<model::Place> parse_watch_place(const LineContext& line) {
  const auto refuse = [&](diag::Kind kind, std::uint32_t column) {
    line.report({.kind = kind, .word = kPlaceWord, .column = column, .order = diag::kStepPlace});
    return std::nullopt;
  };
  const WatchPlacePieces pieces = cut_watch_place(line.words[kPlaceWord]);
  if (!pieces.symbol) return refuse(diag::Kind::WatchNeedsAt, 0);
  model::WatchPlace place{.access = pieces.access.text.empty() ? "rw" : std::string(pieces.access.text)};
  if (std::ranges::find(kAccesses, place.access) == kAccesses.end()) return refuse(diag::Kind::WatchBadAccess, 0);
  if (pieces.length) {
    const Number length = parse_unsigned(pieces.length->text, kAutoBase);
    const bool fits = length.error == 0 && std::ranges::find(kLengths, length.value) != kLengths.end();
    if (!fits) return refuse(diag::Kind::WatchBadLength, pieces.length->begin);
    place.length = static_cast<std::uint32_t>(length.value);
  }
  const Number address = parse_unsigned(pieces.symbol->text, kAutoBase);
  if (address.error == 0 && !pieces.offset) {
    place.offset = static_cast<std::int64_t>(address.value);
    return place;
  }
  Number offset;
  if (pieces.offset) offset = parse_signed(pieces.offset->text, kAutoBase);
  const bool named = !pieces.symbol->text.empty() && !is_digit(pieces.symbol->text[0]);
  if (offset.error != 0 || !named) return refuse(diag::Kind::WatchBadAddress, pieces.symbol->begin);
  place.symbol = pieces.symbol->text;
  place.offset = static_cast<std::int64_t>(offset.value);
  return place;
}

}  // namespace kevt::grammar
