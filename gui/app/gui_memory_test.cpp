// What a trace may take of memory: the rest in a file, and what is said when nothing more fits.
#include <gtest/gtest.h>

#include <QTest>

#include "gui/app/log_panels.h"
#include "gui/app/main_window.h"
#include "gui/app/probes_panel.h"
#include "gui/app/window_testing.h"
#include "gui/model/event_rows.h"
#include "gui/model/event_tree.h"
#include "gui/model/trace_document.h"
#include "gui/model/tracing_service.h"
#include "gui/view/definition_editor.h"
#include "gui/view/event_table.h"
#include "gui/view/timeline_view.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::gui {
namespace {

#define WAIT_FOR(condition) ASSERT_TRUE(QTest::qWaitFor([&] { return (condition); }, kPatienceMs)) << #condition

class GuiMemory : public WindowTest {
 protected:
  void TearDown() override { qunsetenv("TMPDIR"); }

  // 400,000 records of one event; the tenth of each ten has n = 9.
  QString bigRecording() {
    record::Metadata metadata;
    const record::EventFormat& event = metadata.formats.add(
        *record::parse_format("kprobes",
                              "name: e\nID: 1700\nformat:\n"
                              "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                              "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                              "\tfield:u32 n;\toffset:8;\tsize:4;\tsigned:0;\n\nprint fmt: \"n=%u\", REC->n\n"));
    const QString path = folder_.filePath("big.dat");
    auto writer = record::create_recording(record::FileFormat::Dat, path.toStdString(), metadata);
    for (std::uint32_t i = 0; writer && i < kRecords; ++i) {
      const std::uint32_t words[3] = {1700, 42, i % 10};
      const auto* const bytes = reinterpret_cast<const std::uint8_t*>(words);
      EXPECT_TRUE((*writer)->add({.event = &event,
                                  .time_ns = 1'000'000 + i * std::uint64_t{50},
                                  .pid = 42,
                                  .comm = "prog",
                                  .bytes = {bytes, sizeof words}}));
    }
    EXPECT_TRUE(writer && (*writer)->finish());
    return path;
  }
  static constexpr std::uint32_t kRecords = 400'000;
};

TEST_F(GuiMemory, WhatDoesNotFitIsKeptInAFileAndShownAllTheSame) {
  MainWindow window;
  window.document().setMemory(1 << 20);
  window.openTrace(bigRecording());
  WAIT_FOR(window.document().state() == TraceDocument::State::Loaded);
  const record::StoreView& view = window.document().view();
  ASSERT_EQ(view.rows(), kRecords);
  EXPECT_TRUE(view.chunks().front()->is_in_file);
  EXPECT_LT(view.size().in_memory, view.size().index / 2);
  EXPECT_EQ(window.document().problems(), QStringList());
  FilterMistake mistake;
  ASSERT_TRUE(window.table().rows().setFilter("n == 9", mistake));
  WAIT_FOR(!window.table().rows().isBusy());
  EXPECT_EQ(window.table().rows().rowCount(), static_cast<int>(kRecords / 10));
  EXPECT_EQ(window.table().rows().rowAt(100), 1009u);
  EXPECT_EQ(window.table().rows().positionOf(1009), 100);
  window.settle();
  EXPECT_EQ(record::count_lane(view, {.only = window.table().rows().kept().get()}, 0, ~0ull), kRecords / 10);
}

TEST_F(GuiMemory, WithoutAPlaceForTheFileMoreMemoryIsTakenAndSaid) {
  qputenv("TMPDIR", "/proc/no-such-folder");
  MainWindow window;
  window.document().setMemory(1 << 20);
  window.openTrace(bigRecording());
  WAIT_FOR(window.document().state() == TraceDocument::State::Loaded);
  EXPECT_EQ(window.document().view().rows(), kRecords);
  EXPECT_TRUE(window.problems().has(
      "the records take more memory than is set: they cannot be written into a file (/proc/no-such-folder"));
}

TEST_F(GuiMemory, ALiveTraceThatIsFullSaysSoAndKeepsWhatItHas) {
  if (!QFile("/dev/fuse").open(QIODevice::ReadWrite)) GTEST_SKIP() << "no FUSE here";
  MainWindow window;
  window.probes().editor().replaceText("p:opening libc:open64 path=+0(%di):string");
  window.startTarget({"/usr/bin/python3", "-S", "-c", "while True: open('/etc/passwd').close()"},
                     MainWindow::Start::Applies);
  WAIT_FOR(window.service().isRunning() || !window.target().isRunning());
  if (window.problems().has("ended with status 4")) GTEST_SKIP() << "no mount is allowed here";
  WAIT_FOR(window.document().view().rows() > 0);
  // The same directory again, read into a store that has room for little.
  window.document().beginLive("little room");
  window.service().start(window.service().directory(), 0,
                         {.memory_bytes = 0, .most_memory_bytes = 100'000, .folder = "/proc/no-such-folder"});
  WAIT_FOR(window.problems().has("more do not fit"));
  const record::Row kept = window.document().view().rows();
  EXPECT_GT(kept, 100u);
  // The program goes on, and its hits are counted.
  const auto hits = [&] {
    const LiveEvent* event = window.eventTree().eventAt(window.eventTree().find("kprobes", "opening"));
    return event ? event->hits : 0;
  };
  const std::uint64_t before = hits();
  WAIT_FOR(hits() > before + 1000);
  EXPECT_EQ(window.document().view().rows(), kept);
}

}  // namespace
}  // namespace kevt::gui
