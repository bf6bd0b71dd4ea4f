// The file `hist` of an event: its histograms as text. poll(2) waits until they have counted more.
#pragma once

#include <functional>
#include <memory>

#include "runtime-user/engine/tracing.h"
#include "tracefs-compat/tree/handle.h"

namespace kevt::tree {

// `event`: nullptr once it is gone; then reading is ENODEV, and poll says POLLERR. Without a histogram the file is
// empty.
std::unique_ptr<Handle> open_hist(engine::Tracing* tracing, engine::Instance* instance,
                                  std::function<const engine::TracedEvent*()> event);

}  // namespace kevt::tree
