#include "runtime-user/session/histogram_export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kevt::session {
namespace {

using engine::HistCell;
using engine::HistSnapshot;
using model::HistModifier;
using testing::HasSubstr;
using testing::Not;

// keys=id,f.sym,n.log2:vals=v, of which `id` is a text and `v` signed.
HistSnapshot snapshot(std::vector<HistSnapshot::Row> rows) {
  HistSnapshot made{.event = "g:e", .trigger = {}, .rows = std::move(rows), .hits = 12, .dropped = 3};
  made.trigger.kind = model::TriggerKind::Hist;
  model::Histogram& histogram = made.trigger.histogram;
  histogram.keys = {{.name = "id", .bytes = 16, .is_string = true},
                    {.name = "f", .modifier = HistModifier::Sym},
                    {.name = "n", .modifier = HistModifier::Log2}};
  histogram.values = {{.name = "v", .is_signed = true}};
  return made;
}

HistSnapshot::Row row(std::string id, std::uint64_t address, std::uint64_t exponent, std::uint64_t hits, int value) {
  return {.keys = {{.number = 0, .text = std::move(id), .frames = {}},
                   {.number = address, .text = "main", .frames = {}},
                   {.number = exponent, .text = "", .frames = {}}},
          .hits = hits,
          .values = {static_cast<std::uint64_t>(static_cast<std::int64_t>(value))}};
}

std::string text(HistogramForm form, const std::vector<HistSnapshot>& snapshots) {
  return HistogramExport(form).text(snapshots, {.from = 0, .to = 1.5});
}

TEST(HistogramExport, JsonHasNumbersAndNames) {
  const std::string line = text(HistogramForm::Json, {snapshot({row("a\"\x01", 4096, 6, 5, -7)})});
  EXPECT_THAT(line, HasSubstr(R"("from_s":0.000000,"to_s":1.500000,"hits":12,"dropped":3)"));
  EXPECT_THAT(line, HasSubstr(R"({"keys":{"id":"a\"\u0001","f.sym":{"number":4096,"name":"main"},)"
                              R"("n.log2":{"above":32,"to":64}},"hitcount":5,"values":{"v":-7}})"));
  EXPECT_TRUE(line.ends_with("]}\n"));
}

TEST(HistogramExport, JsonOfTheLastBucketIsNoNumberOf64Bits) {
  EXPECT_THAT(text(HistogramForm::Json, {snapshot({row("a", 1, 64, 1, 0)})}),
              HasSubstr(R"({"above":9223372036854775808,"to":18446744073709551616})"));
  EXPECT_THAT(text(HistogramForm::Json, {snapshot({row("a", 1, 0, 1, 0)})}), HasSubstr(R"({"above":null,"to":1})"));
}

TEST(HistogramExport, CsvNamesItsColumnsWhereTheyChange) {
  HistogramExport out(HistogramForm::Csv);
  const std::vector one = {snapshot({row("x,y", 4096, 6, 5, -7)})};
  EXPECT_EQ(out.text(one, {0, 1}),
            "event,histogram,from_s,to_s,id,f.sym,n.log2,hitcount,v\n"
            "g:e,1,0.000000,1.000000,\"x,y\",main,64,5,-7\n");
  EXPECT_EQ(out.text(one, {1, 2}), "g:e,1,1.000000,2.000000,\"x,y\",main,64,5,-7\n");
  std::vector other = one;
  other[0].trigger.histogram.values.clear();
  EXPECT_EQ(out.text(other, {2, 3}),
            "\nevent,histogram,from_s,to_s,id,f.sym,n.log2,hitcount\n"
            "g:e,1,2.000000,3.000000,\"x,y\",main,64,5\n");
}

