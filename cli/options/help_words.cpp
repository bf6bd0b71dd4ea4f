// Pages are the Markdown files of docs/, as they are: they read well in a terminal.
#include "cli/options/help_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "cli/options/option_parts.h"
#include "common/installed_file.h"
#include "compiler/target/near_misses.h"

namespace kevt::cli {
namespace {

std::vector<std::string> page_names(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == ".md") names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

std::string whole_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

// Without the dashes in front.
std::string_view bare(std::string_view name) { return name.substr(std::min(name.find_first_not_of('-'), name.size())); }

}  // namespace

void add_help(CLI::App& app, std::string& word) {
  CLI::App* verb = app.add_subcommand("help", "help on a verb, or a page of the documentation");
  verb->add_option("WORD", word, "a verb, or a page (`kevtrace help` lists them)")->type_name("");
  add_footer(*verb, "examples:\n  kevtrace help run\n  kevtrace help language | less");
}

std::expected<std::string, std::string> help_text(const CLI::App& app, const std::string& word) {
  const auto folder = documentation_folder();
  const std::vector<std::string> pages = folder ? page_names(*folder) : std::vector<std::string>();
  const std::string listed = pages.empty() ? "the pages of the documentation are not installed (package kevtrace-doc)"
                                           : fmt::format("pages: {}", fmt::join(pages, ", "));
  if (word.empty())
    return app.help() + fmt::format("\n`kevtrace help WORD` prints a verb's help or a page; {}\n", listed);
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (verb->get_name() == word) return verb->help("kevtrace");
    verbs.push_back(verb->get_name());
  }
  if (std::ranges::binary_search(pages, word)) return whole_file(std::filesystem::path(*folder) / (word + ".md"));
  return std::unexpected(fmt::format("no help on `{}`; verbs: {}; {}", word, fmt::join(verbs, ", "), listed));
}

std::optional<std::string> nearest_option(const CLI::App& app, const CLI::App* verb, const std::string& word) {
  std::optional<std::string> nearest;
  unsigned best = bare(word).size() < 4 ? 1 : 2;
  for (const CLI::App* of : {verb, &app}) {
    if (!of) continue;
    for (const CLI::Option* option : of->get_options())
      for (const std::string& name : option->get_lnames()) {
        const unsigned distance = target::edit_distance(std::string(bare(word)), name, best);
        if (distance > best || (nearest && distance == best)) continue;
        best = distance;
        nearest = "--" + name;
      }
  }
  return nearest;
}

}  // namespace kevt::cli
