// A picture of the window, for documentation and tests.
#pragma once

#include <QString>

#include "common/error.h"

class QWidget;

namespace kevt::gui {

Result<void> saveScreenshot(QWidget& window, const QString& path);

}  // namespace kevt::gui
