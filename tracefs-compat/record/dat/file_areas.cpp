// Areas by where they begin: only the last one that begins before the end of a new one can be in its way.
#include "tracefs-compat/record/dat/file_areas.h"

#include <fmt/format.h>

#include <iterator>

namespace kevt::record {
namespace {

std::string area_text(std::uint64_t begin, std::uint64_t end, AreaOwner owner) {
  switch (owner.kind) {
    case AreaOwner::Kind::Head:
      return fmt::format("the head (bytes {} to {})", begin, end);
    case AreaOwner::Kind::Section:
      return fmt::format("section {} (bytes {} to {})", owner.number, begin, end);
    case AreaOwner::Kind::Cpu:
      return fmt::format("CPU {}'s data (bytes {} to {})", owner.number, begin, end);
  }
  return "";
}

}  // namespace

std::optional<std::string> FileAreas::take(std::uint64_t begin, std::uint64_t end, AreaOwner owner) {
  if (begin >= end) return std::nullopt;
  auto behind = by_begin_.lower_bound(end);
  if (behind != by_begin_.begin()) {
    const auto& [other_begin, other] = *std::prev(behind);
    if (other.end > begin)
      return fmt::format("{} overlap{} {}", area_text(begin, end, owner), owner.kind == AreaOwner::Kind::Cpu ? "" : "s",
                         area_text(other_begin, other.end, other.owner));
  }
  by_begin_.emplace_hint(behind, begin, Area{end, owner});
  return std::nullopt;
}

}  // namespace kevt::record
