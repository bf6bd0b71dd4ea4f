#include "tracefs-compat/record/analysis/buckets.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace kevt::record {

namespace {

constexpr std::uint64_t kGreatest = ~std::uint64_t{0};

// The end of a line of `width` numbers that begins at `from`.
std::uint64_t line_end(std::uint64_t from, std::uint64_t width) { return from + std::min(width - 1, kGreatest - from); }

// From `from` on, each line as wide as `width(its begin)`, until one has `to`; nullopt: there would be too many.
std::optional<std::vector<HistFileRange>> lines_of(std::uint64_t from, std::uint64_t to, std::size_t most,
                                                   const std::function<std::uint64_t(std::uint64_t)>& width) {
  std::vector<HistFileRange> lines;
  while (lines.size() < most) {
    lines.push_back({from, line_end(from, width(from))});
    if (lines.back().to >= to) return lines;
    from = lines.back().to + 1;
  }
  return std::nullopt;
}

// Over 2^(n-1), up to 2^n.
std::vector<HistFileRange> lines_of_powers(std::uint64_t from, std::uint64_t to) {
  std::vector<HistFileRange> lines = {from <= 1 ? HistFileRange{0, 1}
                                                : HistFileRange{std::bit_floor(from - 1) + 1, std::bit_ceil(from)}};
  while (lines.back().to < to && lines.back().to <= kGreatest / 2) {
    const std::uint64_t end = lines.back().to;
    lines.push_back({end + 1, end * 2});
  }
  if (lines.back().to < to) lines.push_back({lines.back().to + 1, kGreatest});
  return lines;
}

std::vector<HistFileRange> lines_of_widths(std::uint64_t from, std::uint64_t to, std::uint64_t width,
                                           std::size_t most) {
  for (;; width *= 2) {
    const bool is_widest = width > kGreatest / 2;
    const std::uint64_t begin = is_widest ? 0 : from / width * width;
    if (is_widest) return {{begin, kGreatest}};
    if (auto lines = lines_of(begin, to, most, [&](std::uint64_t) { return width; })) return *std::move(lines);
  }
}

// Parts of powers of two; as many parts as there is room for.
std::vector<HistFileRange> lines_of_parts(std::uint64_t from, std::uint64_t to, std::size_t most) {
  constexpr int kFinest = 6;  // 2^6 parts: as fine as `.loglinear` buckets are
  for (int parts = kFinest; parts >= 0; --parts) {
    const auto width = [&](std::uint64_t begin) {
      const int shift = std::bit_width(begin) - 1 - parts;
      return shift > 0 ? std::uint64_t{1} << shift : 1;
    };
    const std::uint64_t begin = from / width(from) * width(from);
    if (auto lines = lines_of(begin, to, parts > 0 ? most : std::max<std::size_t>(most, 65), width))
      return *std::move(lines);
  }
  return {};  // not reached: there are 65 powers of two
}

}  // namespace

std::vector<HistFileRange> bucket_lines(std::string_view modifier, std::span<const HistFileRange> buckets,
                                        std::size_t most) {
  if (buckets.empty()) return {};
  const auto least = std::ranges::min(buckets, {}, &HistFileRange::from);
  const auto greatest = std::ranges::max(buckets, {}, &HistFileRange::to);
  most = std::max<std::size_t>(most, 1);
  if (modifier == "log2") return lines_of_powers(least.to, greatest.to);
  if (modifier == "loglinear") return lines_of_parts(least.from, greatest.to, most);
  const std::uint64_t width = least.to - least.from;
  return lines_of_widths(least.from, greatest.to, width == kGreatest ? width : width + 1, most);
}

std::optional<std::size_t> line_of(std::span<const HistFileRange> lines, const HistFileRange& bucket) {
  const auto line = std::ranges::lower_bound(lines, bucket.to, {}, &HistFileRange::to);
  if (line == lines.end() || bucket.to < line->from) return std::nullopt;
  return static_cast<std::size_t>(line - lines.begin());
}

std::uint64_t bucket_percentile(const BucketHits& buckets, unsigned percent) {
  std::uint64_t hits = 0, so_far = 0;
  for (const auto& [range, count] : buckets) hits += count;
  const std::uint64_t wanted = hits / 100 * percent + (hits % 100 * percent + 99) / 100;  // rounded up
  for (const auto& [range, count] : buckets) {
    so_far += count;
    if (so_far >= wanted) return range.to;
  }
  return 0;
}

}  // namespace kevt::record
