// Notices: what a session tells whoever runs it: the command line prints them, an embedder may keep them.
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
  // What happens, where nothing is wrong.
  virtual void status(const std::string& message) const = 0;
};

}  // namespace kevt::session
