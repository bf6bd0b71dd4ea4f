// What the command line asks of a fleet, as plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace kevt::cli {

struct FleetOptions {
  enum class Task : std::uint8_t {
    Init,
    Ship,
    Status,
    Check,
    Purge,
    Run,
    Obey,
    Hosts,
    Rates,
    Clocks
  } task = Task::Status;
  std::string address;             // ch://SERVER/DATABASE…
  std::vector<std::string> files;  // recordings, or folders of them; the script of `run`; the folder of `obey`
  std::string host;                // what records are filed under; empty: the recordings' own, or this machine's
  std::string before;              // purge: a day of UTC, 2026-11-01; or
  std::optional<std::uint32_t> older_than;  // purge: days
  bool follow = false;                      // until all are finished
  std::string on;                           // run: a selector of hosts
  double seconds = 60;                      // run: how long hosts trace
  double begin_within = 600;                // run: seconds; hosts that see the order later leave it
  double every = 5;                         // obey, ship --follow: seconds between looks
  std::optional<double> remove_after;       // ship --follow: seconds, behind which what is shipped whole goes
  std::uint64_t max_bytes = 1 << 30;        // obey: of a recording
  std::string by = "event";                 // rates: a line for each event, or "host"
  std::uint32_t bars = 60;                  // rates: at most
  std::optional<double> last;               // rates: of so many seconds before the last record
  std::string sent, received;               // clocks: EVENT.FIELD of messages
  bool forget = false;                      // clocks: what messages have said
  std::string format = "text";              // or "json"
};

void add_fleet(CLI::App& app, FleetOptions& fleet);

}  // namespace kevt::cli
