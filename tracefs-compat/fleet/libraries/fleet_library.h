// The seam between kevtrace and what a fleet needs of others' libraries: libcurl, and libcrypto for signatures.
//
// They take 30 ms to load, so they stand in a library of its own, libkevt-fleet.so, which is loaded when it is needed.
// Both are built from one source tree; a library with another `version` or `layout` is refused.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/error.h"
#include "tracefs-compat/fleet/libraries/http.h"

namespace kevt::fleet {

struct FleetLibrary {
  std::uint32_t version = 0;
  std::uint32_t layout = 0;
  std::unique_ptr<HttpClient> (*make_http)(const HttpKeys&) = nullptr;  // nullptr: out of memory
  // As in signature.h.
  Result<std::string> (*sign)(std::string_view private_key, std::string_view text) = nullptr;
  Result<std::string> (*find_signer)(std::string_view public_keys, std::string_view text,
                                     std::string_view signature) = nullptr;
};
inline constexpr std::uint32_t kFleetLibraryVersion = 2;
inline constexpr std::uint32_t kFleetLibraryLayout =
    sizeof(HttpKeys) << 16 | sizeof(HttpRequest) << 8 | sizeof(HttpAnswer);

}  // namespace kevt::fleet

// What the library exports; its only symbol.
extern "C" const kevt::fleet::FleetLibrary* kevt_fleet_library();
