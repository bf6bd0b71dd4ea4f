#include "tracefs-compat/record/analysis/compare.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "tracefs-compat/record/analysis/compare_html.h"
#include "tracefs-compat/record/record_testing.h"

namespace kevt::record {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ComparisonPage : public testing::Test {
 protected:
  ComparisonPage() {
    for (RecordingSummary* one : {&both_.a, &both_.b}) {
      one->seconds = 2;
      one->histograms.resize(1);
      one->paths.counts = "stacks";
    }
    both_.request.latencies = {{"in", "out", {}}};
    both_.a.events = {{"kprobes:in", 1000}, {"kprobes:old", 7}};
    both_.b.events = {{"kprobes:in", 1500}, {"kprobes:fresh", 9}};
    both_.a.paths.weights = {{"app;main;slow", 60}, {"app;main;left", 40}};
    both_.b.paths.weights = {{"app;main;slow", 90}, {"app;main;<added>", 10}};
    for (std::uint64_t i = 1; i <= 100; ++i) both_.a.histograms[0].add(i);
    for (std::uint64_t i = 1; i <= 100; ++i) both_.b.histograms[0].add(1000 + i);
  }
  std::string page() const {
    return comparison_html(both_, {"before.dat", &metadata_}, {"after & later.dat", &metadata_});
  }

  Comparison both_;
  Metadata metadata_;
};

TEST_F(ComparisonPage, TellsWhatIsNewGoneMoreAndLess) {
  const std::string page = this->page();
  EXPECT_THAT(page,
              HasSubstr("<tr><td>kprobes:in</td><td>1\u2009000</td><td>1\u2009500</td><td class=\"more\">+50.0%</td>"
                        "<td>500.0</td><td>750.0</td><td class=\"more\">+50.0%</td></tr>"));
  EXPECT_THAT(page, HasSubstr("<tr><td>kprobes:fresh</td><td>0</td><td>9</td><td class=\"only more\">new</td>"));
  EXPECT_THAT(page, HasSubstr("<tr><td>kprobes:old</td><td>7</td><td>0</td><td class=\"only less\">gone</td>"));
  EXPECT_THAT(page, HasSubstr("<tr><td>app;main;left</td><td>40</td><td>0</td><td class=\"only less\">gone</td></tr>"));
  EXPECT_THAT(page, Not(HasSubstr("<td>app;main;slow</td>")));  // both have it
}

TEST_F(ComparisonPage, HasDistributionsAndAFlameGraph) {
  const std::string page = this->page();
  EXPECT_THAT(page, AllOf(HasSubstr("<h2>in -&gt; out (ns)</h2>"),
                          HasSubstr("<tr><td>p50</td><td>50</td><td>1\u2009055</td>")));
  EXPECT_THAT(page, HasSubstr(">1\u2009024 – 2\u2009047</text>"));
  EXPECT_THAT(page, HasSubstr("srcdoc=\"<svg xmlns=&quot;http://www.w3.org/2000/svg&quot;"));
  EXPECT_THAT(page, HasSubstr("slow: 90 stacks, 90.00 %; before 60, 60.00 %"));
}

// Whatever is in a recording, it is text.
TEST_F(ComparisonPage, HasNoMarkupFromARecording) {
  metadata_.host = "<script>alert(1)</script>";
  metadata_.definitions = {"p:x y z=\"</pre><b>\""};
  both_.a.tasks = {{"<img src=x>\x1b[31m", 3}};
  both_.b.paths.weights = {{"</iframe>\"><script>bad()</script>", 1}};
  const std::string page = this->page();
  for (const char* bad : {"<script>alert", "<b>", "<img", "</iframe>\"", "<script>bad", "\x1b"})
    EXPECT_THAT(page, Not(HasSubstr(bad))) << bad;
  EXPECT_THAT(page, HasSubstr("after &amp; later.dat"));
}

TEST_F(ComparisonPage, OfNothingIsAPage) {
  both_ = {};
  EXPECT_THAT(page(), AllOf(HasSubstr("</html>"), Not(HasSubstr("iframe title")), Not(HasSubstr("nan")),
                            Not(HasSubstr("inf"))));
}

TEST_F(ComparisonPage, PathsOfDifferentWeightsAreNotCompared) {
  both_.a.paths.counts = "ns";
  EXPECT_THAT(page(), HasSubstr("A has paths of calls in ns, B in stacks: they cannot be compared."));
}

class TwoRecordings : public testing::Test {
 protected:
  void SetUp() override { fill(metadata_); }
  auto put(const char* name, const std::vector<std::pair<std::uint64_t, Bytes>>& records) {
    auto writer = create_recording(FileFormat::Json, folder_.file(name), metadata_);
    for (const auto& [time, bytes] : records) EXPECT_TRUE((*writer)->add(typed(metadata_, time, 0, bytes)));
    EXPECT_TRUE((*writer)->finish());
    return open_recording(folder_.file(name));
  }

