// LinePlan: how one event's records become text, worked out once: a trace of millions of lines names few events.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime-user/engine/events/event_table.h"

namespace kevt::engine {

class LinePlan {
 public:
  // Keeps no reference to the event.
  explicit LinePlan(const TracedEvent& event);

  const std::string& head() const { return head_; }  // "NAME: ("
  // The addresses at the start of the record, which identify its place; 0 where the record is too short.
  std::array<std::uint64_t, 2> addresses(std::span<const std::uint8_t> record) const;
  // Whether all arguments are numbers and strings. Only then may append_arguments() be called.
  bool is_plain() const { return is_plain_; }
  // " a=1 s=\"x\"", as layout::append_arguments() does. The record may be hostile.
  void append_arguments(std::span<const std::uint8_t> record, std::string& out) const;

  // The place that was printed last, and its text.
  struct Place {
    const void* env = nullptr;
    std::array<std::uint64_t, 2> addresses = {};
    std::uint32_t style = 0;
    std::string text;
  };
  std::optional<Place> last;

 private:
  enum class Form : std::uint8_t { Unsigned, Signed, Hex, Float, Text };
  struct Piece {
    std::string before;  // " a="
    Form form = Form::Unsigned;
    std::uint32_t offset = 0;
    std::uint32_t bytes = 0;
  };
  std::string head_;
  std::vector<Piece> pieces_;
  std::size_t address_bytes_ = 0;
  bool is_plain_ = true;
};

}  // namespace kevt::engine