TEST(HistogramExport, LogLinearBucketsHavePercentiles) {
  HistSnapshot made = snapshot({row("a", 1, 100, 90, 0), row("a", 1, 1024, 9, 0), row("a", 1, 1ull << 63, 1, 0)});
  made.trigger.histogram.keys[2].modifier = HistModifier::LogLinear;
  const std::string json = text(HistogramForm::Json, {made});
  EXPECT_THAT(json, HasSubstr(R"("n.loglinear":{"from":1024,"to":1039})"));
  EXPECT_THAT(json, HasSubstr(R"("percentiles":[{"keys":{"id":"a","f.sym":{"number":1,"name":"main"}},)"
                              R"("p50":100,"p90":100,"p99":1039,"max":9367487224930631679}])"));
  EXPECT_THAT(text(HistogramForm::OpenMetrics, {made}), HasSubstr("le=\"1039.0\"} 99\n"));
}

TEST(HistogramExport, TopKeysHaveTheirErrors) {
  HistSnapshot made = snapshot({row("a", 1, 6, 5, 9), row("b", 1, 6, 2, 4)});
  made.trigger.histogram.top = 2;
  made.trigger.histogram.values[0].modifier = HistModifier::Average;
  made.rows[0].error = 2;
  made.others_at_most = 2;
  const std::string json = text(HistogramForm::Json, {made});
  EXPECT_THAT(json, HasSubstr(R"("hitcount":5,"at_least":3,"values":{"v.avg":3.00}})"));
  EXPECT_THAT(json, HasSubstr(R"("hitcount":2,"at_least":2,"values":{"v.avg":2.00}}],"others_at_most":2})"));
  EXPECT_THAT(text(HistogramForm::Csv, {made}), HasSubstr("n.log2,hitcount,at_least,v.avg\n"
                                                          "g:e,1,0.000000,1.500000,a,main,64,5,3,3.00\n"));
  EXPECT_THAT(text(HistogramForm::OpenMetrics, {made}), testing::Not(HasSubstr("distribution"))) << "not all buckets";
  made.trigger.histogram.keys.pop_back();
  const std::string metrics = text(HistogramForm::OpenMetrics, {made});
  EXPECT_THAT(metrics, HasSubstr("kevtrace_hits_total{event=\"g:e\",histogram=\"1\",id=\"a\",f_sym=\"main\"} 5\n"));
  EXPECT_THAT(metrics, HasSubstr("kevtrace_hits_at_least{event=\"g:e\",histogram=\"1\",id=\"a\",f_sym=\"main\"} 3\n"));
}

TEST(HistogramExport, BoundsOfNumbersWithASignRise) {
  HistSnapshot made = snapshot({row("a", 1, 5, 2, 0), row("a", 1, static_cast<std::uint64_t>(-9), 3, 0)});
  made.trigger.histogram.keys[2].modifier = HistModifier::LogLinear;
  made.trigger.histogram.keys[2].is_signed = true;
  const std::string out = text(HistogramForm::OpenMetrics, {made});
  const auto bound = [&](const std::string& sample) { return out.find(sample); };
  ASSERT_NE(bound("} 3\n"), std::string::npos) << out;
  EXPECT_LT(bound("} 3\n"), bound("le=\"5.0\"} 5\n")) << out;
  EXPECT_LT(bound("le=\"5.0\"} 5\n"), bound("le=\"+Inf\"} 5\n")) << out;
}

TEST(HistogramExport, LogLinearBucketsAreNarrow) {
  std::uint64_t next = 0;  // where the next bucket has to begin
  for (const std::uint64_t value : {0ull, 1ull, 127ull, 128ull, 129ull, 130ull, 255ull, 256ull, ~0ull}) {
    const std::uint64_t begin = model::log_linear_of(value), end = model::log_linear_end(begin);
    EXPECT_TRUE(begin <= value && value <= end) << value;
    EXPECT_LE(end - begin, begin / 64);
    EXPECT_EQ(model::log_linear_of(end), begin);
  }
  for (; next < 1 << 20; next = model::log_linear_end(next) + 1) ASSERT_EQ(model::log_linear_of(next), next);
}

