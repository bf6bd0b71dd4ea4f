#include "tracefs-compat/fleet/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <ranges>

#include "common/fnv.h"

namespace kevt::fleet {
namespace {

constexpr std::string_view kTls = "ch://", kPlain = "ch+http://";
constexpr std::string_view kHow =
    "; write ch://SERVER[:PORT]/DATABASE, or ch+http://127.0.0.1[:PORT]/DATABASE for a server of this machine";
constexpr std::size_t kMostServers = 64;

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

std::string plain_host(std::string name) {
  for (char& c : name)
    if (static_cast<unsigned char>(c) < 0x20 || c == '\x7f' || c == '/' || c == '*' || c == '?') c = '_';
  return name.empty() ? "unknown" : name;
}

std::size_t shard_of(std::string_view host, std::size_t servers) { return fnv1a(host) % servers; }

}  // namespace kevt::fleet
