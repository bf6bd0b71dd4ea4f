#include "cli/definitions/sources.h"

#include <fmt/format.h>

#include <cctype>
#include <string_view>
#include <utility>

#include "cli/definitions/fix_files.h"
#include "grammar/parse.h"

namespace kevt::cli {

Result<std::vector<engine::EventFilter>> split_by_event(const std::vector<std::string>& words, const OptionWords& say) {
  // A name, then ':'; a second name and ':' when the first was a group.
  const auto name_length = [](std::string_view text) {
    std::size_t end = text.find_first_not_of(" \t");
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_' ||
                                 text[end] == '/' || text[end] == '.' || text[end] == '-'))
      ++end;
    return end < text.size() && text[end] == ':' ? end : std::string_view::npos;
  };
  std::vector<engine::EventFilter> out;
  for (const std::string& word : words) {
    std::size_t colon = name_length(word);
    if (colon == std::string::npos)
      return std::unexpected(Error(fmt::format("{} `{}` names no event; write {}", say.noun, word, say.form)));
    const std::size_t second = name_length(std::string_view(word).substr(colon + 1));
    if (second != std::string::npos && second > 0) colon += 1 + second;
    const std::size_t begin = word.find_first_not_of(" \t", colon + 1);
    const std::size_t name = word.find_first_not_of(" \t");
    for (const engine::EventFilter& other : out)
      if (other.event == word.substr(name, colon - name))
        return std::unexpected(Error(fmt::format("event `{}` has {}", other.event, say.twice)));
    out.push_back({word.substr(name, colon - name), begin == std::string::npos ? std::string() : word.substr(begin)});
  }
  return out;
}

Result<Filters> collect_filters(const std::vector<std::string>& words) {
  auto filters = KEVT_TRY(split_by_event(words, {"filter", "EVENT:EXPRESSION", "two filters; join them with `&&`"}));
  Filters out{std::move(filters), {}};
  for (std::size_t i = 0; i < out.filters.size(); ++i)
    out.sources.push_back({out.filters[i].text, fmt::format("<filter {}>", i + 1), 1});
  return out;
}

std::vector<std::string> texts_of(std::span<const Source> sources) {
  std::vector<std::string> texts;
  for (const Source& source : sources) texts.push_back(source.text);
  return texts;
}

Result<std::vector<Source>> collect_definitions(const std::vector<std::string>& words,
                                                const std::vector<std::string>& files) {
  std::vector<Source> sources;
  const auto add_lines = [&](const std::string& text, const std::string& origin) {
    for (const grammar::Line& line : grammar::split_lines(text))
      if (line.text.find_first_not_of(" \t\r") != std::string_view::npos)
        sources.push_back({std::string(line.text), origin, line.number});
  };
  for (std::size_t i = 0; i < words.size(); ++i) add_lines(words[i], fmt::format("<event {}>", i + 1));
  for (const std::string& name : files) {
    auto text = KEVT_TRY(read_whole(name));
    add_lines(text, name == "-" ? "<stdin>" : name);
  }
  return sources;
}

}  // namespace kevt::cli
