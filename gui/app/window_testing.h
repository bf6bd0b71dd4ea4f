// What tests of the window share: an application without a screen, a recording of a real program.
#pragma once

#include <gtest/gtest.h>

#include <QApplication>
#include <QFile>
#include <QProcess>
#include <QTemporaryDir>

#include "gui/model/target_process.h"
#include "gui/view/theme.h"

namespace kevt::gui {

inline constexpr int kPatienceMs = 60'000;

class WindowTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    qputenv("KEVTRACE_GUI_NO_AUTOSAVE", "1");
    if (!QApplication::instance()) {
      static int argc = 1;
      static char name[] = "gui_window_test";
      static char* argv[] = {name, nullptr};
      if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
      new QApplication(argc, argv);
    }
    applyTheme(ThemeChoice::Light);
  }

  bool record(const QString& path) {
    QProcess kevtrace;
    kevtrace.setProcessChannelMode(QProcess::MergedChannels);
    kevtrace.start(TargetProcess::findKevtrace(),
                   {"run", "-o", path, "-f", "dat", "-e", "p:opening libc:open64 path=+0(%di):string flags=%si:x32",
                    "-e", "r:opened libc:open64 fd=$retval:s32", "--", "/usr/bin/python3", "-S", "-c",
                    "for i in range(200): open('/etc/passwd').close()"});
    if (!kevtrace.waitForFinished(kPatienceMs)) return false;
    said_ = QString::fromUtf8(kevtrace.readAll());
    return kevtrace.exitCode() == 0 && QFile::exists(path);
  }

  QTemporaryDir folder_;
  QString said_;  // by kevtrace
};

}  // namespace kevt::gui
