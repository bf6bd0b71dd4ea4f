// Where messages go and how they look. Data never passes here: it goes to standard output.
#include "cli/report.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>

#include "grammar/parse.h"

namespace kevt::cli {

namespace {

// --color, then NO_COLOR, then CLICOLOR_FORCE, then whether standard error is a terminal.
diag::Color decide_color(When when) {
  if (when == When::Always) return diag::Color::On;
  if (when == When::Never) return diag::Color::Off;
  const auto set = [](const char* name) {
    const char* value = std::getenv(name);
    return value && *value;
  };
  if (set("NO_COLOR")) return diag::Color::Off;
  if (set("CLICOLOR_FORCE")) return diag::Color::On;
  return isatty(STDERR_FILENO) ? diag::Color::On : diag::Color::Off;
}

}  // namespace

Reporter::Reporter(const GlobalOptions& options) : options_(options), color_(decide_color(options.color)) {}

void Reporter::error(const std::string& message) const {
  const bool colored = color_ == diag::Color::On;
  fmt::print(stderr, "kevtrace: {}error:{} {}\n", colored ? "\033[31;1m" : "", colored ? "\033[0m" : "", message);
}

void Reporter::status(const std::string& message) const {
  if (!options_.quiet) fmt::print(stderr, "kevtrace: {}\n", message);
}

void Reporter::diagnostic(const diag::Diagnostic& diagnostic, const Source& source) const {
  if (options_.diagnostics == Format::Text) {
    fmt::print(stderr, "{}", diag::render_text(diagnostic, source.origin, source.line, color_));
    return;
  }
  if (!diagnostic.logged) return;
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  fmt::print(stderr, "{}", diag::render_kernel(diagnostic, static_cast<std::uint64_t>(now.tv_sec),
                                               static_cast<std::uint32_t>(now.tv_nsec / 1000)));
}

void Reporter::problems(std::span<const engine::Problem> problems, std::span<const Source> definitions,
                        std::span<const Source> filters) const {
  for (const engine::Problem& problem : problems)
    diagnostic(problem.diagnostic, problem.kind == engine::Problem::Kind::Definition ? definitions[problem.index]
                                                                                     : filters[problem.index]);
  if (options_.diagnostics == Format::Text && problems.size() > 1)
    fmt::print(stderr, "{} errors; the kernel would report only the first.\n", problems.size());
}

engine::EventFilter split_filter(const std::string& text) {
  const auto colon = text.find(':');
  if (colon == std::string::npos) return {"", text};
  std::string expression = text.substr(colon + 1);
  const auto first = expression.find_first_not_of(" \t");
  return {text.substr(0, colon), first == std::string::npos ? "" : expression.substr(first)};
}

Result<std::vector<Source>> collect_definitions(const std::vector<std::string>& words,
                                                const std::vector<std::string>& files) {
  std::vector<Source> sources;
  for (std::size_t i = 0; i < words.size(); ++i) sources.push_back({words[i], fmt::format("<event {}>", i + 1), 1});
  for (const std::string& name : files) {
    std::string text;
    if (name == "-") {
      text.assign(std::istreambuf_iterator<char>(std::cin), {});
    } else {
      std::ifstream file(name, std::ios::binary);
      if (!file) return std::unexpected(Error::from_errno(name));
      text.assign(std::istreambuf_iterator<char>(file), {});
      if (file.bad()) return std::unexpected(Error::from_errno(name));
    }
    for (const grammar::Line& line : grammar::split_lines(text)) {
      if (line.text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      sources.push_back({std::string(line.text), name == "-" ? "<stdin>" : name, line.number});
    }
  }
  return sources;
}

}  // namespace kevt::cli
