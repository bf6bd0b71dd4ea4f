// A filter of the kernel's language as a condition of SQL on an event's table.
#pragma once

#include <string>

#include "compiler/model/filter.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::fleet {

// Holds for every record that the filter keeps, and maybe for more: what SQL has no equal for is left to who reads.
// "1": the server can leave out nothing.
std::string sql_of(const model::FilterExpr& filter, const record::EventFormat& event);

}  // namespace kevt::fleet
