#include "compiler/pipeline/usdt.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <ranges>
#include <utility>

#include "common/error.h"
#include "compiler/pipeline/usdt_operand.h"
#include "compiler/pipeline/words.h"
#include "grammar/parse_definition_text.h"

namespace kevt::pipeline {

namespace {

// The group that perf gives to such events.
std::string group_of(const UsdtName& marker) { return "sdt_" + std::string(marker.provider); }

using Problem = diag::Diagnostic;

// The mistake has the kernel's error name: the kernel would look for a symbol of that name, and find none.
Problem not_found(std::string_view line, const Word& place, const UsdtName& marker, const target::LookupError& why) {
  std::string detail = fmt::format("`{}` has no marker `{}:{}`", marker.file, marker.provider, marker.name);
  if (why.failure == target::LookupFailure::ModuleMissing)
    detail =
        fmt::format("`{}` is not loaded; the markers of a file that comes later are found by its path", marker.file);
  if (!why.why.empty()) detail += ": " + why.why;
  for (std::size_t i = 0; i < why.candidates.size(); ++i)
    detail += fmt::format("{}`{}`", i ? ", " : "; near it: ", why.candidates[i]);
  return {.kind = diag::Kind::BadProbeAddr,
          .location = diag::Location::Kprobe,
          .command = std::string(line),
          .column = place.column,
          .errno_value = EINVAL,
          .detail = std::move(detail),
          .notes = {},
          .fixits = {}};
}

// Makes the lines of one definition.
class Expansion {
 public:
  Expansion(std::string_view line, const std::vector<Word>& words, const UsdtName& marker,
            std::span<const target::UsdtSite> sites)
      : line_(line), words_(words), marker_(marker), sites_(sites) {}

  std::expected<std::vector<std::string>, Problem> lines() {
    if (!words_[0].text.starts_with('p'))
      return std::unexpected(problem(words_[0], "a marker is a place, not a function: `p` probes it"));
    for (const target::UsdtSite& site : sites_) operands_.push_back(split_usdt_arguments(site.arguments));
    std::vector<std::string> arguments(sites_.size());
    for (const Word& word : words_ | std::views::drop(2)) KEVT_TRY(add(word, arguments));
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < sites_.size(); ++i) lines.push_back(head() + " " + place(sites_[i]) + arguments[i]);
    return lines;
  }

 private:
  Problem problem(const Word& word, std::string detail) const {
    return {.kind = diag::Kind::UnsupportedForm,
            .location = diag::Location::Kevtrace,
            .command = std::string(line_),
            .column = word.column,
            .errno_value = EINVAL,
            .detail = std::move(detail),
            .notes = {},
            .fixits = {}};
  }

  // The first word of each line; if no name is written, with the name that perf would give the event.
  std::string head() const {
    const std::string_view written = words_[0].text;
    if (written.contains(':')) return std::string(written);
    return fmt::format("{}:{}/{}", written, group_of(marker_), marker_.name);
  }

  static std::string place(const target::UsdtSite& site) {
    const std::string at = fmt::format("{}:{:#x}", site.path, site.offset);
    return site.semaphore ? fmt::format("{}({:#x})", at, *site.semaphore) : at;
  }

