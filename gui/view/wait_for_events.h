// Waiting in the event loop.
#pragma once

#include <QCoreApplication>
#include <QTimer>

namespace kevt::gui {

// Handles events; when there are none, sleeps until there are, or until the time has passed. (With a time
// processEvents() would not sleep but ask again and again, and take a CPU from the workers that are waited for.)
inline void waitForEvents(int milliseconds) {
  QTimer wake;
  wake.setSingleShot(true);
  wake.start(milliseconds);
  QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
}

}  // namespace kevt::gui
