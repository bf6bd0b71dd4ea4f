// What the command line asks of a fleet, as plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace kevt::cli {

struct FleetOptions {
  enum class Task : std::uint8_t { Init, Ship, Status, Check, Purge } task = Task::Status;
  std::string address;             // ch://SERVER/DATABASE…
  std::vector<std::string> files;  // recordings, or folders of them
  std::string host;                // what their records are filed under; empty: the recordings' own
  std::string before;              // a day of UTC, 2026-11-01
  bool follow = false;             // until all are finished
  std::string format = "text";     // or "json"
};

void add_fleet(CLI::App& app, FleetOptions& fleet);

}  // namespace kevt::cli
