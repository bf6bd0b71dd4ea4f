#include "tracefs-compat/record/analysis/compare.h"

#include <gmock/gmock.h>

#include "tracefs-compat/record/analysis/compare_html.h"

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

}  // namespace
}  // namespace kevt::record
