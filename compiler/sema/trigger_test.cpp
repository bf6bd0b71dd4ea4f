#include "compiler/sema/trigger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "compiler/target/fixed_target.h"
#include "grammar/parse.h"

namespace kevt::sema {
namespace {

using diag::Kind;
using model::EventName;
using testing::ElementsAre;

model::RecordField number_field(std::string name, model::TypeKind kind, std::uint8_t bytes) {
  model::RecordField field{.name = std::move(name)};
  field.type.kind = kind;
  field.type.bytes = bytes;
  field.size = bytes;
  field.is_signed = kind == model::TypeKind::Signed;
  return field;
}

target::CatalogEntry probe(std::string event) {
  target::CatalogEntry entry{.group = "g", .event = std::move(event), .owner = target::EventOwner::Uprobe};
  entry.layout.fields = {number_field("id", model::TypeKind::Signed, 4),
                         number_field("val", model::TypeKind::Unsigned, 8)};
  model::RecordField text = number_field("name", model::TypeKind::String, 4);
  entry.layout.fields.push_back(text);
  return entry;
}

target::CatalogEntry synthetic() {
  target::CatalogEntry entry{.group = "synthetic", .event = "syn", .owner = target::EventOwner::Synthetic};
  entry.layout.fields = {number_field("lat", model::TypeKind::Unsigned, 8)};
  entry.layout.fields[0].type.text = "u64";
  return entry;
}

// Events g:a and g:b(id s32, val u64, name text) and synthetic:syn(lat u64).
class Triggers : public testing::Test {
 protected:
  Triggers() {
    catalog_.add(probe("a"));
    catalog_.add(probe("b"));
    catalog_.add(synthetic());
  }

  // 0, or what write(2) answers; `mistakes_` and `steps_` are of the last one.
  int write(std::string_view event, std::string_view text) {
    diag::Sink sink;
    steps_.clear();
    const auto spec = grammar::parse_trigger(text, sink, dialect_);
    const TriggerWorld world{.catalog = catalog_, .table = table_, .dialect = dialect_};
    const auto change = spec ? check_trigger(*spec, name(event), world, sink) : std::nullopt;
    mistakes_ = sink.take();
    if (!change) return mistakes_.front().errno_value;
    EXPECT_TRUE(mistakes_.empty()) << text;
    steps_ = change->steps;
    for (const TriggerStep& step : steps_) table_.apply(step);
    return 0;
  }

  std::string read(std::string_view event) const { return trigger_file_text(table_.of(name(event))); }
  const model::Histogram& only_histogram(std::string_view event) const {
    return table_.of(name(event)).front().histogram;
  }
  std::vector<Kind> kinds() const {
    std::vector<Kind> kinds;
    for (const diag::Diagnostic& mistake : mistakes_) kinds.push_back(mistake.kind);
    return kinds;
  }

  static EventName name(std::string_view event) { return {"g", std::string(event)}; }