  // The first `$argN` in `text`: N, and the length of that word in bytes.
  static std::optional<std::pair<std::size_t, std::size_t>> argument_in(std::string_view text) {
    const std::size_t at = text.find("$arg");
    if (at == std::string_view::npos) return std::nullopt;
    std::size_t number = 0, end = at + 4;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) && number < 1000)
      number = 10 * number + static_cast<std::size_t>(text[end++] - '0');
    return std::pair(number, end - at);
  }

  std::expected<void, Problem> add(const Word& word, std::vector<std::string>& arguments) {
    if (word.text == "$arg*") {
      std::size_t most = 0;
      for (const auto& of_site : operands_) most = std::max(most, of_site.size());
      for (std::size_t n = 1; n <= most; ++n) KEVT_TRY(add_one(word, fmt::format("$arg{}", n), arguments));
      return {};
    }
    return add_one(word, word.text, arguments);
  }

  // Appends an argument as `name=+8($arg1):string($arg2)` to each place's line, with that place's operands.
  std::expected<void, Problem> add_one(const Word& word, std::string_view text, std::vector<std::string>& arguments) {
    const std::size_t equals = text.find('=');
    std::string_view name = equals == std::string_view::npos ? "" : text.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? text : text.substr(equals + 1);
    const std::string_view operand = value.substr(0, value.find(':'));
    const std::string_view type = value.substr(operand.size());
    std::vector<std::string> replaced(arguments.size(), std::string(operand));
    std::string own_name, own_type;
    if (const auto named = argument_in(operand)) {
      auto operands = KEVT_TRY(operands_of(word, named->first));
      own_name = fmt::format("arg{}", named->first);
      const std::size_t at = operand.find("$arg");
      const bool is_whole = named->second == operand.size();
      if (is_whole && type.empty()) own_type = type_of(operands);
      const bool is_bare_text = is_whole && (type.starts_with(":string") || type.starts_with(":ustring"));
      for (std::size_t i = 0; i < replaced.size(); ++i) {
        const std::string& fetch = operands[i].fetch;
        replaced[i].replace(at, named->second, is_bare_text ? "+0(" + fetch + ")" : fetch);
      }
    }
    auto types = KEVT_TRY(types_with_lengths(word, type));
    if (name.empty()) name = own_name;
    for (std::size_t i = 0; i < arguments.size(); ++i)
      arguments[i] += fmt::format(" {}{}{}{}{}", name, name.empty() ? "" : "=", replaced[i], types[i], own_type);
    return {};
  }

  // `:string($arg2)`, `:s32[$arg2]` at each place: the length is that place's operand, with the operand's type if
  // nothing else is written between the parentheses.
  std::expected<std::vector<std::string>, Problem> types_with_lengths(const Word& word, std::string_view type) const {
    std::vector<std::string> types(sites_.size(), std::string(type));
    const auto named = argument_in(type);
    if (!named) return types;
    const auto operands = operands_of(word, named->first);
    if (!operands) return std::unexpected(operands.error());
    const std::size_t at = type.find("$arg");
    const std::string_view behind = type.substr(at + named->second);
    const bool is_whole = at > 0 && std::string_view("([.").contains(type[at - 1]) && (behind == ")" || behind == "]");
    for (std::size_t i = 0; i < types.size(); ++i)
      types[i].replace(at, named->second, (*operands)[i].fetch + (is_whole ? type_of(*operands) : ""));
    return types;
  }

  std::expected<std::vector<UsdtOperand>, Problem> operands_of(const Word& word, std::size_t number) const {
    std::vector<UsdtOperand> made;
    for (std::size_t i = 0; i < sites_.size(); ++i) {
      const std::size_t there = operands_[i].size();
      if (number == 0 || number > there)
        return std::unexpected(problem(word, fmt::format("`{}:{}` has {} argument{}", marker_.provider, marker_.name,
                                                         there, there == 1 ? "" : "s")));
      auto operand = usdt_operand(operands_[i][number - 1]);
      if (!operand)
        return std::unexpected(
            problem(word, fmt::format("argument {} is `{}` at {}:{:#x}: {}", number, operands_[i][number - 1],
                                      sites_[i].path, sites_[i].offset, operand.error())));
      made.push_back(*std::move(operand));
    }
    return made;
  }

  // One type for all places, since they belong to one event. Constants do not count unless all operands are constants:
  // a constant's width is only that of its immediate.
  static std::string type_of(const std::vector<UsdtOperand>& operands) {
    const auto is_constant = [](const UsdtOperand& one) { return one.is_constant; };
    const bool all_constant = std::ranges::all_of(operands, is_constant);
    unsigned bytes = 8;
    bool is_signed = false, is_float = false;
    for (const UsdtOperand& one : operands) {
      if (one.is_constant && !all_constant) continue;
      bytes = std::min(bytes, one.bytes);
      is_signed = is_signed || one.is_signed;
      is_float = is_float || one.is_float;
    }
    if (is_float) return fmt::format(":f{}", 8 * bytes);
    if (bytes == 8 && !is_signed) return ":x64";
    return fmt::format(":{}{}", is_signed ? 's' : 'u', 8 * bytes);
  }

  std::string_view line_;
  const std::vector<Word>& words_;
  UsdtName marker_;
  std::span<const target::UsdtSite> sites_;
  std::vector<std::vector<std::string_view>> operands_;  // for each site
};

}  // namespace

std::optional<UsdtName> usdt_name(std::string_view place) {
  const std::size_t name_at = place.rfind(':');
  if (name_at == std::string_view::npos || name_at == 0) return std::nullopt;
  const std::size_t provider_at = place.rfind(':', name_at - 1);
  if (provider_at == std::string_view::npos || provider_at == 0) return std::nullopt;
  const UsdtName made{.file = place.substr(0, provider_at),
                      .provider = place.substr(provider_at + 1, name_at - provider_at - 1),
                      .name = place.substr(name_at + 1)};
  if (made.file.ends_with(':') || !grammar::is_good_name(made.provider) || !grammar::is_good_name(made.name))
    return std::nullopt;
  return made;
}

std::optional<UsdtName> usdt_in(std::string_view line) { return usdt_name(place_in(line)); }

std::optional<model::EventName> nameless_usdt(std::string_view line) {
  const auto marker = usdt_in(line);
  if (!marker || words_of(line)[0].text.contains(':')) return std::nullopt;
  return model::EventName{group_of(*marker), std::string(marker->name)};
}

std::expected<std::optional<std::vector<std::string>>, diag::Diagnostic> expand_usdt(std::string_view line,
                                                                                     const target::TargetEnv& env) {
  const auto marker = usdt_in(line);
  if (!marker) return std::nullopt;
  const std::vector<Word> words = words_of(line);
  const auto sites = env.find_usdt(marker->file, marker->provider, marker->name);
  if (!sites && sites.error().failure != target::LookupFailure::NotChecked)
    return std::unexpected(not_found(line, words[1], *marker, sites.error()));
  if (!sites) return std::nullopt;
  return KEVT_TRY(Expansion(line, words, *marker, *sites).lines());
}

}  // namespace kevt::pipeline
