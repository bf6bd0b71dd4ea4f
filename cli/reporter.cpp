// Where messages go and how they look. Data never passes here: it goes to standard output.
#include "cli/reporter.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

#include "common/clock.h"
#include "common/print.h"
#include "compiler/sema/advice.h"
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
  print_to(messages(), "kevtrace: {}error:{} {}\n", Clean{colored ? "\033[31;1m" : ""}, Clean{colored ? "\033[0m" : ""},
           message);
}

void Reporter::status(const std::string& message) const {
  if (!options_.quiet) print_to(messages(), "kevtrace: {}\n", message);
}

void Reporter::note(const Source& source, const std::string& message) const {
  if (!options_.quiet) print_to(messages(), "{}:{}: note: {}\n", source.origin, source.line, message);
}

diag::Located locate(diag::Diagnostic diagnostic, const Source& source) {
  sema::advise(diagnostic);
  const auto column = [&](std::uint32_t at) { return grammar::source_column(source.text, diagnostic.command, at); };
  diag::Located located{.origin = source.origin, .line = source.line, .source = source.text};
  if (diagnostic.column) located.column = column(*diagnostic.column);
  for (const diag::FixIt& fix : diagnostic.fixits) {
    located.fixits.push_back({.begin = column(fix.begin), .end = column(fix.end), .replacement = fix.replacement});
  }
  located.diagnostic = std::move(diagnostic);
  return located;
}

void Reporter::diagnostic(const diag::Located& mistake) const {
  if (options_.diagnostics != Format::Kernel) {
    const std::string plain = diag::render_text(mistake, diag::Color::Off);
    if (escaped_lines(plain) != plain) return print_to(messages(), "{}", Lines{plain});
    return print_to(messages(), "{}", Clean{diag::render_text(mistake, color_)});
  }
  const diag::Diagnostic& diagnostic = mistake.diagnostic;
  if (!diagnostic.logged) {  // the kernel answers with a number only
    error(fmt::format("{}:{}: {}", mistake.origin, mistake.line, diag::kernel_text(diagnostic.kind)));
    return;
  }
  const std::uint64_t now_us = now_ns() / 1000;
  const std::string text =
      diag::render_kernel(diagnostic, now_us / 1'000'000, static_cast<std::uint32_t>(now_us % 1'000'000));
  print_to(messages(), "{}", Lines{text});
}

void Reporter::object(const diag::Report& report, std::FILE* stream) const {
  const bool json = options_.diagnostics == Format::Json;
  const std::string text = json ? diag::render_json(report) : diag::render_sarif(report);
  print_to(stream, "{}", Lines{text});
}

void Reporter::problems(std::span<const engine::Problem> problems, const Sources& sources) const {
  diag::Report report{.tool_version = KEVT_VERSION,
                      .definitions = static_cast<std::uint32_t>(sources.definitions.size())};
  const auto all_of = [&](engine::Problem::Kind kind) {
    switch (kind) {
      case engine::Problem::Kind::Definition:
        return sources.definitions;
      case engine::Problem::Kind::Filter:
        return sources.filters;
      case engine::Problem::Kind::Trigger:
        return sources.triggers;
    }
    return sources.definitions;
  };
  for (const engine::Problem& problem : problems)
    report.mistakes.push_back(locate(problem.diagnostic, all_of(problem.kind)[problem.index]));
  if (is_object()) return object(report, messages());
  for (const diag::Located& mistake : report.mistakes) diagnostic(mistake);
  if (options_.diagnostics == Format::Text && problems.size() > 1)
    print_to(messages(), "{} errors; the kernel would report only the first.\n", problems.size());
}

}  // namespace kevt::cli
