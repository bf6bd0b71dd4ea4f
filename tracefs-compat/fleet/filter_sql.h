// A filter of the kernel's language as a condition of SQL on an event's table.
#pragma once

#include <string>

#include "compiler/model/filter.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::fleet {

// Holds for every record that the filter keeps, and maybe for more: what SQL has no equal for is left to who reads.
struct SqlCondition {
  std::string text = "1";  // "1": the server can leave out nothing
  bool is_exact = false;   // it holds for these records alone
};
SqlCondition sql_of(const model::FilterExpr& filter, const record::EventFormat& event);

}  // namespace kevt::fleet
