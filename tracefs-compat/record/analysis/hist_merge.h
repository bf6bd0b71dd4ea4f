// Histograms of several machines, or of several spans of time, as one: counts of one key are added.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tracefs-compat/record/analysis/hist_file.h"

namespace kevt::record {

// A table for each event and trigger, in the order of their first ones. Hits, sums and what was dropped are added,
// `.min` and `.max` are the least and the greatest, `.avg` the mean by hits; `.percent` and `.graph` are left out. Keys
// are one where their texts are; `.sym` ones where the names are, since machines have one function at different
// addresses. Of `top=N` the N largest are kept, with what a table without the key may have had of it in `hits` and not
// in `at_least`.
std::vector<HistFileTable> merge_hist_tables(std::span<const HistFileTable> tables);

// As the file `hist` shows a table, with the event in front.
std::string hist_table_text(const HistFileTable& table);
// As JSON in one line (docs/histograms.md, "For other programs"), without `from_s` and `to_s`.
std::string hist_table_object(const HistFileTable& table);

}  // namespace kevt::record
