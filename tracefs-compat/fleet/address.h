// Where a fleet's records are: a ClickHouse server, a database, and which hosts.
//
//   ch://HOST[:PORT][,HOST[:PORT]…]/DATABASE[/HOST-GLOB[/SESSION]]     HTTPS, port 8443
//   ch+http://127.0.0.1[:PORT]/DATABASE…                               this machine alone, without TLS, port 8123
//
// Several servers are shards: a host's records are all on one of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"

namespace kevt::fleet {

struct Address {
  std::vector<std::string> servers;  // "https://HOST:PORT"
  std::string database;
  std::string hosts;    // a glob; empty: all
  std::string session;  // empty: all
};

bool is_address(std::string_view text);
// The error says what is wrong, and how it is written.
Result<Address> parse_address(std::string_view text);

// A host's name as it is filed: what a path or a terminal would read as something else is `_`.
std::string plain_host(std::string name);

// Which of so many servers has the records of a host; the same for every program and version.
std::size_t shard_of(std::string_view host, std::size_t servers);

}  // namespace kevt::fleet
