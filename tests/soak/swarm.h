// Swarm: a running swarm (swarm.c) and the page that it shares.
#pragma once

#include <sys/types.h>

#include <string>

#include "tests/soak/swarm_page.h"

namespace kevt::tests {

class Swarm {
 public:
  // `rest_us`: how long its threads rest between 256 calls.
  explicit Swarm(const char* program, unsigned rest_us = 0);
  ~Swarm();
  bool is_running() const { return page_ != nullptr && pid_ > 0; }
  pid_t pid() const { return pid_; }
  const swarm_page& page() const { return *page_; }
  // Stops it; empty: it ended as it should, and saw nothing wrong.
  std::string end();
  // " (it ended with …)" when it did so by itself.
  std::string how_it_ended();

 private:
  std::string file_;
  swarm_page* page_ = nullptr;
  pid_t pid_ = -1;
};

}  // namespace kevt::tests
