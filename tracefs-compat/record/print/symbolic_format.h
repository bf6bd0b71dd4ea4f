// SymbolicFormats: format files whose `print fmt` names the addresses that were seen, for tools that know no user-space
// symbols: `__print_symbolic(REC->__probe_ip, {0x7f…, "open+0x0/0x128 [libc.so.6]"})` instead of `REC->__probe_ip`.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "tracefs-compat/record/recording.h"

namespace kevt::record {

class SymbolicFormats {
 public:
  // Notes the addresses of a record's places and symbol fields.
  void note(const TypedRecord& record);
  // The format's text; fields that had more than 256 different addresses get `%pS`.
  std::string text(const EventFormat& event, const Metadata& metadata) const;

 private:
  static constexpr std::size_t kMaxNames = 256;
  struct Seen {
    const Field* field = nullptr;
    bool is_character = false;
    std::uint64_t last = ~0ull;
    std::set<std::uint64_t> addresses;
    bool too_many = false;
  };
  struct Event {
    bool is_known = false;
    std::vector<Seen> fields;
  };
  std::vector<Event> by_id_;
};

// The reverse: the format's text without the names that text() has put in, which are those of one recording's
// addresses. What the format named by itself stays.
std::string without_names(const EventFormat& event);

}  // namespace kevt::record
