// A flame graph (Brendan Gregg, "The Flame Graph", CACM 59(6), 2016) as one SVG file: boxes of callers with their
// callees on top, each as wide as its weight. A click zooms, Ctrl-F searches; without scripts it is a picture.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace kevt::record {

// `folded`: "outer;inner" paths and their weights. `unit`: what a weight counts: "hits", "ns".
std::string flame_graph_svg(const std::map<std::string, std::uint64_t>& folded, std::string_view unit);

}  // namespace kevt::record