  TemporaryFolder folder_;
  Metadata metadata_;
};

TEST_F(TwoRecordings, RecordingsAreCompared) {
  const std::vector<std::pair<std::uint64_t, Bytes>> records = {{1'000'000, opened(7, "/etc/passwd", 3)},
                                                                {1'002'500, closed(7, -2)},
                                                                {1'003'000, opened(8, nullptr, -1)},
                                                                {1'004'000, closed(8, 0)},
                                                                {1'005'000, opened(7, "b", 4)}};
  auto a = put("a.json", records), b = put("b.json", records);
  QueriedReader all_of_a(**a, {}), all_of_b(**b, {});
  const auto both =
      compare_recordings(all_of_a, all_of_b, {.values = {{"opened", "fd"}}, .latencies = {{"opened", "closed", {}}}});
  ASSERT_TRUE(both);
  const std::string table = comparison_text(*both, Controls::Raw);
  EXPECT_THAT(table, testing::ContainsRegex("kprobes:opened +3 +3 += "));
  EXPECT_THAT(table, testing::ContainsRegex("max +2500 +2500 +="));
  EXPECT_EQ(comparison_text(*both, Controls::Raw).find("EVENT"), 0u);
  EXPECT_FALSE(compare_recordings(all_of_a, all_of_b, {.values = {{"", "nope"}}, .latencies = {}}));
}

// Two parts of one recording, whose rates are of the parts' own lengths.
TEST_F(TwoRecordings, PartsOfRecordingsAreCompared) {
  std::vector<std::pair<std::uint64_t, Bytes>> records;
  for (const std::uint64_t ms : {1000, 1100, 1200, 2000, 2500, 3000})
    records.emplace_back(ms * 1'000'000, closed(7, 0));
  auto a = put("parts.json", records), b = open_recording(folder_.file("parts.json"));
  const auto part = [](std::string_view range) {
    const MomentRange moments = parse_range(range).value_or(MomentRange{});
    return Query{.filters = {}, .from = moments.from, .to = moments.to};
  };
  {
    QueriedReader of_a(**a, part("+0.05,+0.55")), of_b(**b, part("2,"));
    const auto both = compare_recordings(of_a, of_b, {.values = {}, .latencies = {}});
    ASSERT_TRUE(both) << both.error().message();
    EXPECT_EQ(both->a.events.at("kprobes:closed"), 2u);
    EXPECT_EQ(both->b.events.at("kprobes:closed"), 3u);
    EXPECT_DOUBLE_EQ(both->a.seconds, 0.5);
    EXPECT_DOUBLE_EQ(both->b.seconds, 1);
    EXPECT_THAT(comparison_text(*both, Controls::Raw),
                testing::StartsWith("A from 1.050000 to 1.550000; B from 2.000000\nEVENT "));
    const nlohmann::json json = nlohmann::json::parse(comparison_json(*both));
    EXPECT_EQ(json["a_from_ns"], 1'050'000'000u);
    EXPECT_EQ(json["a_to_ns"], 1'550'000'000u);
    EXPECT_EQ(json["b_from_ns"], 2'000'000'000u);
    EXPECT_FALSE(json.contains("b_to_ns"));
  }
  // A part is as long as the recording goes on in it, whatever a filter keeps.
  auto c = open_recording(folder_.file("parts.json")), d = open_recording(folder_.file("parts.json"));
  const Query nothing{.filters = {}, .from = Moment{900'000'000'000, false}, .to = Moment{800'000'000'000, false}};
  QueriedReader of_c(**c, nothing), of_d(**d, part("+1,+99"));
  const auto rest = compare_recordings(of_c, of_d, {.values = {}, .latencies = {}});
  ASSERT_TRUE(rest);
  EXPECT_TRUE(rest->a.events.empty());
  EXPECT_EQ(rest->a.seconds, 0);
  EXPECT_EQ(rest->b.events.at("kprobes:closed"), 3u);
  EXPECT_DOUBLE_EQ(rest->b.seconds, 1);
  auto e = open_recording(folder_.file("parts.json")), f = open_recording(folder_.file("parts.json"));
  diag::Sink sink;
  std::size_t mistaken = 0;
  Query filtered = part(",+1.5");
  const std::vector<FilterRequest> opened_alone = {{"opened", ""}};
  filtered.filters = **RecordFilters::compile(opened_alone, (*e)->metadata().formats, sink, mistaken);
  QueriedReader of_e(**e, std::move(filtered)), all_of_f(**f, {});
  const auto none_kept = compare_recordings(of_e, all_of_f, {.values = {}, .latencies = {}});
  ASSERT_TRUE(none_kept);
  EXPECT_TRUE(none_kept->a.events.empty());
  EXPECT_DOUBLE_EQ(none_kept->a.seconds, 1.5);
  EXPECT_THAT(comparison_text(*none_kept, Controls::Raw), testing::StartsWith("A to 2.500000; all of B\n"));
}

// B has a record of another event first, and ends later: it is compared from its first `opened`, as long as A goes on.
TEST_F(TwoRecordings, RecordingsAreAlignedOnAnEvent) {
  const Bytes open = opened(7, "/etc/passwd", 3), close = closed(7, 0);
  auto a = put("a.json", {{100, open}, {200, close}, {300, close}, {1'100, close}});
  auto b =
      put("b.json", {{5'000, close}, {5'400, close}, {6'000, open}, {6'500, close}, {7'000, close}, {7'001, close}});
  QueriedReader all_of_a(**a, {}), all_of_b(**b, {});
  const auto both = compare_recordings(all_of_a, all_of_b, {.values = {}, .latencies = {}, .align_on = "opened"});
  ASSERT_TRUE(both) << both.error().message();
  EXPECT_EQ(both->a.events, (std::map<std::string, std::uint64_t>{{"kprobes:opened", 1}, {"kprobes:closed", 3}}));
  EXPECT_EQ(both->b.events, (std::map<std::string, std::uint64_t>{{"kprobes:opened", 1}, {"kprobes:closed", 2}}));
  EXPECT_DOUBLE_EQ(both->aligned_seconds, 1e-6);
  EXPECT_THAT(comparison_text(*both, Controls::Raw),
              testing::StartsWith("0.000001 s of each, from the first opened on\nEVENT "));
  EXPECT_EQ(nlohmann::json::parse(comparison_json(*both))["aligned_on"], "opened");
  all_of_a.rewind();
  all_of_b.rewind();
  const auto none = compare_recordings(all_of_a, all_of_b, {.values = {}, .latencies = {}, .align_on = "nobody"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message(), "A has no record of `nobody` to align on");
}

}  // namespace
}  // namespace kevt::record
