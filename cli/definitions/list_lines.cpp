// One line of the source a line, with the source behind it where its file can be read here:
//
//   $ kevtrace list -L area_of ./shapes
//   /src/shapes.c: area_of, 3 lines with code
//     34      s scale                       | int area_of(const struct shape *s, int scale) {
//     35      s scale (width)               |   int width = s->at.x * scale;
//     41 x2   s (scale) width               |   return width;
//
// `x2`: it has two places. A variable in parentheses is in sight and cannot be read there.
#include "cli/definitions/list_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/exit_status.h"
#include "common/print.h"
#include "compiler/target/elf/elf_image.h"
#include "compiler/target/types/source_places.h"

namespace kevt::cli {

namespace {

// What is asked for: `area_of`, `area_of:0-3`, `shapes.c`, `shapes.c:30-50`.
struct AskedLines {
  std::string_view source;
  std::uint32_t from = 0, to = ~std::uint32_t{0};
};

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

AskedLines asked_for(std::string_view word) {
  const std::size_t colon = word.rfind(':');
  if (colon == std::string_view::npos) return {.source = word};
  const std::string_view range = word.substr(colon + 1);
  const std::size_t dash = range.find('-');
  const auto from = number(range.substr(0, dash));
  const auto to = dash == std::string_view::npos ? from : number(range.substr(dash + 1));
  if (!from || !to) return {.source = word};
  return {.source = word.substr(0, colon), .from = *from, .to = *to};
}

// The texts of the listed lines; empty where the file cannot be read. It may be another one than was compiled, so a
// text is only shown.
std::map<std::uint32_t, std::string> texts_of(const target::ListedSource& listed) {
  constexpr std::size_t kMostBytes = 200;  // of a line
  std::map<std::uint32_t, std::string> texts;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(listed.file, ignored)) return texts;
  std::ifstream file(listed.file);
  std::string text;
  for (std::uint32_t line = 1; !listed.lines.empty() && line <= listed.lines.back().line && std::getline(file, text);
       ++line)
    texts[line] = text.substr(0, kMostBytes);
  return texts;
}

std::string variables_of(const target::ListedLine& line) {
  std::string names;
  const auto add = [&](std::string name) { names += (names.empty() ? "" : " ") + std::move(name); };
  for (const std::string& name : line.readable) add(name);
  for (const std::string& name : line.unreadable) add("(" + name + ")");
  return names;
}

void print_lines(const target::ListedSource& listed) {
  constexpr std::size_t kWidest = 48;
  print("{}: {}{} line{} with code\n", listed.file, listed.function.empty() ? "" : listed.function + ", ",
        listed.lines.size(), listed.lines.size() == 1 ? "" : "s");
  std::size_t width = 0;
  for (const target::ListedLine& line : listed.lines) width = std::max(width, variables_of(line).size());
  width = std::min(width, kWidest);
  const auto texts = texts_of(listed);
  for (const target::ListedLine& line : listed.lines) {
    const std::string copies = line.places > 1 ? fmt::format("x{}", line.places) : "";
    const auto text = texts.find(line.line);
    if (text == texts.end())
      print("{:6} {:3} {}\n", line.line, copies, variables_of(line));
    else
      print("{:6} {:3} {:{}}  | {}\n", line.line, copies, variables_of(line), width, text->second);
  }
}

std::string why_not(const std::string& file, const AskedLines& asked, const target::LookupError& error) {
  if (error.failure == target::LookupFailure::NotUnique) {
    std::string which;
    for (const std::string& one : error.candidates) which += fmt::format("{}`{}`", which.empty() ? "" : ", ", one);
    return fmt::format("`{}` is the name of several: {}", asked.source, which);
  }
  if (!error.why.empty()) return fmt::format("`{}`: {}", file, error.why);
  std::string near;
  for (const std::string& one : error.candidates)
    near += fmt::format("{}`{}`", near.empty() ? "; near it: " : ", ", one);
  return fmt::format("`{}` has neither a source file nor a function `{}`{}", file, asked.source, near);
}

}  // namespace

int list_lines(const ListOptions& options, const Reporter& report) {
  if (options.words.size() != 2) {
    report.error(
        "which lines of which file? e.g. `kevtrace list -L main ./prog`, `kevtrace list -L prog.c:10-20 ./prog`");
    return kUsage;
  }
  const AskedLines asked = asked_for(options.words[0]);
  const std::string& file = options.words[1];
  const auto image = target::ElfImage::open(file);
  if (!image) {
    report.error(image.error());
    return kFailed;
  }
  const auto listed = target::SourcePlaces(file).list(
      *image, {.module = file, .source = asked.source, .from = asked.from, .to = asked.to});
  if (!listed) {
    report.error(why_not(file, asked, listed.error()));
    return kFailed;
  }
  if (listed->lines.empty()) {
    report.error(fmt::format("no line of `{}` there has code", listed->file));
    return kFailed;
  }
  print_lines(*listed);
  return kOk;
}

}  // namespace kevt::cli
