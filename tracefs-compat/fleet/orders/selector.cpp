#include "tracefs-compat/fleet/orders/selector.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <ranges>

namespace kevt::fleet {
namespace {

constexpr std::size_t kMostOfLabel = 256;

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.'; }
bool is_of_value(char c) { return static_cast<unsigned char>(c) > ' ' && c != '\x7f' && c != ','; }

}  // namespace

Result<Label> parse_label(std::string_view text) {
  const auto sign = text.find('=');
  const std::string_view name = text.substr(0, sign);
  const std::string_view value = sign == text.npos ? std::string_view() : text.substr(sign + 1);
  if (name.empty() || value.empty() || text.size() > kMostOfLabel || !std::ranges::all_of(name, &is_of_name) ||
      !std::ranges::all_of(value, &is_of_value))
    return std::unexpected(Error(fmt::format("`{}` is no label; write NAME=VALUE, role=web", text)));
  return Label{std::string(name), std::string(value)};
}

std::string text_of(std::span<const Label> labels) {
  std::string out;
  for (const Label& one : labels) out += (out.empty() ? "" : ",") + one.name + "=" + one.value;
  return out;
}

Result<Selector> Selector::parse(std::string_view text) {
  Selector made;
  if (text == "*") return made;
  if (text.empty()) return std::unexpected(Error("an empty text chooses no hosts; write * for all"));
  for (const auto part : std::views::split(text, ',')) {
    auto word = parse_label(std::string_view(part));
    if (!word)
      return std::unexpected(Error(
          fmt::format("`{}` chooses no hosts; write role=web, role=web,zone=eu*, host=web1, or * for all", text)));
    made.words_.push_back(std::move(*word));
  }
  return made;
}

bool Selector::fits(std::string_view host, std::span<const Label> labels) const {
  const auto is_so = [](const std::string& glob, std::string_view value) {
    return fnmatch(glob.c_str(), std::string(value).c_str(), 0) == 0;
  };
  return std::ranges::all_of(words_, [&](const Label& word) {
    if (word.name == "host") return is_so(word.value, host);
    return std::ranges::any_of(labels,
                               [&](const Label& one) { return one.name == word.name && is_so(word.value, one.value); });
  });
}

}  // namespace kevt::fleet
