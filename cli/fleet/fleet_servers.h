// The servers that an address names.
#pragma once

#include <memory>
#include <vector>

#include "common/error.h"
#include "tracefs-compat/fleet/address.h"
#include "tracefs-compat/fleet/config.h"
#include "tracefs-compat/fleet/server.h"

namespace kevt::cli {

using Servers = std::vector<std::unique_ptr<fleet::Server>>;

inline Result<Servers> servers_of(const fleet::Address& address) {
  const fleet::Config config = KEVT_TRY(fleet::read_config());
  Servers out;
  for (const std::string& url : address.servers)
    out.push_back(std::make_unique<fleet::Server>(KEVT_TRY(fleet::Server::make(url, address.database, config.keys))));
  return out;
}

}  // namespace kevt::cli
