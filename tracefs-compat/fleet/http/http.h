// The seam between kevtrace and the library that holds libcurl: requests to a server, over HTTPS.
//
// libcurl and what it links take 30 ms to load, so it stands in a library of its own, libkevt-http.so, which is loaded
// at the first request. Both are built from one source tree; a library with another `version` or `layout` is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "common/error.h"

namespace kevt::fleet {

// What a client shows a server, and expects of it. Paths are of PEM files; empty: none.
struct HttpKeys {
  std::string ca;         // who may have signed the server's certificate; empty: the machine's own list
  std::string cert, key;  // ours
  std::string user, password;
};

struct HttpRequest {
  std::string url;
  std::span<const std::uint8_t> body;
  std::uint32_t patience_s = 0;    // without a byte in either direction
  std::size_t most_of_answer = 0;  // bytes; more is an error
  bool is_repeatable = true;       // false: it is sent once; a kept connection that turns out dead would repeat it
};

struct HttpAnswer {
  long status = 0;  // 200: it was done
  std::string body;
};

class HttpClient {
 public:
  virtual ~HttpClient() = default;
  // POST. An error: no answer came, and nobody knows whether the server has done it (EMSGSIZE: the answer was too
  // long; ECONNREFUSED: it was never asked). One request at a time.
  virtual Result<HttpAnswer> post(const HttpRequest& request) = 0;
};

struct HttpLibrary {
  std::uint32_t version = 0;
  std::uint32_t layout = 0;
  std::unique_ptr<HttpClient> (*make)(const HttpKeys&) = nullptr;  // nullptr: out of memory
};
inline constexpr std::uint32_t kHttpVersion = 1;
inline constexpr std::uint32_t kHttpLayout = sizeof(HttpKeys) << 16 | sizeof(HttpRequest) << 8 | sizeof(HttpAnswer);

// Loads the library at the first call. The keys are read at each request.
Result<std::unique_ptr<HttpClient>> make_http_client(const HttpKeys& keys);

}  // namespace kevt::fleet

// What the library exports; its only symbol.
extern "C" const kevt::fleet::HttpLibrary* kevt_http_library();
