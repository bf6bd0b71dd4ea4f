#include "tracefs-compat/fleet/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <ranges>

#include "common/fnv.h"
#include "common/regular_file.h"

namespace kevt::fleet {
namespace {

constexpr std::string_view kTls = "ch://", kPlain = "ch+http://";
constexpr std::string_view kHow =
    "; write ch://SERVER[:PORT]/DATABASE, or ch+http://127.0.0.1[:PORT]/DATABASE for a server of this machine";
constexpr std::size_t kMostServers = 64, kMostOfKeys = 64 << 10;

Error wrong_address(std::string_view text, std::string_view why) {
  return Error(fmt::format("`{}`: {}{}", text, why, kHow));
}

bool is_loopback(std::string_view host) {
  in_addr address = {};
  if (host == "localhost" || host == "[::1]") return true;
  return inet_pton(AF_INET, std::string(host).c_str(), &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
}

bool is_name(std::string_view text) {
  const auto is_plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, is_plain) &&
         !std::isdigit(static_cast<unsigned char>(text[0]));
}

// "HOST[:PORT]", with an IPv6 address in brackets.
struct ServerName {
  std::string_view host;
  std::uint16_t port = 0;
};
std::optional<ServerName> split_server(std::string_view text, std::uint16_t usual_port) {
  ServerName out{text, usual_port};
  const auto bracket = text.rfind(']'), colon = text.rfind(':');
  if (colon != text.npos && (bracket == text.npos || colon > bracket)) {
    out.host = text.substr(0, colon);
    const std::string_view port = text.substr(colon + 1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), out.port);
    if (error != std::errc() || end != port.data() + port.size() || out.port == 0) return std::nullopt;
  }
  const auto is_of_host = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || std::string_view(".-_[]:").find(c) != std::string_view::npos;
  };
  if (out.host.empty() || !std::ranges::all_of(out.host, is_of_host)) return std::nullopt;
  return out;
}

Result<std::string> read_whole(const std::string& path, struct stat& status) {
  auto file = KEVT_TRY(open_regular(path));
  if (fstat(file.get(), &status) < 0) return std::unexpected(Error::from_errno(path));
  std::string text(kMostOfKeys + 1, '\0');
  std::size_t got = 0;
  for (ssize_t n = 1; n > 0 && got < text.size(); got += static_cast<std::size_t>(n)) {
    n = read(file.get(), text.data() + got, text.size() - got);
    if (n < 0) return std::unexpected(Error::from_errno("reading " + path));
  }
  if (got > kMostOfKeys) return std::unexpected(Error(path + " is longer than 65536 bytes"));
  text.resize(got);
  return text;
}

Result<std::string> read_password(const std::string& path) {
  struct stat status = {};
  auto text = KEVT_TRY(read_whole(path, status));
  if (status.st_mode & (S_IRWXG | S_IRWXO))
    return std::unexpected(Error(path + " holds a password and is not for its owner alone; chmod 600", EPERM));
  return text.substr(0, text.find('\n'));
}

std::string named_keys() {
  const char* named = std::getenv("KEVTRACE_FLEET");
  return named == nullptr ? "" : named;
}

std::vector<std::string> places_of_keys() {
  if (const std::string named = named_keys(); !named.empty()) return {named};
  std::vector<std::string> out;
  const char* config = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  if (config != nullptr && *config == '/')
    out.push_back(std::string(config) + "/kevtrace/fleet.conf");
  else if (home != nullptr && *home == '/')
    out.push_back(std::string(home) + "/.config/kevtrace/fleet.conf");
  out.push_back("/etc/kevtrace/fleet.conf");
  return out;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const auto first = text.find_first_not_of(kBlanks);
  return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

Result<HttpKeys> parse_keys(const std::string& path, std::string_view text) {
  HttpKeys keys;
  unsigned number = 0;
  for (const auto part : std::views::split(text, '\n')) {
    ++number;
    const std::string_view line = trimmed(std::string_view(part));
    const auto blank = line.find_first_of(" \t");
    const std::string_view word = line.substr(0, blank);
    if (word.empty() || word.starts_with('#')) continue;
    const auto begin = blank == line.npos ? line.npos : line.find_first_not_of(" \t", blank);
    const std::string value(begin == line.npos ? std::string_view() : line.substr(begin));
    const std::array words = {std::pair("ca", &keys.ca), std::pair("cert", &keys.cert), std::pair("key", &keys.key),
                              std::pair("user", &keys.user)};
    const auto* const known =
        std::ranges::find(words, word, [](const auto& one) { return std::string_view(one.first); });
    const bool is_password = word == "password-file";
    if ((known == words.end() && !is_password) || value.empty())
      return std::unexpected(Error(fmt::format(
          "{}, line {}: a line is `ca`, `cert`, `key`, `user` or `password-file`, and a value", path, number)));
    if (is_password)
      keys.password = KEVT_TRY(read_password(value));
    else
      *known->second = value;
  }
  return keys;
}

}  // namespace

bool is_address(std::string_view text) { return text.starts_with(kTls) || text.starts_with(kPlain); }

Result<Address> parse_address(std::string_view text) {
  const bool is_plain = text.starts_with(kPlain);
  if (!is_address(text)) return std::unexpected(wrong_address(text, "this is no address of a fleet"));
  if (text.find('@') != text.npos)
    return std::unexpected(
        Error("an address names no user: users and passwords stand in fleet.conf (`kevtrace help fleet`)"));
  std::vector<std::string_view> parts;
  for (const auto part : std::views::split(text.substr(is_plain ? kPlain.size() : kTls.size()), '/'))
    parts.emplace_back(part);
  if (parts.size() > 1 && parts.back().empty()) parts.pop_back();
  if (parts.size() < 2 || parts.size() > 4)
    return std::unexpected(wrong_address(text, "it has no database, or too many parts"));
  Address made{.servers = {}, .database = std::string(parts[1]), .hosts = {}, .session = {}};
  for (const auto word : std::views::split(parts[0], ',')) {
    const auto server = split_server(std::string_view(word), is_plain ? 8123 : 8443);
    if (!server) return std::unexpected(wrong_address(text, "it names no server"));
    if (is_plain && !is_loopback(server->host))
      return std::unexpected(wrong_address(text, "without TLS, records and passwords would be seen on the way"));
    made.servers.push_back(fmt::format("{}://{}:{}", is_plain ? "http" : "https", server->host, server->port));
  }
  if (made.servers.empty()) return std::unexpected(wrong_address(text, "it names no server"));
  if (made.servers.size() > kMostServers) return std::unexpected(wrong_address(text, "it names too many servers"));
  if (!is_name(made.database))
    return std::unexpected(wrong_address(text, "a database has letters, digits and `_`, and begins with no digit"));
  if (parts.size() > 2) made.hosts = parts[2];
  if (parts.size() > 3) made.session = parts[3];
  return made;
}

std::size_t shard_of(std::string_view host, std::size_t servers) { return fnv1a(host) % servers; }

Result<HttpKeys> read_keys() {
  for (const std::string& path : places_of_keys()) {
    struct stat status = {};
    auto text = read_whole(path, status);
    if (text) return parse_keys(path, *text);
    if (!named_keys().empty() || text.error().errno_value() != ENOENT) return std::unexpected(text.error());
  }
  return HttpKeys{};
}

}  // namespace kevt::fleet
