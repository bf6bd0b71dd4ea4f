// The timeline for screen readers: a list of lanes, each a list of the visible records.
#pragma once

namespace kevt::gui {

// To be called once in the program; further calls do no harm.
void installTimelineAccessibility();

}  // namespace kevt::gui
