#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "grammar/parse.h"
#include "grammar/parse_trigger_hist.h"

namespace kevt::grammar {
namespace {

using diag::Kind;
using model::TriggerKind;
using model::TriggerSpec;

TriggerSpec taken(std::string_view text) {
  diag::Sink sink;
  const auto spec = parse_trigger(text, sink);
  EXPECT_TRUE(spec) << text << ": " << (sink.empty() ? "" : sink.diagnostics()[0].detail);
  return spec.value_or(TriggerSpec{});
}

diag::Diagnostic refused(std::string_view text) {
  diag::Sink sink;
  EXPECT_FALSE(parse_trigger(text, sink)) << text;
  EXPECT_EQ(sink.diagnostics().size(), 1U) << text;
  EXPECT_EQ(sink.diagnostics()[0].errno_value, EINVAL) << text;
  return sink.diagnostics()[0];
}

void expect_refused(std::string_view text, Kind kind, std::uint32_t column) {
  const diag::Diagnostic diagnostic = refused(text);
  EXPECT_EQ(diag::kind_name(diagnostic.kind), diag::kind_name(kind)) << text;
  EXPECT_EQ(diagnostic.column, column) << text;
}

TEST(TriggerParser, SimpleCommands) {
  EXPECT_EQ(taken("traceon\n").kind, TriggerKind::TraceOn);
  EXPECT_EQ(taken("traceoff").kind, TriggerKind::TraceOff);
  EXPECT_EQ(taken("snapshot").kind, TriggerKind::Snapshot);
  EXPECT_EQ(taken(" stacktrace ").kind, TriggerKind::Stacktrace);
  EXPECT_EQ(taken("traceon:").count, std::nullopt);
  EXPECT_EQ(taken("traceoff:5").count, 5U);
  EXPECT_EQ(taken("traceoff: 0x10").count, 16U);
  EXPECT_EQ(taken("traceoff:1:2").count, 1U);
  EXPECT_EQ(taken("stacktrace 0").count, 0U);
}

TEST(TriggerParser, Filters) {
  EXPECT_EQ(taken("traceoff:5 if  a > 3:4").filter, " a > 3:4");
  EXPECT_EQ(taken("traceoff if\ta > 3").filter, "a > 3");
  EXPECT_EQ(taken("traceoff:if a > 3").filter, "a > 3");
  EXPECT_EQ(taken("traceoff if if == 3").filter, "if == 3");
  const TriggerSpec spec = taken("snapshot:5 if !hist ~ 'x'");
  EXPECT_EQ(spec.filter_span, (model::Span{14, 25}));
  EXPECT_EQ(spec.command.substr(spec.filter_span.begin), *spec.filter);
}

TEST(TriggerParser, Switches) {
  const TriggerSpec spec = taken("enable_event:sched:sched_switch:3 if a == 1");
  EXPECT_EQ(spec.kind, TriggerKind::EnableEvent);
  EXPECT_EQ(spec.target_system, "sched");
  EXPECT_EQ(spec.target_event, "sched_switch");
  EXPECT_EQ(spec.count, 3U);
  EXPECT_EQ(spec.filter, "a == 1");
  EXPECT_EQ(taken("disable_event sched:hist").target_event, "hist");
  EXPECT_EQ(taken("enable_hist:a:if").target_event, "if");
  EXPECT_EQ(taken("disable_hist:a:b:1:junk").kind, TriggerKind::DisableHist);
}

TEST(TriggerParser, RemovalIgnoresCountAndFilter) {
  EXPECT_TRUE(taken("!traceoff").remove);
  EXPECT_TRUE(taken("!traceoff:x if (").remove);
  const TriggerSpec spec = taken("!enable_event:a:b:x if");
  EXPECT_TRUE(spec.remove);
  EXPECT_EQ(spec.target_event, "b");
  EXPECT_EQ(spec.filter, std::nullopt);
}

TEST(TriggerParser, HistogramsAreCutIntoParts) {
  const TriggerSpec spec = taken(
      "hist: key=pid.hex,comm:values=n:x=common_timestamp.usecs-$t0,y=1:sort=n.descending:size=256:name=h:clock=mono:"
      "continue:onmatch(a.b).tsyn( x , y ):onmax($x).save(n) if pid > 3");
  ASSERT_EQ(spec.hist.size(), 10U);
  EXPECT_EQ(spec.hist[0].name, "keys");
  EXPECT_EQ(spec.hist[0].text, "pid.hex,comm");
  EXPECT_EQ(spec.hist[0].span, (model::Span{6, 22}));
  EXPECT_EQ(spec.hist[1].name, "vals");
  EXPECT_EQ(spec.hist[2].name, "var");
  EXPECT_EQ(spec.hist[2].text, "x=common_timestamp.usecs-$t0,y=1");
  EXPECT_EQ(spec.hist[7].name, "cont");
  EXPECT_EQ(spec.hist[8].name, "onmatch");
  EXPECT_EQ(spec.hist[8].text, "onmatch(a.b).tsyn( x , y )");
  EXPECT_EQ(spec.hist[9].name, "onmax");
  EXPECT_EQ(spec.filter, "pid > 3");
}

TEST(TriggerParser, RefusesWithKindAndColumn) {
  expect_refused("", Kind::TriggerUnknown, 0);
  expect_refused("nope:5", Kind::TriggerUnknown, 0);
  expect_refused("!nope", Kind::TriggerUnknown, 1);
  expect_refused("!!traceon", Kind::TriggerUnknown, 1);
  expect_refused("traceon\ntraceoff", Kind::TriggerUnknown, 0);
  expect_refused("traceon:5x", Kind::TriggerBadCount, 8);
  expect_refused("traceon:-1", Kind::TriggerSyntax, 8);
  expect_refused("stacktrace i == 1", Kind::TriggerSyntax, 11);
  expect_refused("stacktrace:5 i == 1", Kind::TriggerBadFilter, 13);
  expect_refused("snapshot if ", Kind::TriggerBadFilter, 11);
  expect_refused("enable_event", Kind::TriggerSyntax, 12);
  expect_refused("enable_event::tb", Kind::TriggerBadEvent, 13);
  expect_refused("enable_event:uprobes/tb", Kind::TriggerBadEvent, 23);
  expect_refused("enable_event:a:b:", Kind::TriggerBadCount, 17);
  expect_refused("enable_event:a:b:x", Kind::TriggerBadCount, 17);
  expect_refused("enable_event:a:b: 5", Kind::TriggerBadCount, 17);
  expect_refused("hist:", Kind::HistSyntax, 5);
  expect_refused("hist:vals=v", Kind::HistKeysMissing, 5);
  expect_refused("hist:keys=i:", Kind::HistSyntax, 12);
  expect_refused("hist:keys=i::vals=v", Kind::HistSyntax, 12);
  expect_refused("hist:keys=i:nope", Kind::HistSyntax, 12);
  expect_refused("hist:keys=i:size=64", Kind::HistSyntax, 12);
  expect_refused("hist:keys=i if", Kind::TriggerBadFilter, 14);
}

TEST(TriggerParser, EmptyAssignmentIsLoggedAsTheKernelDoes) {
  const diag::Diagnostic diagnostic = refused("hist: keys=i:vals= ");
  EXPECT_EQ(diagnostic.kind, Kind::HistEmptyAssignment);
  EXPECT_TRUE(diagnostic.logged);
  EXPECT_EQ(diagnostic.location, diag::Location::Hist);
  EXPECT_EQ(diagnostic.command, "hist:keys=i:vals=");
  EXPECT_EQ(diagnostic.column, 12U);
}

TEST(TriggerParser, AMistakeToTheLeftOfAnEmptyPartIsFoundFirst) {
  EXPECT_EQ(refused("hist:vals=:keys=i::").kind, Kind::HistEmptyAssignment);
  EXPECT_EQ(refused("hist:keys=i::vals=").kind, Kind::HistSyntax);
}

TEST(TriggerParser, NumbersOfTooManyDigitsAreOutOfRange) {
  const auto errno_of = [](std::string_view text) {
    diag::Sink sink;
    EXPECT_FALSE(parse_trigger(text, sink)) << text;
    return sink.diagnostics().front().errno_value;
  };
  EXPECT_EQ(errno_of("traceoff:99999999999999999999"), ERANGE);
  EXPECT_EQ(errno_of("hist:keys=i:size=99999999999999999999"), ERANGE);
  EXPECT_EQ(errno_of("hist:keys=i:size=4294967296"), EINVAL);
}

TEST(TriggerParser, MisplacedIfHidesOtherMistakes) {
  EXPECT_EQ(refused("hist:if=:keys=i").kind, Kind::TriggerBadFilter);
  EXPECT_EQ(refused("hist:keys=i:x= ifx").kind, Kind::TriggerBadFilter);
  EXPECT_EQ(taken("hist:keys=i ifxy").hist[0].text, "i ifxy");
  EXPECT_EQ(taken("hist:keys=ifx").hist[0].text, "ifx");
}

TEST(TriggerParser, PartsHaveLimits) {
  std::string text = "hist:keys=i";
  for (int i = 0; i < 8; ++i) text += ":onmax($x).save(vv)";
  EXPECT_EQ(taken(text).hist.size(), 9U);
  EXPECT_EQ(refused(text + ":onmax($x).save(vv)").kind, Kind::HistTooManyActions);
  text = "hist:keys=i";
  for (int i = 0; i < 16; ++i) text += ":x" + std::to_string(i) + "=v";
  EXPECT_EQ(taken(text).hist.size(), 17U);
  const diag::Diagnostic diagnostic = refused(text + ":y=v");
  EXPECT_EQ(diagnostic.kind, Kind::HistTooManyVars);
  EXPECT_EQ(diagnostic.column, text.size() + 1);
}

TEST(TriggerParser, DetailSaysWhatHelps) {
  EXPECT_NE(refused("tracon").detail.find("known: traceon"), std::string::npos);
  EXPECT_EQ(refused("snapshot i").detail, "parameters or `if FILTER` were expected");
}

}  // namespace
}  // namespace kevt::grammar
