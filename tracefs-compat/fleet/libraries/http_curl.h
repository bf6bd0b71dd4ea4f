// libcurl's side of http.h, within libkevt-fleet.so.
#pragma once

#include <memory>

#include "tracefs-compat/fleet/libraries/http.h"

namespace kevt::fleet {

// nullptr: out of memory.
std::unique_ptr<HttpClient> make_curl_client(const HttpKeys& keys);

}  // namespace kevt::fleet
