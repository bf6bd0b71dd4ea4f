// kevtrace-gui: reads its command line, opens the window.
#include <QApplication>
#include <QCommandLineParser>
#include <QTimer>
#include <cstdio>

#include "gui/app/main_window.h"
#include "gui/app/screenshot.h"
#include "gui/model/trace_document.h"
#include "gui/view/theme.h"

int main(int argc, char** argv) {
  using namespace kevt::gui;
  QApplication app(argc, argv);
  QApplication::setApplicationName(QStringLiteral("kevtrace-gui"));
  QApplication::setApplicationVersion(QStringLiteral(KEVT_VERSION));
  QCommandLineParser parser;
  parser.addHelpOption();
  parser.addVersionOption();
  parser.addPositionalArgument(QStringLiteral("FILE"), QStringLiteral("a recording to open"), QStringLiteral("[FILE]"));
  const QCommandLineOption theme(QStringLiteral("theme"), QStringLiteral("light, dark or system"),
                                 QStringLiteral("NAME"), QStringLiteral("system"));
  const QCommandLineOption shot(QStringLiteral("screenshot"), QStringLiteral("write a picture and end"),
                                QStringLiteral("FILE"));
  const QCommandLineOption size(QStringLiteral("size"), QStringLiteral("size of the window"), QStringLiteral("WxH"),
                                QStringLiteral("1440x900"));
  parser.addOptions({theme, shot, size});
  parser.process(app);
  applyTheme(parser.value(theme) == QStringLiteral("dark")    ? ThemeChoice::Dark
             : parser.value(theme) == QStringLiteral("light") ? ThemeChoice::Light
                                                              : ThemeChoice::System);
  MainWindow window;
  const QStringList wh = parser.value(size).split(QLatin1Char('x'));
  window.resize(wh.value(0).toInt(), wh.value(1).toInt());
  window.show();
  if (!parser.positionalArguments().isEmpty()) window.openTrace(parser.positionalArguments().first());
  if (parser.isSet(shot)) {
    window.settle();
    if (auto saved = saveScreenshot(window, parser.value(shot)); !saved) {
      std::fprintf(stderr, "kevtrace-gui: %s\n", saved.error().message().c_str());
      return 1;
    }
    return 0;
  }
  return QApplication::exec();
}
