#include "compiler/diag/diagnostic.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>

namespace kevt::diag {
namespace {

Diagnostic bad_register() {
  return {.kind = Kind::BadRegName,
          .location = Location::Kprobe,
          .command = "p vfs_read %none_reg",
          .column = 11,
          .errno_value = EINVAL};
}

TEST(Diagnostic, RowsHaveTheKernelsIdentifierAndText) {
  EXPECT_EQ(kind_name(Kind::BadFetchArg), "BadFetchArg");
  EXPECT_EQ(kernel_id(Kind::BadFetchArg), "BAD_FETCH_ARG");
  EXPECT_EQ(kernel_text(Kind::BadFetchArg), "Invalid fetch argument");
  EXPECT_EQ(kernel_text(Kind::ImmstrNoClose), "String is not closed with '\"'");
  EXPECT_EQ(kernel_id(Kind::UnsupportedForm), "");
}

TEST(Diagnostic, NamesAreUniqueAndTextsAreThere) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kind_count(); ++i) {
    const auto kind = static_cast<Kind>(i);
    EXPECT_TRUE(names.insert(kind_name(kind)).second) << kind_name(kind);
    EXPECT_FALSE(kernel_text(kind).empty()) << kind_name(kind);
  }
}

TEST(Sink, KeepsTheKernelsOrder) {
  Sink sink;
  Diagnostic late = bad_register();
  late.order = 20;
  Diagnostic early = bad_register();
  early.kind = Kind::BadProbeAddr;
  early.order = 10;
  Diagnostic second = bad_register();
  second.kind = Kind::BadVar;
  second.order = 20;
  sink.report(late);
  sink.report(early);
  sink.report(second);
  ASSERT_EQ(sink.diagnostics().size(), 3u);
  EXPECT_EQ(sink.diagnostics()[0].kind, Kind::BadProbeAddr);
  EXPECT_EQ(sink.diagnostics()[1].kind, Kind::BadRegName);
  EXPECT_EQ(sink.diagnostics()[2].kind, Kind::BadVar);
}

TEST(RenderText, ShowsPlaceTextCaretAndNotes) {
  Diagnostic diagnostic = bad_register();
  diagnostic.detail = "`none_reg`";
  diagnostic.notes.push_back({"use `%di`"});
  EXPECT_EQ(render_text(diagnostic, "x.kev", 3, Color::Off),
            "x.kev:3:12: error: Invalid register name: `none_reg`   [trace_kprobe: BAD_REG_NAME]\n"
            "  p vfs_read %none_reg\n"
            "             ^\n"
            "  note: use `%di`\n");
}

TEST(RenderText, KindsOfOurOwnAreTaggedByName) {
  Diagnostic diagnostic = bad_register();
  diagnostic.kind = Kind::UnsupportedForm;
  diagnostic.column.reset();
  EXPECT_EQ(render_text(diagnostic, "-", 0, Color::Off),
            "-: error: this form is not supported   [UnsupportedForm]\n  p vfs_read %none_reg\n");
}

TEST(RenderText, ColorsOnRequest) {
  EXPECT_NE(render_text(bad_register(), "-", 1, Color::On).find("\x1b[1;31merror:"), std::string::npos);
}

TEST(RenderKernel, IsAnErrorLogEntry) {
  EXPECT_EQ(render_kernel(bad_register(), 12, 34),
            "[   12.000034] trace_kprobe: error: Invalid register name\n"
            "  Command: p vfs_read %none_reg\n"
            "                      ^\n");
}

TEST(RenderKernel, OfAHistogramNamesItsEvent) {
  Diagnostic diagnostic = bad_register();
  diagnostic.location = Location::Hist;
  diagnostic.event = "kprobes:op";
  EXPECT_TRUE(render_kernel(diagnostic, 12, 34).starts_with("[   12.000034] hist:kprobes:op: error: Invalid register"));
}

}  // namespace
}  // namespace kevt::diag