// Two addresses in one function: a sample must not be there twice.
TEST(HistogramExport, OpenMetricsAddsUpWhatHasOneName) {
  const std::string out =
      text(HistogramForm::OpenMetrics, {snapshot({row("a", 1, 3, 2, -5), row("a", 2, 3, 3, 4), row("a", 1, 6, 7, 1)})});
  EXPECT_THAT(out, HasSubstr("kevtrace_distribution_bucket{event=\"g:e\",histogram=\"1\",id=\"a\",f_sym=\"main\","
                             "le=\"8.0\"} 5\n"));
  EXPECT_THAT(out, HasSubstr("le=\"64.0\"} 12\n"));
  EXPECT_THAT(out, HasSubstr("le=\"+Inf\"} 12\n"));
  EXPECT_THAT(out, HasSubstr("n_log2=\"8\",of=\"v\"} -1\n"));
  EXPECT_THAT(out, HasSubstr("kevtrace_dropped_hits_total{event=\"g:e\",histogram=\"1\"} 3\n"));
  EXPECT_THAT(out, Not(HasSubstr("kevtrace_hits")));
  EXPECT_TRUE(out.ends_with("# EOF\n"));
}

TEST(HistogramExport, OpenMetricsHasThreeEscapes) {
  EXPECT_THAT(text(HistogramForm::OpenMetrics, {snapshot({row("q\"b\\n\nt\tc\x01z\xff", 1, 3, 2, 0)})}),
              HasSubstr("id=\"q\\\"b\\\\n\\nt?c?z\uFFFD\""));
}

TEST(HistogramExport, OpenMetricsKeepsItsOwnLabels) {
  HistSnapshot made = snapshot({row("a", 1, 3, 2, 0)});
  made.trigger.histogram.keys[0].name = "event";
  EXPECT_THAT(text(HistogramForm::OpenMetrics, {made}), HasSubstr("{event=\"g:e\",histogram=\"1\",key_event=\"a\""));
}

// Of one field twice, and of two that become one label.
TEST(HistogramExport, NamesAreThereOnce) {
  HistSnapshot made = snapshot({row("a", 1, 3, 2, 4)});
  model::Histogram& histogram = made.trigger.histogram;
  histogram.keys[2] = {.name = "f_sym"};
  histogram.values = {{.name = "v"}, {.name = "v"}, {.name = "v", .modifier = HistModifier::Percent}};
  made.rows[0].values = {4, 5, 6};
  EXPECT_THAT(text(HistogramForm::Json, {made}), HasSubstr(R"("values":{"v":4,"v_2":5,"v.percent":6}})"));
  const std::string out = text(HistogramForm::OpenMetrics, {made});
  EXPECT_THAT(out, HasSubstr(R"(id="a",f_sym="main",f_sym_2="3",of="v"} 4)"));
  EXPECT_THAT(out, HasSubstr(R"(of="v_2"} 5)"));
}

TEST(HistogramExport, BucketsOfNegativeNumbersEndBelowZero) {
  HistSnapshot made = snapshot({row("a", 1, static_cast<std::uint64_t>(-5) / 10 * 10, 2, 0)});
  made.trigger.histogram.keys[2] = {.name = "n", .modifier = HistModifier::Buckets, .buckets = 10, .is_signed = true};
  EXPECT_THAT(text(HistogramForm::Json, {made}), HasSubstr(R"("n.buckets":{"from":-6,"to":-1})"));
}

TEST(HistogramExport, FormsByNameAndEnding) {
  EXPECT_EQ(histogram_form("openmetrics"), HistogramForm::OpenMetrics);
  EXPECT_EQ(histogram_form("xml"), std::nullopt);
  EXPECT_EQ(histogram_form_of_file("a.prom"), HistogramForm::OpenMetrics);
  EXPECT_EQ(histogram_form_of_file("a.json"), HistogramForm::Json);
  EXPECT_EQ(histogram_form_of_file("a.txt"), HistogramForm::Text);
}

}  // namespace
}  // namespace kevt::session
