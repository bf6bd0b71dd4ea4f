// What a recording keeps of a histogram: JSON in one line (docs/histograms.md, "For other programs").
#pragma once

#include <cstddef>
#include <string_view>

namespace kevt::record {

inline constexpr std::size_t kMostHistogramBytes = std::size_t{256} << 20;  // of one, as JSON

// Whether the text is one JSON object without control characters, of kMostHistogramBytes and 32 levels at most, so that
// whoever gets it may parse it. Its members are not looked at: a file may have any.
bool is_histogram_object(std::string_view text);

}  // namespace kevt::record
