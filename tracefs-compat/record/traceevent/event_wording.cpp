// One question at a time: all of it is sent before the answer is read, and the process reads all of it before it
// answers.
//
// A process that ends, or gives no answer in time, has met what libtraceevent cannot stand. Another one is
// asked for the same records one by one; the event at which it ends again is told to none of them any more. After some
// such events everything is left to print fmt.
#include "tracefs-compat/record/traceevent/event_wording.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "common/installed_file.h"
#include "tracefs-compat/record/metadata_text.h"
#include "tracefs-compat/record/traceevent/wire.h"

namespace kevt::record {
namespace {

constexpr const char* kPrinter = "kevtrace-traceevent";
constexpr const char* kEnded = "libtraceevent's process has ended or gives no answer";
constexpr unsigned kMostEnds = 8;
constexpr std::chrono::milliseconds kToStart{5000};  // and to read symbols, on a busy machine

void append_raw(const auto& value, std::string& out) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Whether everything that a record says of its own bytes is so: libtraceevent takes it on trust.
bool is_whole(const TypedRecord& record) {
  if (record.bytes.size() < record.event->fixed_size() || has_too_much_text(*record.event, record.bytes)) return false;
  for (const Field& field : record.event->fields) {
    const bool is_dynamic = field.kind == FieldKind::DynamicText || field.kind == FieldKind::DynamicBytes ||
                            field.kind == FieldKind::DynamicNumbers;
    std::uint32_t word = 0;
    if (!is_dynamic || field.offset + sizeof word > record.bytes.size()) continue;
    std::memcpy(&word, record.bytes.data() + field.offset, sizeof word);
    if (word >> 16 != 0 && dynamic_bytes(field, record.bytes).empty()) return false;
  }
  return true;
}

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

bool receive_all(int socket, std::chrono::milliseconds patience, void* to, std::size_t bytes) {
  for (auto* at = static_cast<char*>(to); bytes > 0;) {
    pollfd readable = {.fd = socket, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&readable, 1, static_cast<int>(patience.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t got = ::recv(socket, at, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

// ---- the process ----------------------------------------------------------------------------

void EventWording::fail(const std::string& why) {
  stop();
  is_hopeless_ = true;
  if (problem_.empty()) problem_ = why;
}

void EventWording::ban(const EventFormat& event) {
  stop();
  banned_.insert(&event);
  std::erase(known_, &event);
  news_.push_back(event.system + ":" + event.name);
  if (banned_.size() >= kMostEnds) fail(kEnded);
}

std::optional<std::string> EventWording::take_problem() {
  const std::vector<std::string> events = std::exchange(news_, {});
  const std::string why = std::exchange(problem_, {});
  if (!why.empty()) return "all events are printed by their print fmt: " + why;
  if (events.empty()) return std::nullopt;
  return fmt::format("printed by their print fmt, as libtraceevent's process has ended there or gave no answer: {}",
                     fmt::join(events, ", "));
}

bool EventWording::start() {
  if (socket_) return true;
  if (is_hopeless_) return false;
  const auto path = installed_file(kPrinter);
  if (!path) {
    fail(fmt::format("there is no `{}`", path.error().empty() ? kPrinter : path.error()));
    return false;
  }
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    fail(Error::from_errno("making a socket").message());
    return false;
  }
  socket_ = UniqueFd(ends[0]);
  const UniqueFd its(ends[1]);
  const auto us = std::chrono::microseconds(std::max(patience_, kToStart)).count();
  const timeval most_wait = {.tv_sec = us / 1'000'000, .tv_usec = us % 1'000'000};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &most_wait, sizeof most_wait);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, its.get(), 0);
  for (const int fd : {1, 2}) posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&files, 3);
  char* const no_plugins = has_plugins_ ? nullptr : const_cast<char*>(wire::kNoPlugins);
  char* const arguments[] = {const_cast<char*>(kPrinter), no_plugins, nullptr};
  char* const environment[] = {nullptr};  // it would name folders of plugins
  posix_spawnattr_t attributes;           // a group of its own: Ctrl-C is for its asker, which may still want to print
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const int spawned = ::posix_spawn(&process_, path->c_str(), &files, &attributes, arguments, environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (spawned != 0) {
    process_ = -1;
    fail(fmt::format("starting `{}`: {}", *path, std::strerror(spawned)));
    return false;
  }
  has_symbols_ = false;
  bool is_told = tell(wire::Ask::Strings, printk_formats_text(*metadata_));
  for (std::size_t i = 0; is_told && i < known_.size(); ++i) is_told = add_format(*known_[i]).has_value();
  if (!is_told) fail(kEnded);
  return is_told;
}

bool EventWording::tell(wire::Ask what, const std::string& text) {
  return text.empty() || text.size() > wire::kMostAsked || ask(what, text);
}

void EventWording::stop() {
  socket_.reset();
  if (process_ < 0) return;
  ::kill(process_, SIGKILL);  // it holds nothing that anybody needs
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
}

bool EventWording::ask(wire::Ask what, std::string_view bytes) {
  std::string head;
  append_raw(wire::AskHead{what, static_cast<std::uint32_t>(bytes.size())}, head);
  return send_all(socket_.get(), head) && send_all(socket_.get(), bytes);
}

std::optional<std::string> EventWording::answer(std::chrono::milliseconds patience) {
  std::uint32_t length = 0;
  if (!receive_all(socket_.get(), patience, &length, sizeof length) || length > wire::kMostAnswered)
    return std::nullopt;
  std::string bytes(length, '\0');
  if (!receive_all(socket_.get(), patience, bytes.data(), bytes.size())) return std::nullopt;
  return bytes;
}

// ---- events and records ---------------------------------------------------------------------

// FormatAnswer bits; nullopt: the process has ended.
std::optional<std::uint32_t> EventWording::add_format(const EventFormat& event) {
  std::string asked;
  append_raw(wire::FormatHead{event.id, static_cast<std::uint32_t>(event.system.size())}, asked);
  asked += event.system;
  asked += event.text;
  std::uint32_t flags = 0;
  if (asked.size() > wire::kMostAsked) return flags;
  const bool names_functions = event.text.find("%p") != std::string::npos;  // there are some 200,000 of them
  if (names_functions && !std::exchange(has_symbols_, true) && !tell(wire::Ask::Symbols, kallsyms_text(*metadata_)))
    return std::nullopt;
  if (!ask(wire::Ask::Format, asked)) return std::nullopt;
  const auto got = answer(std::max(patience_, kToStart));
  if (!got || got->size() != sizeof flags) return std::nullopt;
  std::memcpy(&flags, got->data(), sizeof flags);
  return flags;
}

// A process that was ended by somebody else is no fault of the event: another one is asked.
std::optional<std::uint32_t> EventWording::ask_format(const EventFormat& event) {
  for (int tries = 0; tries < 2; ++tries) {
    if (!start()) return 0;
    if (const auto flags = add_format(event)) return flags;
    stop();
  }
  return std::nullopt;
}

EventWording::Can EventWording::can(const EventFormat& event) {
  if (banned_.contains(&event)) return Can::Nothing;
  const auto flags = ask_format(event);
  if (!flags) {
    ban(event);
    return Can::Nothing;
  }
  if (std::ranges::find(known_, &event) == known_.end()) known_.push_back(&event);
  if (*flags & wire::kHasPlugin) return Can::PrintInWords;
  return *flags & wire::kIsParsed ? Can::Print : Can::Nothing;
}

void EventWording::queue(const TypedRecord& record) {
  const bool fits = is_whole(record) && !banned_.contains(record.event) &&
                    asked_.size() + sizeof(wire::PrintHead) + record.bytes.size() <= wire::kMostAsked;
  const std::size_t at = asked_.size();
  if (fits) {
    append_raw(wire::PrintHead{record.time_ns, record.cpu, static_cast<std::uint32_t>(record.bytes.size())}, asked_);
    asked_.append(reinterpret_cast<const char*>(record.bytes.data()), record.bytes.size());
  }
  queued_.push_back({fits ? record.event : nullptr, at, asked_.size() - at});
}

bool EventWording::print(std::string_view asked, std::span<const Queued> queued,
                         std::span<std::optional<std::string>> texts) {
  if (!ask(wire::Ask::Print, asked)) return false;
  const auto got = answer(patience_);
  if (!got) return false;
  std::string_view left = *got;
  for (std::size_t i = 0; i < queued.size(); ++i) {
    std::uint32_t length = 0;
    if (!queued[i].event) continue;
    if (left.size() < sizeof length) break;
    std::memcpy(&length, left.data(), sizeof length);
    left.remove_prefix(sizeof length);
    if (length == wire::kNoText) continue;
    if (length > left.size()) break;
    texts[i] = left.substr(0, length);
    left.remove_prefix(length);
  }
  return true;
}

EventWording::Texts EventWording::take() {
  Texts texts(queued_.size());
  const std::string asked = std::exchange(asked_, {});
  const std::vector<Queued> queued = std::exchange(queued_, {});
  if (asked.empty() || !start() || print(asked, queued, texts)) return texts;
  stop();
  for (std::size_t i = 0; i < queued.size(); ++i) {
    const Queued& one = queued[i];
    if (!one.event || banned_.contains(one.event)) continue;
    if (!start()) break;
    if (!print(std::string_view(asked).substr(one.at, one.bytes), {&one, 1}, {&texts[i], 1})) ban(*one.event);
  }
  return texts;
}

}  // namespace kevt::record
