// A flame graph (Brendan Gregg, "The Flame Graph", CACM 59(6), 2016) as one SVG file: boxes of callers with their
// callees on top, each as wide as its weight. A click zooms, Ctrl-F searches; without scripts it is a picture.
#pragma once

#include <string>

#include "tracefs-compat/record/analysis/call_tree.h"

namespace kevt::record {

// Where the tree compares two recordings, boxes are as wide as in the newer one, red where they have become heavier and
// blue where they have become lighter.
std::string flame_graph_svg(const CallTree& tree);

}  // namespace kevt::record
