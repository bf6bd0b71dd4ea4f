#include "compiler/target/kernel/place_sides.h"

#include <fstream>

namespace kevt::target {

namespace {

constexpr std::string_view kBlanks = " \t";

std::string_view take_word(std::string_view& text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return text = {};
  const std::size_t end = text.find_first_of(kBlanks, begin);
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end);
  return word;
}

}  // namespace

PlaceSides PlaceSides::of_running_kernel() {
  Modules modules;
  std::ifstream file("/proc/modules");
  for (std::string line; std::getline(file, line);) modules.insert(line.substr(0, line.find(' ')));
  return PlaceSides(std::move(modules));
}

PlaceSides::Side PlaceSides::of(std::string_view definition) const {
  const std::string_view command = take_word(definition), place = take_word(definition);
  if (command.empty() || command.front() == 's' || command.front() == '-') return Side::Both;
  if (command.front() != 'p' && command.front() != 'r') return Side::Kernel;
  if (place.starts_with('/')) return Side::Program;
  const std::size_t colon = place.find(':');
  if (colon == std::string_view::npos) return Side::Kernel;
  return modules_.contains(place.substr(0, colon)) ? Side::Kernel : Side::Program;
}

}  // namespace kevt::target
