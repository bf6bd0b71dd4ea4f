// --inject 'fail: ret=-12 probability=10% count=3'
//
//   fail   ret=-12   probability=10%     count=3    seed=42
//   event  value     below = 10 % of     times      of the sequence
//                    2^64 - 1
//
// The words are those of the kernel's fault injection (Documentation/fault-injection) where it has them.
#include "cli/definitions/injections.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "cli/reporter.h"

namespace kevt::cli {

namespace {

using Words = std::map<std::string, std::string, std::less<>>;

// A whole number, decimal or 0x, with a sign where T has one.
template <class T>
std::optional<T> number_of(std::string_view text) {
  const bool negative = std::numeric_limits<T>::is_signed && text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  std::uint64_t magnitude = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), magnitude, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (negative && magnitude > std::uint64_t{1} << 63) return std::nullopt;
  return static_cast<T>(negative ? 0 - magnitude : magnitude);
}

// Of 2^64 - 1.
std::optional<std::uint64_t> share_of(std::string_view percent) {
  if (percent.ends_with('%')) percent.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(percent.data(), percent.data() + percent.size(), value);
  if (error != std::errc() || end != percent.data() + percent.size() || !(value > 0 && value <= 100))
    return std::nullopt;
  return value == 100 ? UINT64_MAX : static_cast<std::uint64_t>(std::ldexp(value / 100, 64));
}

Result<Words> split(std::string_view text) {
  Words words;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t,"), text.size()));
    if (text.empty()) return words;
    const std::string_view word = text.substr(0, text.find_first_of(" \t,"));
    text.remove_prefix(word.size());
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) return std::unexpected(Error(fmt::format("`{}` is no NAME=VALUE", word)));
    if (!words.emplace(word.substr(0, equals), word.substr(equals + 1)).second)
      return std::unexpected(Error(fmt::format("`{}` is there twice", word.substr(0, equals))));
  }
}

}  // namespace

Result<model::Injection> read_injection(std::string_view text) {
  auto words = split(text);
  if (!words) return std::unexpected(std::move(words.error()));
  model::Injection injection;
  const auto take = [&](std::string_view name, auto read, auto& into, const char* what) -> Result<void> {
    const auto it = words->find(name);
    if (it == words->end()) return {};
    const auto value = read(it->second);
    if (!value) return std::unexpected(Error(fmt::format("`{}={}`: {}", name, it->second, what)));
    into = *value;
    words->erase(it);
    return {};
  };
  if (!words->contains("ret")) return std::unexpected(Error("say what the function returns: ret=VALUE"));
  injection.seed = std::random_device()();
  const Result<void> read[] = {
      take("ret", number_of<std::int64_t>, injection.value, "a number of 64 bits, decimal or 0x"),
      take("probability", share_of, injection.below, "percent, above 0 and up to 100"),
      take("count", number_of<std::uint64_t>, injection.times, "a number"),
      take("seed", number_of<std::uint64_t>, injection.seed, "a number"),
  };
  for (const auto& one : read)
    if (!one) return std::unexpected(one.error());
  if (!words->empty())
    return std::unexpected(Error(fmt::format("`{}` is none of ret, probability, count, seed", words->begin()->first)));
  return injection;
}

Result<std::vector<engine::EventInjection>> collect_injections(const std::vector<std::string>& words) {
  auto named = KEVT_TRY(split_by_event(words, {"injection", "EVENT:ret=VALUE", "two injections"}));
  std::vector<engine::EventInjection> injections;
  for (const engine::EventFilter& one : named) {
    auto injection = read_injection(one.text);
    if (!injection) return std::unexpected(std::move(injection.error()).while_doing("--inject " + one.event));
    injections.push_back({one.event, *injection});
  }
  return injections;
}

std::string injection_text(const engine::EventInjection& one) {
  const model::Injection& injection = one.injection;
  std::string text = fmt::format("{} returns {} without running", one.event, injection.value);
  if (injection.below != UINT64_MAX)
    text += fmt::format(", {:.3g} % of its hits (seed {})", std::ldexp(static_cast<double>(injection.below), -64) * 100,
                        injection.seed);
  if (injection.times != UINT64_MAX) text += fmt::format(", {} times at most", injection.times);
  return text;
}

}  // namespace kevt::cli
