// Server: one ClickHouse server, asked in SQL over HTTP. The SQL and the formats are those of version 18.16 and of
// today's servers alike.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "common/error.h"
#include "tracefs-compat/fleet/libraries/http.h"

namespace kevt::fleet {

class Server {
 public:
  // `url`: "https://HOST:PORT". Nothing is asked yet. One thread at a time may use it.
  static Result<Server> make(std::string url, std::string database, const HttpKeys& keys);
  // The same server, for another thread.
  Result<Server> another() const {
    auto made = make(url_, database_, keys_);
    if (made) made->limit(limits_);
    return made;
  }

  const std::string& database() const { return database_; }
  const std::string& url() const { return url_; }

  // From now on: requests take so long at most (seconds; 0: any time), and end when this says so (empty: never).
  struct Limits {
    std::uint32_t most_s = 0;
    std::function<bool()> is_stopped = {};
  };
  void limit(const Limits& limits) { limits_ = limits; }

  // The answer of a query, in the format that it names. The server sends it when it is whole: an error never stands in
  // the middle of it.
  Result<std::string> ask(std::string_view sql);
  // A query without an answer. `query_id`: as for insert(); empty: none.
  Result<void> tell(std::string_view sql, std::string_view query_id = {});
  // INSERT … FORMAT RowBinary with its rows. `query_id` names it for stop_queries(). After an error the rows, the first
  // of them, or none may be there.
  Result<void> insert(std::string_view sql, std::string_view query_id, std::span<const std::uint8_t> rows);
  // Whether it knows insert_deduplication_token (today's do, 18.16 does not).
  Result<bool> knows_tokens();
  // Ends the queries whose ids begin so, and waits until none of them runs.
  Result<void> stop_queries(std::string_view id_begin);

 private:
  Server(std::string url, std::string database, const HttpKeys& keys, std::unique_ptr<HttpClient> client)
      : url_(std::move(url)), database_(std::move(database)), keys_(keys), client_(std::move(client)) {}
  enum class Repeat : std::uint8_t { Allowed, Forbidden };
  Result<std::string> post(const std::string& parameters, std::span<const std::uint8_t> body, Repeat repeat);

  std::string url_, database_;
  HttpKeys keys_;
  Limits limits_;
  std::unique_ptr<HttpClient> client_;
};

// A text as SQL writes it: 'it\'s'.
std::string sql_text(std::string_view text);

}  // namespace kevt::fleet