  target::FixedCatalog catalog_;
  TriggerTable table_;
  dialect::Dialect dialect_ = dialect::Dialect::superset();
  std::vector<TriggerStep> steps_;
  std::vector<diag::Diagnostic> mistakes_;
};

TEST_F(Triggers, ARefusedOneLeavesTheTableAsItWas) {
  EXPECT_EQ(write("a", "traceoff"), 0);
  const std::string before = read("a");
  EXPECT_EQ(write("a", "traceon"), EEXIST);
  EXPECT_EQ(write("a", "stacktrace if (id == 1"), ENOENT);
  EXPECT_EQ(write("a", "hist:keys=id:onmatch(g.b).syn(nope)"), EINVAL);
  EXPECT_EQ(read("a"), before);
  EXPECT_EQ(read("b"), trigger_file_text({}));
}

// What a kernel makes of a C string.
TEST_F(Triggers, TextEndsAtANulByte) {
  EXPECT_EQ(write("a", std::string_view("traceoff:3\0:nonsense", 20)), 0);
  EXPECT_EQ(write("a", std::string_view("hist:keys=id\0:vals=nope", 23)), 0);
  EXPECT_THAT(read("a"), testing::HasSubstr("traceoff:count=3\nhist:keys=id:vals=hitcount:sort=hitcount:size=2048"));
  EXPECT_EQ(write("b", std::string_view("trace\0on", 8)), EINVAL);
}

TEST_F(Triggers, FiltersAreBoundToTheEvent) {
  EXPECT_EQ(write("a", "stacktrace:3 if id == 1"), 0);
  const model::Trigger& trigger = table_.of(name("a")).front();
  ASSERT_TRUE(trigger.condition);
  EXPECT_EQ(trigger.condition->predicate.source, model::FilterOperand::RecordField);
  EXPECT_EQ(trigger.count, 3U);
  EXPECT_EQ(write("a", "snapshot if nope == 1"), EINVAL);
  EXPECT_EQ(mistakes_.front().kind, Kind::FilterFieldNotFound);
  EXPECT_TRUE(mistakes_.front().logged);  // as newer kernels do; 6.1 does not
}

TEST_F(Triggers, RemovingWhatIsNotThereDoesNothing) {
  EXPECT_EQ(write("a", "!traceoff"), 0);
  EXPECT_TRUE(steps_.empty());
  EXPECT_EQ(write("a", "!hist:keys=id"), 0);
  EXPECT_TRUE(steps_.empty());
}

TEST_F(Triggers, ExpressionsAreTreesFromTheLeft) {
  EXPECT_EQ(write("a", "hist:keys=id:x=val-id*2-1,y=14-7-5"), 0);
  const auto& variables = only_histogram("a").variables;
  ASSERT_EQ(variables.size(), 2U);
  const model::HistField& last = variables[0].value;
  EXPECT_EQ(last.op, model::HistOperator::Minus);
  EXPECT_EQ(last.operands[1].constant, 1U);
  EXPECT_EQ(last.operands[0].op, model::HistOperator::Minus);
  EXPECT_EQ(last.operands[0].operands[1].op, model::HistOperator::Multiply);
  EXPECT_EQ(variables[1].value.source, model::HistSource::Constant);
  EXPECT_EQ(variables[1].value.constant, 2U);
}

TEST_F(Triggers, VariablesAreResolvedToTheirHistogram) {
  EXPECT_EQ(write("a", "hist:keys=id:t=val,u=id"), 0);
  EXPECT_EQ(write("b", "hist:keys=id:d=val-$u"), 0);
  const auto& references = only_histogram("b").references;
  ASSERT_EQ(references.size(), 1U);
  EXPECT_EQ(references[0].histogram, only_histogram("a").id);
  EXPECT_EQ(references[0].variable, 1U);
  EXPECT_EQ(write("a", "!hist:keys=id:t=val,u=id"), EBUSY);
  EXPECT_EQ(write("b", "!hist:keys=id:d=val-$u"), 0);
  EXPECT_EQ(write("a", "!hist:keys=id:t=val,u=id"), 0);
}

TEST_F(Triggers, AllEntriesOfAMistakeAreReportedTheNewestFirst) {
  EXPECT_EQ(write("a", "hist:keys=id:x=val:onmax($x).save(val)"), 0);
  EXPECT_EQ(write("a", "hist:keys=val:y=val:onmax($y).save(nope)"), EINVAL);
  EXPECT_THAT(kinds(), ElementsAre(Kind::HistFieldVarCreateFail, Kind::HistFieldVarParseFail, Kind::HistFieldNotFound));
  EXPECT_EQ(mistakes_[0].command, "hist:keys=val:y=val:onmax($y).save(nope)");
  EXPECT_EQ(mistakes_[0].column, 35U);
}

TEST_F(Triggers, HelpersComeAndGoWithTheirOwner) {
  EXPECT_EQ(write("b", "hist:keys=id"), 0);
  EXPECT_EQ(write("a", "hist:keys=id:onmatch(g.b).syn(g.b.val)"), 0);
  EXPECT_EQ(steps_.size(), 2U);
  EXPECT_EQ(table_.of(name("b")).size(), 2U);
  EXPECT_EQ(table_.of(name("b"))[1].histogram.variables[0].name, "synthetic_val");
  EXPECT_EQ(write("a", "!hist:keys=id:onmatch(g.b).syn(g.b.val)"), 0);
  EXPECT_EQ(table_.of(name("b")).size(), 1U);
}

TEST_F(Triggers, OneNameIsOneHistogram) {
  EXPECT_EQ(write("a", "hist:name=n:keys=id"), 0);
  EXPECT_EQ(write("b", "hist:name=n:keys=id if val > 1"), 0);
  EXPECT_EQ(only_histogram("a").id, only_histogram("b").id);
  EXPECT_NE(table_.of(name("a")).front().id, table_.of(name("b")).front().id);
  EXPECT_EQ(write("b", "hist:name=n:keys=val"), EINVAL);
  EXPECT_THAT(kinds(), ElementsAre(Kind::HistNamedMismatch));
}

TEST_F(Triggers, PauseContinueAndClearAreSteps) {
  EXPECT_EQ(write("a", "hist:keys=id:pause"), 0);
  EXPECT_EQ(table_.of(name("a")).front().state, model::HistState::Paused);
  EXPECT_EQ(write("a", "hist:keys=id:continue"), 0);
  EXPECT_EQ(table_.of(name("a")).front().state, model::HistState::Active);
  EXPECT_EQ(write("a", "hist:keys=id:clear"), 0);
  ASSERT_EQ(steps_.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<ClearHist>(steps_[0]));
  EXPECT_EQ(write("a", "hist:keys=val:clear"), ENOENT);
}

TEST_F(Triggers, TruncationTakesHistogramsAndTheirSwitches) {
  EXPECT_EQ(write("a", "traceoff"), 0);
  EXPECT_EQ(write("a", "hist:keys=id"), 0);
  EXPECT_EQ(write("a", "enable_hist:g:b"), 0);
  EXPECT_EQ(write("a", "enable_event:g:b"), 0);
  for (const TriggerStep& step : truncate_triggers(name("a"), table_)) table_.apply(step);
  EXPECT_EQ(read("a"), "enable_event:g:b:unlimited\ntraceoff:unlimited\n");
}

// A listing without its state can be written again, unless it sorts by a column with a modifier: `sort=` shows
// that modifier, and does not take it.
TEST_F(Triggers, ListingsOfHistogramsReadBack) {
  for (const std::string text :
       {"hist:keys=id,common_pid.execname:vals=val:x=val*2,y=$x+1:sort=val.descending,id:size=256",
        "hist:keys=common_timestamp.log2:clock=mono if id > 1", "hist:name=n:keys=val.buckets=4,cpu:vals=id,val-1",
        "hist:keys=name,stacktrace:m=val:onmax($m).save(id,common_pid.execname):onchange($m).syn(val)"}) {
    table_ = {};
    ASSERT_EQ(write("a", text), 0) << text;
    const std::string listed = read("a");
    table_ = {};
    ASSERT_EQ(write("a", listed.substr(0, listed.rfind(" ["))), 0) << listed;
    EXPECT_EQ(read("a"), listed);
  }
}

TEST_F(Triggers, LogLinearKeysAreNoKernels) {
  ASSERT_EQ(write("a", "hist:keys=val.loglinear,id"), 0);
  EXPECT_EQ(read("a"), "hist:keys=val.loglinear,id:vals=hitcount:sort=hitcount:size=2048 [active]\n");
  EXPECT_EQ(write("a", "hist:keys=id:vals=val.loglinear"), EINVAL);
  dialect_ = dialect::Dialect::extended(dialect::Kernel::Linux6_1);
  EXPECT_EQ(write("b", "hist:keys=val.loglinear"), 0);
  dialect_ = dialect::Dialect::of(dialect::Kernel::Newest);
  EXPECT_EQ(write("a", "hist:keys=val.loglinear"), EINVAL);
  EXPECT_EQ(mistakes_.front().kind, diag::Kind::HistBadFieldModifier);
}

TEST_F(Triggers, FullStacksAreNoKernels) {
  for (const char* const text : {"hist:keys=id,stacktrace.full", "hist:keys=id,common_stacktrace.full"}) {
    SCOPED_TRACE(text);
    ASSERT_EQ(write("a", text), 0);
    EXPECT_EQ(read("a"), "hist:keys=id,common_stacktrace.full:vals=hitcount:sort=hitcount:size=2048 [active]\n");
    EXPECT_EQ(only_histogram("a").keys[1].bytes, 127u * 8);
    EXPECT_EQ(write("a", "!hist:keys=id,common_stacktrace.full"), 0);
  }
  for (const char* const text : {"hist:keys=id.full", "hist:keys=nosuch.full", "hist:keys=stacktrace.full.full",
                                 "hist:keys=id:vals=stacktrace.full"})
    EXPECT_EQ(write("a", text), EINVAL) << text;
  dialect_ = dialect::Dialect::of(dialect::Kernel::Newest);
  EXPECT_EQ(write("a", "hist:keys=stacktrace.full"), EINVAL);
  EXPECT_EQ(mistakes_.front().kind, diag::Kind::HistBadFieldModifier);
}

TEST_F(Triggers, TopKeysAreNoKernels) {
  ASSERT_EQ(write("a", "hist:keys=id:size=256:top=10"), 0);
  const std::string listed = read("a");
  EXPECT_EQ(listed, "hist:keys=id:vals=hitcount:sort=hitcount.descending:size=256:top=10 [active]\n");
  EXPECT_EQ(write("a", listed.substr(0, listed.rfind(" ["))), EEXIST);
  EXPECT_EQ(write("a", "hist:keys=id:top=11:sort=id"), 0) << "another one";
  EXPECT_EQ(write("a", "!" + listed.substr(0, listed.rfind(" ["))), 0);
  EXPECT_EQ(read("a"), "hist:keys=id:vals=hitcount:sort=id:size=2048:top=11 [active]\n");
  for (const std::string wrong : {"hist:keys=id:top=2048", "hist:keys=id:size=128:top=128", "hist:keys=id:top=5:x=val",
                                  "hist:keys=id:top=5:m=val:onmax($m).save(val)", "hist:keys=id:top=5:drop"}) {
    EXPECT_EQ(write("b", wrong), EINVAL) << wrong;
    EXPECT_EQ(mistakes_.front().kind, diag::Kind::HistBadTop) << wrong;
  }
  // What is no number of keys is a variable, as in a kernel.
  EXPECT_EQ(write("b", "hist:keys=id:top=val"), 0);
  EXPECT_EQ(read("b"), "hist:keys=id:vals=hitcount:top=val:sort=hitcount:size=2048 [active]\n");
  dialect_ = dialect::Dialect::extended(dialect::Kernel::Linux6_1);
  EXPECT_EQ(write("b", "hist:keys=id:top=10:size=128"), 0);
  table_ = {};
  dialect_ = dialect::Dialect::of(dialect::Kernel::Newest);
  EXPECT_EQ(write("b", "hist:keys=id:top=10"), 0) << "a variable";
  EXPECT_EQ(only_histogram("b").top, 0u);
}

TEST_F(Triggers, DroppingIsNoKernels) {
  ASSERT_EQ(write("a", "hist:keys=id:size=256:drop"), 0);
  const std::string listed = read("a");
  EXPECT_EQ(listed, "hist:keys=id:vals=hitcount:sort=hitcount:size=256:drop [active]\n");
  EXPECT_EQ(write("a", "hist:keys=id:size=256"), 0) << "another one";
  EXPECT_EQ(write("a", "!" + listed.substr(0, listed.rfind(" ["))), 0);
  EXPECT_EQ(read("a"), "hist:keys=id:vals=hitcount:sort=hitcount:size=256 [active]\n");
  dialect_ = dialect::Dialect::of(dialect::Kernel::Newest);
  EXPECT_EQ(write("b", "hist:keys=id:drop"), EINVAL);
}

TEST_F(Triggers, StatisticsOfValuesAreNoKernels) {
  const std::string text = "hist:keys=id:vals=val.min,val.max,val.avg,val:sort=val.max.descending,val";
  ASSERT_EQ(write("a", text), 0);
  const std::string listed = read("a");
  EXPECT_EQ(listed,
            "hist:keys=id:vals=hitcount,val.min,val.max,val.avg,val:sort=val.max.descending,val.min:size=2048 "
            "[active]\n");
  ASSERT_EQ(write("a", "!" + listed.substr(0, listed.rfind(" ["))), 0);
  ASSERT_EQ(write("a", listed.substr(0, listed.rfind(" ["))), 0);
  EXPECT_EQ(read("a"), listed);
  // A name alone is the first column of it; keys, parts of expressions and variables have none.
  for (const std::string wrong :
       {"hist:keys=id.max", "hist:keys=id:vals=val.max-1", "hist:keys=id:x=val.max",
        "hist:keys=id:vals=val.max:sort=val.min", "hist:keys=id:vals=val:sort=val.max", "hist:keys=id:vals=val,val,val",
        "hist:keys=id:vals=val.max,val,val,val,val,val,val,val,val"})
    EXPECT_EQ(write("b", wrong), EINVAL) << wrong;
  EXPECT_EQ(write("b", "hist:keys=id:vals=val,val,val,val,val,val,val,val.avg"), 0);
  dialect_ = dialect::Dialect::of(dialect::Kernel::Newest);
  for (const std::string own : {"hist:keys=id:vals=val.max", "hist:keys=id:vals=val.min", "hist:keys=id:vals=val.avg"})
    EXPECT_EQ(write("a", own), EINVAL) << own;
}

}  // namespace
}  // namespace kevt::sema
