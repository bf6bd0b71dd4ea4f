#include "tracefs-compat/fleet/server.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cctype>
#include <cerrno>

#include "tracefs-compat/record/problems.h"

namespace kevt::fleet {
namespace {

constexpr std::size_t kMostOfAnswer = 256u << 20;  // bytes; answers are pages of records, or texts of a session
constexpr std::uint32_t kPatienceS = 60;
constexpr int kTriesToStop = 50;
constexpr long kPauseNs = 100'000'000;

std::string url_text(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.')
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return out;
}

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// "Code: 60, e.displayText() = DB::Exception: Table kev.x doesn't exist., e.what() = DB::Exception"
std::string words_of_server(std::string_view body) {
  constexpr std::string_view kBegin = "DB::Exception: ", kEnd = ", e.what()";
  const auto begin = body.find(kBegin);
  if (begin != body.npos) body = body.substr(begin + kBegin.size());
  body = body.substr(0, body.find(kEnd));
  return record::words_of_file(body.substr(0, body.find('\n')));
}

}  // namespace

std::string sql_text(std::string_view text) {
  std::string out = "'";
  for (const char c : text)
    if (c == '\'' || c == '\\')
      (out += '\\') += c;
    else if (c == '\0')
      out += "\\0";
    else
      out += c;
  return out + "'";
}

Result<Server> Server::make(std::string url, std::string database, const HttpKeys& keys) {
  auto client = KEVT_TRY(make_http_client(keys));
  return Server(std::move(url), std::move(database), keys, std::move(client));
}

Result<std::string> Server::post(const std::string& parameters, std::span<const std::uint8_t> body, Repeat repeat) {
  auto answer = client_->post({.url = fmt::format("{}/?{}", url_, parameters),
                               .body = body,
                               .patience_s = kPatienceS,
                               .most_s = limits_.most_s,
                               .is_stopped = limits_.is_stopped,
                               .most_of_answer = kMostOfAnswer,
                               .is_repeatable = repeat == Repeat::Allowed});
  if (!answer) return std::unexpected(std::move(answer.error()).while_doing("asking " + url_));
  if (answer->status == 200) return std::move(answer->body);
  return std::unexpected(
      Error(fmt::format("{} says ({}): {}", url_, answer->status, words_of_server(answer->body)), EBADMSG));
}

Result<std::string> Server::ask(std::string_view sql) {
  return post("wait_end_of_query=1", bytes_of(sql), Repeat::Allowed);
}

Result<void> Server::tell(std::string_view sql, std::string_view query_id) {
  if (query_id.empty()) {
    KEVT_TRY(ask(sql));
    return {};
  }
  KEVT_TRY(post(fmt::format("wait_end_of_query=1&query_id={}", url_text(query_id)), bytes_of(sql), Repeat::Forbidden));
  return {};
}

// Of a whole INSERT the answer is empty; what is there then is an error that came too late for the status.
Result<void> Server::insert(std::string_view sql, std::string_view query_id, std::span<const std::uint8_t> rows) {
  const std::string answer =
      KEVT_TRY(post(fmt::format("wait_end_of_query=1&query_id={}&query={}", url_text(query_id), url_text(sql)), rows,
                    Repeat::Forbidden));
  if (answer.empty()) return {};
  return std::unexpected(Error(fmt::format("{} says: {}", url_, words_of_server(answer)), EBADMSG));
}

Result<bool> Server::knows_tokens() {
  const std::string answer =
      KEVT_TRY(ask("SELECT count() FROM system.settings WHERE name = 'insert_deduplication_token' FORMAT TSV"));
  return answer == "1\n";
}

Result<void> Server::stop_queries(std::string_view id_begin) {
  const std::string which = fmt::format("startsWith(query_id, {})", sql_text(id_begin));
  for (int i = 0; i < kTriesToStop; ++i) {
    const std::string running = KEVT_TRY(ask("SELECT count() FROM system.processes WHERE " + which + " FORMAT TSV"));
    if (running == "0\n") return {};
    (void)tell("KILL QUERY WHERE " + which + " ASYNC");  // it ends by itself where we may not
    const timespec pause = {0, kPauseNs};
    nanosleep(&pause, nullptr);
  }
  return std::unexpected(Error(fmt::format("{} still runs what was asked before", url_), EBUSY));
}

}  // namespace kevt::fleet
