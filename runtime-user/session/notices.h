// Notices: receives the messages of a session: the command line prints them, an embedder may keep them.
#pragma once

#include <string>

#include "common/error.h"

namespace kevt::session {

class Notices {
 public:
  virtual ~Notices() = default;
  // What went wrong.
  virtual void error(const std::string& message) const = 0;
  void error(const Error& error) const { this->error(error.message()); }
  // What happens, when nothing is wrong.
  virtual void status(const std::string& message) const = 0;
};

}  // namespace kevt::session
