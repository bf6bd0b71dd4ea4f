#include "tracefs-compat/fleet/orders/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <concepts>
#include <optional>
#include <variant>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/script/compiled_script.h"
#include "grammar/parse_script.h"

namespace kevt::fleet {
namespace {

constexpr std::string_view kFirstLineOfOrder = "kevtrace order 1";
constexpr std::size_t kMostOfWord = 256, kDigitsOfId = 8;

Error no_order() { return Error("the text is no order of this version of kevtrace", EINVAL); }

// The lines of the head, one after the other.
class Head {
 public:
  explicit Head(std::string_view text) : rest_(text) {}

  std::optional<std::string_view> line() {
    const auto end = rest_.find('\n');
    if (end == rest_.npos || end > kMostOfWord) return std::nullopt;
    const std::string_view one = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return one;
  }
  // What stands behind "WORD ".
  std::optional<std::string_view> value(std::string_view word) {
    const auto one = line();
    if (!one || !one->starts_with(word) || one->size() < word.size() + 2 || (*one)[word.size()] != ' ')
      return std::nullopt;
    return one->substr(word.size() + 1);
  }
  template <std::integral Number>
  std::optional<Number> number(std::string_view word) {
    const auto text = value(word);
    Number out = 0;
    if (!text) return std::nullopt;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), out);
    if (error != std::errc() || end != text->data() + text->size() || out <= 0 || fmt::format("{}", out) != *text)
      return std::nullopt;
    return out;
  }
  bool is_at(std::string_view word) const { return rest_.starts_with(word); }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

bool is_id(std::string_view text) {
  return text.size() == kDigitsOfId &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

Error mistake(const grammar::ScriptMistake& one) {
  const std::string_view detail = one.diagnostic.detail;
  return Error(fmt::format("line {} of the script: {}{}{}", one.line, diag::kernel_text(one.diagnostic.kind),
                           detail.empty() ? "" : ": ", detail),
               EINVAL);
}

Error of_line(const model::Script& script, std::size_t line, std::string_view why) {
  return Error(fmt::format("line {} of the script: {}", script.lines[line].number, why), EPERM);
}

}  // namespace

std::string text_of(const Order& order) {
  const std::string what =
      order.stops ? fmt::format("stop {}", order.stops) : fmt::format("milliseconds {}", order.milliseconds);
  return fmt::format("{}\nfleet {}\nserial {}\nid {}\nbegin-before {}\non {}\n{}\n\n{}", kFirstLineOfOrder, order.fleet,
                     order.serial, order.id, order.begin_before, order.on, what, order.script);
}

Result<Order> parse_order(std::string_view text) {
  if (text.size() > kMostOfOrder) return std::unexpected(no_order());
  Head head(text);
  if (head.line() != kFirstLineOfOrder) return std::unexpected(no_order());
  const auto fleet = head.value("fleet");
  const auto serial = head.number<std::int64_t>("serial");
  const auto id = head.value("id");
  const auto begin_before = head.number<std::int64_t>("begin-before");
  const auto on = head.value("on");
  if (!fleet || !serial || !id || !is_id(*id) || !begin_before || !on) return std::unexpected(no_order());
  Order order{.fleet = std::string(*fleet),
              .serial = *serial,
              .id = std::string(*id),
              .begin_before = *begin_before,
              .on = std::string(*on),
              .milliseconds = 0,
              .stops = 0,
              .script = {}};
  if (head.is_at("stop ")) {
    const auto stops = head.number<std::int64_t>("stop");
    if (!stops) return std::unexpected(no_order());
    order.stops = *stops;
  } else {
    const auto milliseconds = head.number<std::uint64_t>("milliseconds");
    if (!milliseconds || *milliseconds > kLongestOrderMs) return std::unexpected(no_order());
    order.milliseconds = *milliseconds;
  }
  if (head.line() != "") return std::unexpected(no_order());
  order.script = head.rest();
  if (order.script.empty() != (order.stops != 0)) return std::unexpected(no_order());
  return order;
}

Result<void> is_timely(const Order& order, std::int64_t now_ns) {
  if (order.begin_before < order.serial || order.begin_before - order.serial > kLongestToBeginNs)
    return std::unexpected(Error("it may begin for longer than a day", EINVAL));
  if (now_ns > order.begin_before) return std::unexpected(Error("it is too late to begin with it", ETIME));
  if (order.serial - now_ns > kClocksApartNs)
    return std::unexpected(Error("it is of the future: the clocks are more than 5 minutes apart", ETIME));
  return {};
}

Result<void> check_script(std::string_view script, Compiled compiled) {
  std::string text(script);
  const bool is_compiled = script::is_compiled_script(script);
  if (is_compiled && compiled == Compiled::Refused)
    return std::unexpected(Error(
        "a compiled script is machine code, which could do anything here; this host takes one where its fleet.conf "
        "says `accept-compiled yes`",
        EPERM));
  if (is_compiled) text = KEVT_TRY(script::read_compiled_script(script)).text;
  std::vector<grammar::ScriptMistake> mistakes;
  const model::Script read = grammar::parse_script(text, mistakes);
  if (!mistakes.empty()) return std::unexpected(mistake(mistakes.front()));
  if (!read.target)
    return std::unexpected(Error(
        "the script has no target: `target kernel`, `target comm NAME`, `target cgroup PATH` or `target container ID`",
        EPERM));
  if (!std::holds_alternative<model::KernelTarget>(*read.target) &&
      !std::holds_alternative<model::ChosenTarget>(*read.target))
    return std::unexpected(of_line(
        read, read.target_line,
        "of many hosts the target is `kernel`, `comm NAME`, `cgroup PATH` or `container ID`; no program is started"));
  for (const std::size_t line : read.option_lines)
    if (read.options.output && read.lines[line].body_text().starts_with("output"))
      return std::unexpected(of_line(read, line, "where recordings are kept is the host's to say"));
  for (const std::size_t line : read.option_lines)
    if (read.options.buffer_kb.value_or(0) > kMostBufferKb && read.lines[line].body_text().starts_with("buffer"))
      return std::unexpected(of_line(read, line, "an order's buffers are 64M of each CPU at most"));
  if (!read.instances.empty())
    return std::unexpected(of_line(read, read.instances.front().line, "an order has one recording, so no instances"));
  for (const model::ScriptEvent& event : read.events)
    if (event.injection) return std::unexpected(of_line(read, *event.injection, "an order injects nothing"));
  return {};
}

}  // namespace kevt::fleet
