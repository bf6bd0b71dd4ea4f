#include "runtime-user/session/histogram_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace kevt::session {

namespace {

using engine::HistCell;
using model::HistField;
using model::HistModifier;

std::string_view modifier_of(const HistField& field) {
  switch (field.modifier) {
    case HistModifier::Hex:
      return ".hex";
    case HistModifier::Sym:
      return ".sym";
    case HistModifier::SymOffset:
      return ".sym-offset";
    case HistModifier::Execname:
      return ".execname";
    case HistModifier::Syscall:
      return ".syscall";
    case HistModifier::Log2:
      return ".log2";
    case HistModifier::Buckets:
      return ".buckets";
    case HistModifier::LogLinear:
      return ".loglinear";
    case HistModifier::Usecs:
      return ".usecs";
    case HistModifier::Percent:
      return ".percent";
    case HistModifier::Graph:
      return ".graph";
    case HistModifier::Least:
      return ".min";
    case HistModifier::Greatest:
      return ".max";
    case HistModifier::Average:
      return ".avg";
    case HistModifier::Full:
      return ".full";
    case HistModifier::None:
    case HistModifier::Stacktrace:
      return "";
  }
  std::unreachable();
}

}  // namespace

bool has_name(HistModifier modifier) {
  return modifier == HistModifier::Sym || modifier == HistModifier::SymOffset || modifier == HistModifier::Execname ||
         modifier == HistModifier::Syscall;
}

std::string number_text(const HistField& field, std::uint64_t number) {
  return field.is_signed ? fmt::format("{}", static_cast<std::int64_t>(number)) : fmt::format("{}", number);
}

std::string power_text(std::uint64_t exponent) {
  return fmt::format("{:.0f}", std::ldexp(1.0, static_cast<int>(exponent)));
}

std::vector<std::string> unique_names(const std::vector<std::string>& names) {
  std::vector<std::string> made;
  for (const std::string& name : names) {
    std::string next = name;
    for (unsigned number = 2; std::ranges::find(made, next) != made.end(); ++number)
      next = fmt::format("{}_{}", name, number);
    made.push_back(std::move(next));
  }
  return made;
}

std::vector<std::string> names_of(const std::vector<HistField>& fields) {
  std::vector<std::string> names;
  for (const HistField& field : fields)
    names.push_back((field.name.empty() ? field.listed : field.name) + std::string(modifier_of(field)));
  return unique_names(names);
}

std::string value_text(const HistField& field, std::uint64_t kept, std::uint64_t hits) {
  return model::is_statistic(field.modifier) ? engine::statistic_text(field, kept, hits) : number_text(field, kept);
}

std::uint64_t bucket_end(const HistField& key, std::uint64_t begin) {
  if (key.modifier == HistModifier::LogLinear) return model::log_linear_end(begin);
  return begin + std::min(key.buckets - 1, ~std::uint64_t{0} - begin);
}

std::string plain_text(const HistField& key, const HistCell& cell) {
  if (key.source == model::HistSource::Stacktrace) return fmt::format("{}", fmt::join(cell.frames, ";"));
  if (key.is_string || has_name(key.modifier)) return cell.text;
  if (key.modifier == HistModifier::Log2) return power_text(cell.number);
  if (key.modifier == HistModifier::LogLinear) return number_text(key, bucket_end(key, cell.number));
  if (key.modifier == HistModifier::Buckets)
    return number_text(key, cell.number) + '-' + number_text(key, bucket_end(key, cell.number));
  return number_text(key, cell.number);
}

}  // namespace kevt::session
