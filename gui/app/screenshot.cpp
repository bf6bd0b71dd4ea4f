// Screenshots: the window as it is painted, without a screen when the platform is `offscreen`.
#include "gui/app/screenshot.h"

#include <QPixmap>
#include <QWidget>

namespace kevt::gui {

Result<void> saveScreenshot(QWidget& window, const QString& path) {
  const QPixmap picture = window.grab();
  if (picture.isNull() || !picture.save(path))
    return std::unexpected(Error("screenshot: cannot write " + path.toStdString()));
  return {};
}

}  // namespace kevt::gui
