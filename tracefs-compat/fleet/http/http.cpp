// Finds and loads libkevt-http.so. It is never unloaded.
#include "tracefs-compat/fleet/http/http.h"

#include <dlfcn.h>

#include <cerrno>

#include "common/installed_file.h"

namespace kevt::fleet {
namespace {

constexpr const char* kHttpLibrary = "libkevt-http.so";

Error cannot_load_http(const std::string& why) {
  return Error("libcurl cannot be loaded, so no fleet can be asked here: " + why, ELIBACC);
}

Result<const HttpLibrary*> load_http() {
  const auto path = installed_file(kHttpLibrary);
  if (!path) return std::unexpected(cannot_load_http("there is no `" + path.error() + "` (package kevtrace-fleet)"));
  void* library = ::dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::unexpected(cannot_load_http(::dlerror()));
  const auto entry = reinterpret_cast<decltype(&kevt_http_library)>(::dlsym(library, "kevt_http_library"));
  const HttpLibrary* loaded = entry == nullptr ? nullptr : entry();
  if (loaded != nullptr && loaded->version == kHttpVersion && loaded->layout == kHttpLayout) return loaded;
  return std::unexpected(cannot_load_http("`" + *path + "` belongs to another kevtrace"));
}

}  // namespace

Result<std::unique_ptr<HttpClient>> make_http_client(const HttpKeys& keys) {
  static const Result<const HttpLibrary*> library = load_http();
  if (!library) return std::unexpected(library.error());
  auto client = (*library)->make(keys);
  if (!client) return std::unexpected(Error::of_errno(ENOMEM));
  return client;
}

}  // namespace kevt::fleet
