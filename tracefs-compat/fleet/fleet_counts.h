// What an analysis would have counted of records, counted by the server that has them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "tracefs-compat/fleet/server.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::fleet {

// About one event of some recordings that one server has.
struct CountQuestion {
  const record::CountWish* wish = nullptr;
  Server* server = nullptr;
  std::string table;                  // with its database
  std::string recordings, condition;  // of SQL, on the table: which recordings, and what of them; "1": all
  std::optional<std::uint64_t> rows;  // of the recordings in the table, if none is there twice; nullopt: not known
  bool is_of_whole_table = false;     // no other recordings have rows in it, as far as is known
};
// Whether SQL has words for it.
bool can_count(const record::CountWish& wish);
// The server's answer, in which each record counts once. A shipper that was killed may have sent a row twice; until the
// server has merged both, it has to look at each row's key (FINAL), which takes it some times as long.
Result<std::string> ask_counts(const CountQuestion& question);
// Of the answer, whose texts live as long as it. EMSGSIZE: there are too many of them.
Result<std::vector<record::CountedBucket>> read_buckets(std::string_view answer);

}  // namespace kevt::fleet
