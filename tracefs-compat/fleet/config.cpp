#include "tracefs-compat/fleet/config.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <ranges>
#include <utility>

#include "common/regular_file.h"
#include "tracefs-compat/fleet/believed.h"

namespace kevt::fleet {
namespace {

constexpr std::size_t kMostOfFile = 64 << 10;

Result<std::string> read_whole(const std::string& path, struct stat& status) {
  auto file = KEVT_TRY(open_regular(path));
  if (fstat(file.get(), &status) < 0) return std::unexpected(Error::from_errno(path));
  return read_to_end(file.get(), path, kMostOfFile);
}

Result<std::string> read_password(const std::string& path) {
  struct stat status = {};
  auto text = KEVT_TRY(read_whole(path, status));
  if (status.st_mode & (S_IRWXG | S_IRWXO))
    return std::unexpected(Error(path + " holds a password and is not for its owner alone; chmod 600", EPERM));
  return text.substr(0, text.find('\n'));
}

// Who may write to it may name keys, and so have this user run what they like.
constexpr const char* kPurpose = "says whose orders are obeyed";

Result<std::string> read_believed(const std::string& path) {
  struct stat status = {};
  return read_whole(KEVT_TRY(believed_path(path, kPurpose)), status);
}

std::string named_file() {
  const char* named = std::getenv("KEVTRACE_FLEET");
  return named == nullptr ? "" : named;
}

std::vector<std::string> places() {
  if (const std::string named = named_file(); !named.empty()) return {named};
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

Result<void> take_line(std::string_view word, const std::string& value, Config& config, bool& is_known) {
  const std::array texts = {std::pair("ca", &config.keys.ca), std::pair("cert", &config.keys.cert),
                            std::pair("key", &config.keys.key), std::pair("user", &config.keys.user),
                            std::pair("sign-key", &config.sign_key)};
  const auto* const known = std::ranges::find(texts, word, [](const auto& one) { return std::string_view(one.first); });
  is_known = !value.empty();
  if (value.empty()) return {};
  if (known != texts.end())
    *known->second = value;
  else if (word == "password-file")
    config.keys.password = KEVT_TRY(read_password(value));
  else if (word == "trust")
    config.trusted.push_back(value);
  else if (word == "accept-compiled" && value == "yes")
    config.accepts_compiled = true;
  else if (word == "label")
    config.labels.push_back(KEVT_TRY(parse_label(value)));
  else
    is_known = false;
  return {};
}

Result<Config> parse_config(const std::string& path, std::string_view text) {
  Config config;
  config.path = path;
  unsigned number = 0;
  for (const auto part : std::views::split(text, '\n')) {
    ++number;
    const std::string_view line = trimmed(std::string_view(part));
    const auto blank = line.find_first_of(" \t");
    const std::string_view word = line.substr(0, blank);
    if (word.empty() || word.starts_with('#')) continue;
    const auto begin = blank == line.npos ? line.npos : line.find_first_not_of(" \t", blank);
    const std::string value(begin == line.npos ? std::string_view() : line.substr(begin));
    bool is_known = false;
    if (auto taken = take_line(word, value, config, is_known); !taken)
      return std::unexpected(std::move(taken.error()).while_doing(fmt::format("reading {}, line {}", path, number)));
    if (!is_known)
      return std::unexpected(
          Error(fmt::format("{}, line {}: a line is `ca`, `cert`, `key`, `user`, `password-file`, "
                            "`sign-key`, `trust` or `label`, and a value, or `accept-compiled yes`",
                            path, number)));
  }
  return config;
}

}  // namespace

Result<Config> read_config() {
  for (const std::string& path : places()) {
    struct stat status = {};
    const auto real = believed_path(path, kPurpose);
    auto text = read_whole(real.value_or(path), status);
    if (text) {
      Config config = KEVT_TRY(parse_config(path, *text));
      if (!real) config.not_believed = real.error().message();
      return config;
    }
    if (!named_file().empty() || text.error().errno_value() != ENOENT) return std::unexpected(text.error());
  }
  return Config{};
}

Result<std::string> read_sign_key(const Config& config) {
  if (config.sign_key.empty())
    return std::unexpected(
        Error("there is no key to sign with: `sign-key FILE` in fleet.conf names one (`kevtrace help fleet`)", ENOENT));
  struct stat status = {};
  auto text = KEVT_TRY(read_whole(config.sign_key, status));
  if (status.st_mode & (S_IRWXG | S_IRWXO))
    return std::unexpected(Error(config.sign_key + " signs orders and is not for its owner alone; chmod 600", EPERM));
  return text;
}

Result<std::string> read_trusted_keys(const Config& config) {
  if (config.trusted.empty())
    return std::unexpected(
        Error("nobody is obeyed here: `trust FILE` in fleet.conf names keys (`kevtrace help fleet`)", ENOENT));
  if (!config.not_believed.empty()) return std::unexpected(Error(config.not_believed, EPERM));
  std::string all;
  for (const std::string& path : config.trusted) all += KEVT_TRY(read_believed(path)) + "\n";
  return all;
}

}  // namespace kevt::fleet
