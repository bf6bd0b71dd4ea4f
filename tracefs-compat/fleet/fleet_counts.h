// What an analysis would have counted of records, counted by the server that has them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::fleet {

// A question whose answer is a row for each bucket of the wish; nullopt: SQL has no words for it. `which`: "TABLE WHERE
// CONDITION".
std::optional<std::string> question_of_counts(const record::CountWish& wish, std::string_view which);
// Of its answer, whose texts live as long as the answer. EMSGSIZE: there are too many of them.
Result<std::vector<record::CountedBucket>> read_buckets(std::string_view answer);

}  // namespace kevt::fleet
