// Messages: what one machine sends and another receives, matched by a value that both events have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "tracefs-compat/fleet/clock_bounds.h"
#include "tracefs-compat/fleet/meant.h"

namespace kevt::fleet {

// One end of messages: "net_send.id", "kprobes/net_send.id".
struct MessageEnd {
  std::string event, field;
};
Result<MessageEnd> parse_message_end(std::string_view text);

struct Messages {
  std::uint64_t sent = 0, received = 0;  // records
  std::uint64_t matched = 0;             // records that were received from another recording
  std::uint64_t repeated = 0;            // values that were sent more than once: nobody knows which was received
  std::vector<ClockBound> bounds;        // one for each two recordings and direction
};
// Reads the records of both events; texts of more than 128 bytes say nothing. An error, too, where no recording has
// such an event or field, or where more than 4,194,304 values were sent.
Result<Messages> match_messages(const Meant& meant, const MessageEnd& sent, const MessageEnd& received);

}  // namespace kevt::fleet
