// The timeline for those who do not see it: a list of lanes, each a list of the records in sight.
#pragma once

namespace kevt::gui {

// Once for the program; more often does no harm.
void installTimelineAccessibility();

}  // namespace kevt::gui
