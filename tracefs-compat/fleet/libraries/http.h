// HttpClient: requests to a server, over HTTPS, by libcurl, which is loaded at the first request (fleet_library.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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
  std::uint32_t patience_s = 0;           // without a byte in either direction
  std::uint32_t most_s = 0;               // in all; 0: however long it takes
  std::function<bool()> is_stopped = {};  // asked now and then: true ends it
  std::size_t most_of_answer = 0;         // bytes; more is an error
  bool is_repeatable = true;  // false: it is sent once; a kept connection that turns out dead would repeat it
};

struct HttpAnswer {
  long status = 0;  // 200: it was done
  std::string body;
};

class HttpClient {
 public:
  virtual ~HttpClient() = default;
  // POST. An error: no answer came, and nobody knows whether the server has done it (EMSGSIZE: the answer was too
  // long; ECONNREFUSED: it was never asked; ECANCELED: it was stopped). One request at a time.
  virtual Result<HttpAnswer> post(const HttpRequest& request) = 0;
};

// Loads the library at the first call. The keys are read at each request.
Result<std::unique_ptr<HttpClient>> make_http_client(const HttpKeys& keys);

}  // namespace kevt::fleet
