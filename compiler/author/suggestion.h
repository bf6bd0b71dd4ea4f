// One completion.
#pragma once

#include <string>

namespace kevt::author {

struct Suggestion {
  std::string text;  // replaces what is typed
  std::string note;
};

}  // namespace kevt::author
