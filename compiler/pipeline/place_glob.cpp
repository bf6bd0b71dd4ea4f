#include "compiler/pipeline/place_glob.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "compiler/pipeline/globbed_names.h"
#include "compiler/target/glob_matches.h"

namespace kevt::pipeline {

namespace {

constexpr std::string_view kSpace = " \t", kGlob = "*?[";

// The parts of "p:ev libc:*alloc+4 n=%di".
struct Parts {
  std::string_view head, module, glob, behind;  // `behind`: "+4", "%return", and all arguments
  std::uint32_t column = 0;                     // of the place, in bytes

  bool is_of_path() const { return module.contains('/'); }
};

// nullopt: this is no function's place, or no glob. Brackets and angle brackets are those of C++'s names.
std::optional<Parts> parts_of(std::string_view line) {
  const std::size_t head = line.find_first_not_of(kSpace);
  const std::size_t head_ends = line.find_first_of(kSpace, head);
  const std::size_t place = line.find_first_not_of(kSpace, head_ends);
  if (head_ends == std::string_view::npos || place == std::string_view::npos) return std::nullopt;
  if (!std::string_view("prf").contains(line[head])) return std::nullopt;
  const std::string_view word = line.substr(place, line.find_first_of(kSpace, place) - place);
  if (word.find_first_of("(<") != std::string_view::npos) return std::nullopt;
  Parts parts{.head = line.substr(head, head_ends - head), .column = static_cast<std::uint32_t>(place)};
  const std::size_t colon = word.find(':');
  if (colon == std::string_view::npos && word.contains('/')) return std::nullopt;
  if (colon != std::string_view::npos) parts.module = word.substr(0, colon);
  const std::size_t begin = colon == std::string_view::npos ? 0 : colon + 1;
  const std::size_t end = std::min(word.find_first_of("+%", begin), word.size());
  parts.glob = word.substr(begin, end - begin);
  parts.behind = line.substr(place + end);
  const bool is_glob = parts.glob.find_first_of(kGlob) != std::string_view::npos;
  return is_glob && !parts.module.contains('*') ? std::optional(parts) : std::nullopt;
}

diag::Diagnostic problem(std::string_view line, const Parts& parts, std::string detail) {
  return {.kind = diag::Kind::BadProbeAddr,
          .location = diag::Location::Kprobe,
          .command = std::string(line),
          .column = parts.column,
          .errno_value = EINVAL,
          .detail = std::move(detail),
          .notes = {},
          .fixits = {}};
}

// Whether a place can name the module: its characters are those of symbols.
bool is_word(std::string_view module) {
  return std::ranges::all_of(module, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  });
}

// The functions of these names that can be probed, each by one name, in the order of names.
std::vector<std::string> functions_of(const target::TargetEnv& env, std::optional<std::string_view> module,
                                      std::vector<std::string> matching) {
  std::map<std::uint64_t, std::string> by_address;
  for (std::string& name : matching) {
    const auto found = env.find_function(module, name);
    if (!found || env.probeability(found->address) != target::Probeability::Ok) continue;
    const auto [at, is_new] = by_address.try_emplace(found->address, name);
    if (!is_new && target::is_better_name(name, at->second)) at->second = std::move(name);
  }
  std::vector<std::string> names;
  for (auto& [address, name] : by_address) names.push_back(std::move(name));
  std::ranges::sort(names);
  return names;
}

}  // namespace

bool has_place_glob(std::string_view line) { return parts_of(line).has_value(); }

bool names_file(std::string_view line) {
  const auto parts = parts_of(line);
  return parts && !parts->module.empty() && !parts->is_of_path();
}

std::optional<diag::Diagnostic> place_glob_mistake(std::string_view line) {
  const auto parts = parts_of(line);
  if (!parts) return std::nullopt;
  return problem(line, *parts,
                 fmt::format("kernels know no globs, and no function is called `{}`; kevtrace makes a definition for "
                             "each function that matches",
                             parts->glob));
}

std::expected<std::optional<std::vector<std::string>>, diag::Diagnostic> expand_place_glob(
    std::string_view line, const target::TargetEnv& env) {
  const auto parts = parts_of(line);
  if (!parts || parts->is_of_path()) return std::nullopt;
  const std::optional<std::string_view> module = parts->module.empty() ? std::nullopt : std::optional(parts->module);
  if (module && !is_word(*module))
    return std::unexpected(problem(
        line, *parts,
        fmt::format("a place cannot name `{}`: only letters, digits, `_` and `.` stand before its `:`; a function "
                    "of it is probed by PATH:FUNCTION",
                    *module)));
  const auto exact = env.find_function(module, parts->glob);
  if (exact || exact.error().failure == target::LookupFailure::NotChecked) return std::nullopt;
  // Without a file every library of a program would be meant; a kernel is one.
  if (!module && !env.is_running_kernel())
    return std::unexpected(
        problem(line, *parts,
                fmt::format("`{}` needs the file whose functions are meant: `libc:{}`", parts->glob, parts->glob)));
  if (exact.error().failure == target::LookupFailure::ModuleMissing)
    return std::unexpected(problem(
        line, *parts,
        fmt::format("`{}` is not loaded, so nobody knows what `{}` matches there", parts->module, parts->glob)));
  std::vector<std::string> names = env.functions_matching(module, parts->glob);
  if (names.size() > kMostGlobbed)
    return std::unexpected(problem(
        line, *parts,
        fmt::format("`{}` matches {} names of functions; {} are the most", parts->glob, names.size(), kMostGlobbed)));
  names = functions_of(env, module, std::move(names));
  if (names.empty())
    return std::unexpected(
        problem(line, *parts, fmt::format("no function that can be probed matches `{}`", parts->glob)));
  std::vector<std::string> lines;
  GlobbedNames events(parts->head);
  for (const std::string& name : names)
    lines.push_back(fmt::format("{} {}{}{}{}", events.head_for(parts->module, name), parts->module,
                                parts->module.empty() ? "" : ":", name, parts->behind));
  return lines;
}

}  // namespace kevt::pipeline
