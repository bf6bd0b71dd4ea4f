// Screenshots: the window as it is painted, without a screen when the platform is `offscreen`.
#include "gui/app/screenshot.h"

#include <QBuffer>
#include <QFileInfo>
#include <QPixmap>
#include <QWidget>

#include "tracefs-compat/record/output_file.h"

namespace kevt::gui {

Result<void> saveScreenshot(QWidget& window, const QString& path) {
  const QPixmap picture = window.grab();
  QBuffer bytes;
  if (picture.isNull() || !picture.save(&bytes, QFileInfo(path).suffix().toLatin1().constData()))
    return std::unexpected(Error("screenshot: cannot write " + path.toStdString()));
  auto file = KEVT_TRY(record::OutputFile::create(path.toStdString()));
  file.append(bytes.data().toStdString());
  return file.flush();
}

}  // namespace kevt::gui
