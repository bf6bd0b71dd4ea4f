// Models without widgets: checking, completion, plans, sessions, tables and trees.
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QFile>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>

#include "compiler/target/fixed_target.h"
#include "gui/model/apply_plan.h"
#include "gui/model/completion.h"
#include "gui/model/definition_check.h"
#include "gui/model/event_rows.h"
#include "gui/model/event_tree.h"
#include "gui/model/lanes.h"
#include "gui/model/model_testing.h"
#include "gui/model/record_search.h"
#include "gui/model/row_text.h"
#include "gui/model/session.h"
#include "gui/model/trace_document.h"
#include "tracefs-compat/record/event_format.h"

namespace kevt::gui {
namespace {

class GuiModel : public ModelTest {};

TEST_F(GuiModel, AMistakeHasItsColumnTheKernelsTextAndAFix) {
  const CheckedText checked = checkDefinitions(QStringLiteral("# comment\np:op libc:open64 a=%rdi\n"), nullptr);
  ASSERT_EQ(checked.mistakes.size(), 1u);
  const Mistake& mistake = checked.mistakes[0];
  EXPECT_EQ(mistake.line, 1);
  EXPECT_EQ(mistake.text, QStringLiteral("Invalid register name"));
  EXPECT_EQ(mistake.id, QStringLiteral("BAD_REG_NAME"));
  ASSERT_EQ(mistake.fixes.size(), 1u);
  const QString fixed = withFix(QStringLiteral("# comment\np:op libc:open64 a=%rdi\n"), mistake.line, mistake.fixes[0]);
  EXPECT_EQ(fixed, QStringLiteral("# comment\np:op libc:open64 a=%di\n"));
  EXPECT_TRUE(checkDefinitions(fixed, nullptr).mistakes.empty());
}

TEST_F(GuiModel, ColumnsCountCharactersNotBytes) {
  const CheckedText checked = checkDefinitions(QStringLiteral("p:op libc:open64 ä=%zz"), nullptr);
  ASSERT_FALSE(checked.mistakes.empty());
  EXPECT_LE(checked.mistakes[0].begin, 20);
}

TEST_F(GuiModel, AFieldIsHexadecimalByItsOwnName) {
  const record::EventFormat event{.print_fmt = R"("(%lx) flags=0x%x s=%d at: 0x%lx", REC->__probe_ip)"};
  const auto is_hex = [&](const char* name) { return isHex(event, record::Field{.name = name}); };
  EXPECT_TRUE(is_hex("flags"));
  EXPECT_TRUE(is_hex("at"));
  EXPECT_FALSE(is_hex("s")) << "the end of another's name";
  EXPECT_FALSE(is_hex("lags"));
}

TEST_F(GuiModel, TheWordThatIsWrongIsUnderlined) {
  target::FixedTargetEnv env;
  env.add_function({.name = "open64", .module = "libc", .address = 0x1000, .size = 16});
  const QString line = QStringLiteral("p:typo libc:opne64 libc=%di");
  const CheckedText checked = checkDefinitions(line, &env);
  ASSERT_EQ(checked.mistakes.size(), 1u);
  const Mistake& mistake = checked.mistakes[0];
  EXPECT_EQ(mistake.begin, 7) << "the kernel's caret";
  EXPECT_EQ(line.mid(mistake.word, mistake.end - mistake.word), QStringLiteral("opne64"));
}

TEST_F(GuiModel, RightLinesHaveListingAndFormat) {
  const CheckedText checked =
      checkDefinitions(QStringLiteral("p:op libc:open64 path=+0(%di):string\n  filter path ~ \"/etc/*\"\n"), nullptr);
  ASSERT_TRUE(checked.mistakes.empty());
  ASSERT_EQ(checked.right.size(), 1u);
  EXPECT_EQ(checked.right[0].group, QStringLiteral("kprobes"));
  EXPECT_EQ(checked.right[0].listing, QStringLiteral("p:kprobes/op libc:open64 path=+0(%di):string"));
  EXPECT_TRUE(checked.right[0].format.contains(QStringLiteral("__data_loc char[] path")));
  EXPECT_EQ(checked.right[0].filter, QStringLiteral("path ~ \"/etc/*\""));
}

// A line of the source in two places: two probes of one event.
TEST_F(GuiModel, AShortFormIsWhatItMeans) {
  auto types = std::make_shared<target::TypeTable>();
  const target::TypeId number =
      types->add({.kind = target::TypeClass::Integer, .is_signed = true, .bytes = 4, .name = types->add_name("int")});
  target::LinePlaces line{.types = types, .places = {}};
  for (const std::uint64_t offset : {0x20u, 0x40u})
    line.places.push_back(
        {.path = "/bin/app",
         .offset = offset,
         .function = "f",
         .variables = {
             {.name = "n",
              .type = number,
              .location = {.base = target::VariableLocation::Base::Register, .reg = "di", .is_value = true}}}});
  target::FixedTargetEnv env;
  env.add_file("/bin/app", target::FileStatus::Regular);
  env.add_line("f.c", 42, line);
  const CheckedText checked = checkDefinitions(QStringLiteral("p:ev app:f.c:42 n\n  filter n > 3\n"), &env);
  ASSERT_TRUE(checked.mistakes.empty());
  ASSERT_EQ(checked.right.size(), 1u);
  EXPECT_EQ(checked.right[0].listing, QStringLiteral("p:uprobes/ev /bin/app:0x0000000000000020 n=%di:s32\n"
                                                     "p:uprobes/ev /bin/app:0x0000000000000040 n=%di:s32"));
  EXPECT_EQ(checked.right[0].filter, QStringLiteral("n > 3"));
  EXPECT_TRUE(checked.right[0].format.contains(QStringLiteral("field:s32 n;")));
  const auto plan = planApply(QStringLiteral("p:ev app:f.c:42 n\n"), checked, checked.right[0].listing, {}, false);
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_EQ(plan[0].kind, PlanStep::Kind::Keep);

  const CheckedText wrong = checkDefinitions(QStringLiteral("p:ev app:f.c:42 m\n"), &env);
  ASSERT_EQ(wrong.mistakes.size(), 1u);
  EXPECT_EQ(wrong.mistakes[0].begin, 16);
  EXPECT_EQ(wrong.mistakes[0].word, 16);
  EXPECT_EQ(wrong.mistakes[0].id, QStringLiteral("NO_BTFARG"));
}

// The kernel beside the target: only the program's places are looked up in it.
TEST_F(GuiModel, PlacesOfTheKernelBesideAreNotLookedUp) {
  target::FixedTargetEnv env;
  env.add_function({.name = "main", .module = "app", .address = 0x1000, .size = 0x100});
  const target::PlaceSides sides({"ext4"});
  const QString text =
      QStringLiteral("p:u app:main a=%di\np:k ksys_lseek o=$arg2:u64\n  filter o > 3\np:n app:no\np:d ext4:f\n");
  const CheckedText checked = checkDefinitions(text, &env, nullptr, &sides);
  ASSERT_EQ(checked.mistakes.size(), 1u);
  EXPECT_EQ(checked.mistakes[0].line, 3);
  EXPECT_EQ(checked.right.size(), 3u);
  EXPECT_EQ(checkDefinitions(text, &env).mistakes.size(), 3u);
}

TEST_F(GuiModel, TwoHundredLinesAreCheckedInAMoment) {
  QString text;
  for (int i = 0; i < 200; ++i)
    text += QStringLiteral("p:ev%1 libc:open64 path=+0(%di):string a=%si:u32 b=+8(+0(%dx)):x64\n").arg(i);
  checkDefinitions(text, nullptr);
  const CheckedText checked = checkDefinitions(text, nullptr);
  EXPECT_EQ(checked.right.size(), 200u);
  RecordProperty("microseconds", static_cast<int>(checked.took_us));
  EXPECT_LT(checked.took_us, 1'000'000);  // 30 ms is the aim; test machines are busy
}

TEST_F(GuiModel, LinesThatAreKnownAreJudgedLikeNewOnes) {
  ParsedLines parsed;
  for (const char* text : {"p:a libc:open64 x=%di\np:b f y=%zz\n", "p:b f y=%zz\np:a libc:open64 x=%di\n",
                           "p:a libc:open64 x=%di\np:a libc:open64 x=%di y=+0(%si\n", "p:b f y=%zz"}) {
    const CheckedText fresh = checkDefinitions(QString::fromLatin1(text), nullptr);
    const CheckedText known = checkDefinitions(QString::fromLatin1(text), nullptr, &parsed);
    ASSERT_EQ(known.mistakes.size(), fresh.mistakes.size()) << text;
    for (std::size_t i = 0; i < fresh.mistakes.size(); ++i) {
      EXPECT_EQ(known.mistakes[i].text, fresh.mistakes[i].text);
      EXPECT_EQ(known.mistakes[i].line, fresh.mistakes[i].line);
      EXPECT_EQ(known.mistakes[i].begin, fresh.mistakes[i].begin);
    }
    ASSERT_EQ(known.right.size(), fresh.right.size());
    for (std::size_t i = 0; i < fresh.right.size(); ++i) EXPECT_EQ(known.right[i].listing, fresh.right[i].listing);
  }
}

TEST_F(GuiModel, AnyTextCanBeChecked) {
  for (const char* text : {"", "\n\n", ":", "p", "p:", "p: :", "filter", "  filter x", "trigger traceoff", "\xff\xfe",
                           "p:a b %", "e: $", "-:", "-:x/y"})
    checkDefinitions(QString::fromLatin1(text), nullptr);
}

// The cursor counts UTF-16, the compiler bytes.
TEST_F(GuiModel, CompletionFollowsThePlaceInTheLine) {
  const author::SymbolIndex symbols(std::vector<author::SymbolName>{{"größe64", "libc"}});
  const QString line = QStringLiteral("p:ö grö und mehr");
  const Completion found = completeDefinition(line, 7, symbols);
  ASSERT_EQ(found.suggestions.size(), 1u);
  EXPECT_EQ(found.suggestions[0].text, QStringLiteral("libc:größe64"));
  EXPECT_EQ(found.begin, 4);
  EXPECT_EQ(completeFilter(QStringLiteral("grün && grö"), 11, {QStringLiteral("größe")}).begin, 8);
}

TEST_F(GuiModel, APlanTouchesOnlyWhatIsOwned) {
  const QString text = QStringLiteral("p:new libc:open64 a=%di\np:same libc:read a=%si\np:mine libc:read a=%dx\n");
  const CheckedText checked = checkDefinitions(text, nullptr);
  const QString present = QStringLiteral(
      "p:kprobes/same libc:read a=%si\np:kprobes/mine libc:read a=%di\np:kprobes/gone libc:close\np:others/theirs "
      "libc:close\n");
  const auto plan = planApply(text, checked, present, {QStringLiteral("kprobes/mine"), QStringLiteral("kprobes/gone")});
  const auto kind = [&](const QString& name) { return std::ranges::find(plan, name, &PlanStep::name)->kind; };
  EXPECT_EQ(kind(QStringLiteral("kprobes/new")), PlanStep::Kind::Add);
  EXPECT_EQ(kind(QStringLiteral("kprobes/same")), PlanStep::Kind::Keep);
  EXPECT_EQ(kind(QStringLiteral("kprobes/mine")), PlanStep::Kind::Change);
  EXPECT_EQ(kind(QStringLiteral("kprobes/gone")), PlanStep::Kind::Remove);
  EXPECT_EQ(kind(QStringLiteral("others/theirs")), PlanStep::Kind::Foreign);
  EXPECT_TRUE(hasConflict(planApply(text, checked, present, {})));
}

TEST_F(GuiModel, SessionsComeBackAsTheyWere) {
  Session s;
  s.trace = QStringLiteral("/tmp/a.dat");
  s.probes = QStringLiteral("p:op libc:open64\n");
  s.markers = {{~0ull - 1, QStringLiteral("A"), QStringLiteral("note")}};
  s.plotted_fields = {{QStringLiteral("kprobes/op"), QStringLiteral("count")}};
  s.range_ns = {1, 1ull << 60};
  s.lane_order = {QStringLiteral("task:9")};
  s.pinned_lanes = {QStringLiteral("cpu:1")};
  s.directory = QStringLiteral("/tmp/t");
  s.pid = 7;
  s.workspace = "live";
  s.arrangements = {{"live", "\x01\x02"}, {"analyse", "\x03"}};
  const auto back = fromJson(toJson(s));
  ASSERT_TRUE(back);
  EXPECT_EQ(toJson(*back), toJson(s));
  EXPECT_EQ(back->markers[0].ns, ~0ull - 1);
  for (const char* broken : {"", "{", "[]", "{\"kevs\":", "{\"a\":1}"}) EXPECT_FALSE(fromJson(broken)) << broken;
  EXPECT_TRUE(fromJson("{\"kevs\":1,\"markers\":7,\"fields\":[3],\"window_ns\":\"x\"}"));
}

TEST_F(GuiModel, RowsAreAProperModelWhileTheyGrow) {
  const auto format = record::parse_format("kprobes", kFormat);
  ASSERT_TRUE(format);
  TraceDocument document;
  EventRows rows(document);
  const QAbstractItemModelTester tester(&rows, QAbstractItemModelTester::FailureReportingMode::Fatal);
  document.beginLive(QStringLiteral("test"));
  document.showLive(trace(20, *format), nullptr);
  EXPECT_EQ(rows.rowCount(), 20);
  document.showLive(trace(50, *format), nullptr);
  EXPECT_EQ(rows.rowCount(), 50);
  EXPECT_EQ(rows.columnCount(), EventRows::FixedColumns + 1);
  EXPECT_EQ(rows.headerData(EventRows::FixedColumns, Qt::Horizontal, Qt::DisplayRole).toString(),
            QStringLiteral("count"));
  EXPECT_EQ(rows.data(rows.index(3, EventRows::FixedColumns), Qt::DisplayRole).toString(), QStringLiteral("30"));

  FilterMistake mistake;
  ASSERT_TRUE(rows.setFilter(QStringLiteral("count > 200 && common_pid == 7"), mistake));
  ASSERT_TRUE(QTest::qWaitFor([&] { return !rows.isBusy(); }, 20000));
  EXPECT_EQ(rows.rowCount(), 10);
  EXPECT_EQ(rows.rowAt(0), 21u);
  EXPECT_EQ(rows.positionOf(24), 1);
  document.showLive(trace(60, *format), nullptr);
  ASSERT_TRUE(QTest::qWaitFor([&] { return rows.rowCount() == 13; }, 20000));

  EXPECT_FALSE(rows.setFilter(QStringLiteral("nothing > 3"), mistake));
  EXPECT_EQ(mistake.text, QStringLiteral("Field not found"));
  ASSERT_TRUE(rows.setFilter(QString(), mistake));
  EXPECT_EQ(rows.rowCount(), 60);
  rows.sort(EventRows::FixedColumns, Qt::DescendingOrder);
  ASSERT_TRUE(QTest::qWaitFor([&] { return !rows.isBusy(); }, 20000));
  EXPECT_EQ(rows.rowAt(0), 59u);
  document.close();
  EXPECT_EQ(rows.rowCount(), 0);
}

TEST_F(GuiModel, LanesOfATrace) {
  const auto format = record::parse_format("kprobes", kFormat);
  ASSERT_TRUE(format);
  const record::StoreView view = trace(30, *format);
  LanePrefs wishes;
  wishes.fields.emplace_back(QStringLiteral("kprobes/open"), QStringLiteral("count"));
  QStringList names;
  for (const Lane& lane : lanesOf(view, wishes)) names.append(lane.name(view.names()));
  EXPECT_EQ(names.join(QLatin1Char(' ')), QStringLiteral("group:1 cpu:0 cpu:1 group:2 task:7 task:8 task:9 group:3 "
                                                         "event:kprobes/open group:4 field:kprobes/open:count"));
  wishes.collapsed = {Lane::Kind::Task};
  wishes.hidden = {QStringLiteral("cpu:1")};
  EXPECT_EQ(lanesOf(view, wishes).size(), 7u);
}

TEST_F(GuiModel, LanesAreMovedAndPinned) {
  const auto format = record::parse_format("kprobes", kFormat);
  ASSERT_TRUE(format);
  const record::StoreView view = trace(30, *format);
  LanePrefs wishes;
  wishes.order = {QStringLiteral("task:9"), QStringLiteral("task:7")};
  wishes.pinned = {QStringLiteral("cpu:1")};
  QStringList names;
  for (const Lane& lane : lanesOf(view, wishes)) names.append(lane.name(view.names()));
  EXPECT_EQ(names.join(QLatin1Char(' ')),
            QStringLiteral("group:5 cpu:1 group:1 cpu:0 group:2 task:9 task:7 task:8 group:3 event:kprobes/open"));
}

TEST_F(GuiModel, ASearchFindsPieceByPieceWhatTheFilterLeaves) {
  const auto format = record::parse_format("kprobes", kFormat);
  ASSERT_TRUE(format);
  TraceDocument document;
  EventRows rows(document);
  RecordSearch search(document, rows);
  document.beginLive(QStringLiteral("test"));
  document.showLive(trace(120'000, *format), nullptr);
  QString error;
  EXPECT_TRUE(search.start({QStringLiteral("COUNT=50 "), false, false}, error));
  ASSERT_TRUE(QTest::qWaitFor([&] { return !search.isBusy(); }, 60000));
  EXPECT_TRUE(search.hits().empty());  // nothing stands behind the number
  EXPECT_TRUE(search.start({QStringLiteral("COUNT=50$"), true, false}, error));
  ASSERT_TRUE(QTest::qWaitFor([&] { return !search.isBusy(); }, 60000));
  ASSERT_EQ(search.hits().size(), 1u);
  EXPECT_EQ(search.hits()[0], 5u);
  EXPECT_TRUE(search.start({QStringLiteral("COUNT=50$"), true, true}, error));
  ASSERT_TRUE(QTest::qWaitFor([&] { return !search.isBusy(); }, 60000));
  EXPECT_TRUE(search.hits().empty());
  EXPECT_FALSE(search.start({QStringLiteral("("), true, false}, error));
  EXPECT_FALSE(error.isEmpty());
  FilterMistake mistake;
  ASSERT_TRUE(rows.setFilter(QStringLiteral("count > 1199900"), mistake));
  EXPECT_TRUE(search.start({QStringLiteral("count=119"), false, true}, error));
  ASSERT_TRUE(QTest::qWaitFor([&] { return !search.isBusy(); }, 60000));
  EXPECT_EQ(search.hits().size(), 9u);
  EXPECT_EQ(search.next(search.hits().back()), search.hits().front());
  EXPECT_EQ(search.previous(search.hits().front()), search.hits().back());
  EXPECT_EQ(search.numberOf(search.hits()[3]), 4);
}

// Of most records no line is made; the same text as an expression is looked for in every line.
TEST_F(GuiModel, ASearchWithoutLinesFindsTheSame) {
  const auto format = record::parse_format("kprobes", kFormat);
  ASSERT_TRUE(format);
  TraceDocument document;
  EventRows rows(document);
  RecordSearch search(document, rows);
  document.beginLive(QStringLiteral("test"));
  document.showLive(trace(140'000, *format), nullptr);  // several chunks
  const auto found = [&](const QString& text, bool is_expression, bool minds_case) {
    QString error;
    EXPECT_TRUE(search.start({text, is_expression, minds_case}, error)) << text.toStdString();
    EXPECT_TRUE(QTest::qWaitFor([&] { return !search.isBusy(); }, 60000));
    return search.hits();
  };
  RowText lines(document.metadata());
  const std::string line = lines.line(document.view().typed(100'000)).toStdString();
  std::size_t hits = 0;
  for (const char* filter : {"", "count > 700000", "common_pid == 8"}) {
    FilterMistake mistake;
    ASSERT_TRUE(rows.setFilter(QString::fromLatin1(filter), mistake));
    for (const std::string& text :
         {std::string("count=77"), std::string("COUNT=77"), std::string("7 "), std::string("-8"),
          std::string("] ....."), std::string("nowhere"), line, line.substr(10, 30), line.substr(line.size() - 9),
          std::string("12345"), std::string("\xc3\xa4")}) {
      const QString shown = QString::fromStdString(text);
      for (const bool minds_case : {false, true}) {
        const auto by_lines = found(QRegularExpression::escape(shown), true, minds_case);
        EXPECT_EQ(found(shown, false, minds_case), by_lines) << text << ", filter " << filter;
        hits += by_lines.size();
      }
    }
  }
  EXPECT_GT(hits, 100'000u);
}

TEST_F(GuiModel, TheTreeOfEventsIsAProperModel) {
  EventTree tree;
  const QAbstractItemModelTester tester(&tree, QAbstractItemModelTester::FailureReportingMode::Fatal);
  LiveState state;
  state.events = {
      {.system = QStringLiteral("a"), .name = QStringLiteral("x"), .is_enabled = true, .hits = 5, .has_profile = true},
      {.system = QStringLiteral("a"), .name = QStringLiteral("y")},
      {.system = QStringLiteral("b"), .name = QStringLiteral("z")}};
  tree.take(state);
  ASSERT_EQ(tree.rowCount(), 2);
  EXPECT_EQ(tree.data(tree.index(0, 0), Qt::CheckStateRole).toInt(), Qt::PartiallyChecked);
  state.events[0].hits = 12;
  tree.take(state);
  EXPECT_EQ(
      tree.data(tree.find(QStringLiteral("a"), QStringLiteral("x")).siblingAtColumn(EventTree::Hits), Qt::DisplayRole)
          .toString(),
      QStringLiteral("12"));
  state.events.pop_back();
  tree.take(state);
  EXPECT_EQ(tree.rowCount(), 1);
  QString asked;
  QObject::connect(&tree, &EventTree::enableWanted,
                   [&](const QString& s, const QString& n, bool on) { asked = s + n + QString::number(on); });
  tree.setData(tree.index(0, 0), Qt::Checked, Qt::CheckStateRole);
  EXPECT_EQ(asked, QStringLiteral("a1"));
  tree.clear();
  EXPECT_EQ(tree.rowCount(), 0);
}

TEST_F(GuiModel, ABrokenFileSaysSo) {
  QTemporaryDir folder;
  const QString path = folder.filePath(QStringLiteral("broken.dat"));
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write("no recording at all");
  file.close();
  TraceDocument document;
  document.openFile(path);
  ASSERT_TRUE(QTest::qWaitFor([&] { return document.state() == TraceDocument::State::Loaded; }, 20000));
  EXPECT_EQ(document.problems().size(), 1);
}

// A recording that breaks off shows its records, and where it broke.
TEST_F(GuiModel, ATruncatedRecordingShowsWhatCouldBeRead) {
  const auto format = record::parse_format("kprobes", kFormat);
  ASSERT_TRUE(format);
  record::Metadata metadata;
  metadata.cpus = 2;
  const record::EventFormat& event = metadata.formats.add(*format);
  QTemporaryDir folder;
  const QString path = folder.filePath(QStringLiteral("cut.dat"));
  {
    auto writer = record::create_recording(record::FileFormat::Dat, path.toStdString(), metadata);
    ASSERT_TRUE(writer) << writer.error().message();
    const record::StoreView view = trace(20'000, event);
    for (record::Row row = 0; row < view.rows(); ++row) {
      record::TypedRecord record = view.typed(row);
      record.event = &event;
      const auto added = (*writer)->add(record);
      ASSERT_TRUE(added) << added.error().message();
    }
    ASSERT_TRUE((*writer)->finish());
  }
  QFile file(path);
  ASSERT_TRUE(file.resize(file.size() * 2 / 3));
  TraceDocument document;
  document.openFile(path);
  ASSERT_TRUE(QTest::qWaitFor([&] { return document.state() == TraceDocument::State::Loaded; }, 20000));
  EXPECT_GT(document.view().rows(), 5'000u);
  EXPECT_LT(document.view().rows(), 20'000u);
  ASSERT_FALSE(document.problems().isEmpty());
  EXPECT_TRUE(
      document.problems().join(QLatin1Char(' ')).contains(QRegularExpression(QStringLiteral("byte|offset|\\d{4}"))))
      << qPrintable(document.problems().join(QLatin1Char('\n')));
}

TEST_F(GuiModel, TimesReadWell) {
  EXPECT_EQ(absoluteTime(5'070'441'498'000), QStringLiteral("5070.441498000"));
  EXPECT_EQ(duration(1500).remove(QChar(0x202f)), QStringLiteral("1.500µs"));
  EXPECT_EQ(duration(2.5e9).remove(QChar(0x202f)), QStringLiteral("2.500s"));
  EXPECT_EQ(grouped(1234567).remove(QChar(0x202f)), QStringLiteral("1234567"));
}

}  // namespace
}  // namespace kevt::gui
