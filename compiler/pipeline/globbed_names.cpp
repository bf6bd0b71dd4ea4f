#include "compiler/pipeline/globbed_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/target/elf/source_names.h"

namespace kevt::pipeline {

namespace {

constexpr std::size_t kMostOfEvent = 63;
constexpr std::size_t kOfOwnNames = 5;  // "p_libc_malloc_0": all but the file and the function

std::string name_as_written(std::string_view function) {
  std::string name = target::source_name(function);
  name = name.empty() ? std::string(function) : std::string(target::qualified_name(name));
  for (char& c : name)
    if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9')) c = '_';
  return name;
}

}  // namespace

std::string GlobbedNames::head_for(std::string_view module, std::string_view function) {
  if (const std::size_t star = head_.find('*'); star != std::string_view::npos)
    return with_star_replaced(star, function);
  const bool fits = module.size() + function.size() + kOfOwnNames <= kMostOfEvent;
  if (has_name() || fits) return std::string(head_);
  return fmt::format("{}:{}", head_, unique(fmt::format("{}_", head_.front()), function, ""));
}

std::string GlobbedNames::head_in_file(std::string_view function, bool returns) {
  if (const std::size_t star = head_.find('*'); star != std::string_view::npos)
    return with_star_replaced(star, function);
  if (has_name()) return std::string(head_);
  return fmt::format("{}:{}", head_, unique("", function, returns ? "__return" : ""));
}

std::string GlobbedNames::with_star_replaced(std::size_t star, std::string_view function) {
  const std::size_t slash = head_.rfind('/', star);
  const std::size_t begin = (slash == std::string_view::npos ? head_.find(':') : slash) + 1;
  return std::string(head_.substr(0, begin)) +
         unique(head_.substr(begin, star - begin), function, head_.substr(star + 1));
}

std::string GlobbedNames::unique(std::string_view front, std::string_view function, std::string_view behind) {
  const std::string name = name_as_written(function);
  for (unsigned number = 1;; ++number) {
    const std::string end = number == 1 ? std::string(behind) : fmt::format("{}_{}", behind, number);
    const std::size_t room = kMostOfEvent - std::min(kMostOfEvent, front.size() + end.size());
    std::string made = fmt::format("{}{}{}", front, std::string_view(name).substr(0, room), end);
    if (taken_.insert(made).second) return made;
  }
}

}  // namespace kevt::pipeline
