// Finds and loads libkevt-fleet.so. It is never unloaded.
#include "tracefs-compat/fleet/libraries/fleet_library.h"

#include <dlfcn.h>

#include <cerrno>

#include "common/installed_file.h"
#include "tracefs-compat/fleet/libraries/signature.h"

namespace kevt::fleet {
namespace {

constexpr const char* kName = "libkevt-fleet.so";

Error cannot_load(const std::string& why) {
  return Error("libcurl and libcrypto cannot be loaded, so no fleet can be asked here: " + why, ELIBACC);
}

Result<const FleetLibrary*> load() {
  const auto path = installed_file(kName);
  if (!path) return std::unexpected(cannot_load("there is no `" + path.error() + "` (package kevtrace-fleet)"));
  void* library = ::dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::unexpected(cannot_load(::dlerror()));
  const auto entry = reinterpret_cast<decltype(&kevt_fleet_library)>(::dlsym(library, "kevt_fleet_library"));
  const FleetLibrary* loaded = entry == nullptr ? nullptr : entry();
  if (loaded != nullptr && loaded->version == kFleetLibraryVersion && loaded->layout == kFleetLibraryLayout)
    return loaded;
  return std::unexpected(cannot_load("`" + *path + "` belongs to another kevtrace"));
}

const Result<const FleetLibrary*>& library() {
  static const Result<const FleetLibrary*> loaded = load();
  return loaded;
}

}  // namespace

Result<std::unique_ptr<HttpClient>> make_http_client(const HttpKeys& keys) {
  const FleetLibrary* loaded = KEVT_TRY(library());
  auto client = loaded->make_http(keys);
  if (!client) return std::unexpected(Error::of_errno(ENOMEM));
  return client;
}

Result<std::string> sign(std::string_view private_key, std::string_view text) {
  const FleetLibrary* loaded = KEVT_TRY(library());
  return loaded->sign(private_key, text);
}

Result<std::string> find_signer(std::string_view public_keys, std::string_view text, std::string_view signature) {
  const FleetLibrary* loaded = KEVT_TRY(library());
  return loaded->find_signer(public_keys, text, signature);
}

}  // namespace kevt::fleet
