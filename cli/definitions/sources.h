// Definitions and filters as the command line has them, each with where it was written.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/error.h"
#include "runtime-user/engine/events/draft.h"

namespace kevt::cli {

// A definition or filter and where it was written.
struct Source {
  std::string text;
  std::string origin;  // "<event 1>", a file name
  int line = 1;
};

// Filters of the command line, each with where it was written.
struct Filters {
  std::vector<engine::EventFilter> filters;
  std::vector<Source> sources;
};
// The words of messages about an option.
struct OptionWords {
  const char* noun;
  const char* form;
  const char* twice;  // ends "event `a` has …" if given twice for `a`
};
// Splits each "EVENT:TEXT" or "GROUP:EVENT:TEXT". Fails if a word names no event, or two words name the same.
Result<std::vector<engine::EventFilter>> split_by_event(const std::vector<std::string>& words, const OptionWords& say);
// Splits each "EVENT:EXPR" or "GROUP:EVENT:EXPR". Fails if a word names no event.
Result<Filters> collect_filters(const std::vector<std::string>& words);

std::vector<std::string> texts_of(std::span<const Source> sources);

// The definitions of -e words, then of files, without comments and blank lines. Fails if a file cannot be read.
Result<std::vector<Source>> collect_definitions(const std::vector<std::string>& words,
                                                const std::vector<std::string>& files);

}  // namespace kevt::cli
