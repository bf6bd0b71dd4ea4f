#include "tracefs-compat/record/record_filter.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstring>
#include <random>

#include "compiler/sema/filter.h"
#include "tracefs-compat/record/analysis/query.h"
#include "tracefs-compat/record/record_testing.h"

namespace kevt::record {
namespace {

class RecordFilterTest : public testing::Test {
 protected:
  void SetUp() override { fill(metadata_); }

  // "kept", "left out", or the kernel's words.
  std::string judge(const std::string& event, const std::string& expression, const Bytes& bytes) {
    const std::vector<FilterRequest> requests = {{event, expression}};
    diag::Sink sink;
    std::size_t mistaken = 9;
    auto filters = RecordFilters::compile(requests, metadata_.formats, sink, mistaken);
    if (!filters) return filters.error().message();
    if (!*filters) return std::string(diag::kernel_text(sink.diagnostics().front().kind));
    return (*filters)->keeps(typed(metadata_, 5, 1, bytes)) ? "kept" : "left out";
  }
  std::string judge(const std::string& expression) { return judge("opened", expression, opened(7, "/etc/passwd", 3)); }

  Metadata metadata_;
};

TEST_F(RecordFilterTest, MeansWhatItMeansOnAProbe) {
  EXPECT_EQ(judge("fd == 3"), "kept");
  EXPECT_EQ(judge("fd > 3"), "left out");
  EXPECT_EQ(judge("fd >= -1 && path ~ \"/etc/*\""), "kept");
  EXPECT_EQ(judge("fd == 4 || path == \"/etc/passwd\""), "kept");
  EXPECT_EQ(judge("!(fd == 3)"), "left out");
  EXPECT_EQ(judge("fd & 2 && !(path ~ \"*.so\") && (fd == 1 || fd == 3)"), "kept");
  EXPECT_EQ(judge("path ~ \"*pass*\""), "kept");
  EXPECT_EQ(judge("path ~ \"/e?c/pas[s]wd\""), "kept");
  EXPECT_EQ(judge("path != \"/etc/passwd\""), "left out");
  EXPECT_EQ(judge("common_pid == 7 && comm == \"cat\" && CPU == 1"), "kept");
  EXPECT_EQ(judge("comm ~ \"py*\""), "left out");
}

TEST_F(RecordFilterTest, ComparesWithTheFieldsSign) {
  EXPECT_EQ(judge("opened", "fd < 0", opened(7, "x", -1)), "kept");
  EXPECT_EQ(judge("closed", "ret < -1", closed(7, -2)), "kept");
  EXPECT_EQ(judge("closed", "__probe_func > 0x7e0000000000", closed(7, 0)), "kept");
}

TEST_F(RecordFilterTest, AnAbsentStringIsEmpty) {
  EXPECT_EQ(judge("opened", "path == \"\"", opened(7, nullptr, 1)), "kept");
}

TEST_F(RecordFilterTest, MistakesAreErrors) {
  EXPECT_EQ(judge("nope == 3"), "Field not found");
  EXPECT_THAT(judge("fd = 3"), testing::HasSubstr("nvalid op"));
  EXPECT_THAT(judge("nosuch", "fd == 3", opened(7, "x", 1)), testing::HasSubstr("no event `nosuch`"));
}

TEST_F(RecordFilterTest, GlobsMeanTheEventsThatHaveTheField) {
  EXPECT_EQ(judge("*", "fd == 3", opened(7, "x", 3)), "kept");
  EXPECT_EQ(judge("*", "fd == 3", closed(7, 3)), "left out");
  EXPECT_EQ(judge("kprobes:open*", "", opened(7, "x", 3)), "kept");
  EXPECT_EQ(judge("kprobes/closed", "", opened(7, "x", 3)), "left out");
  EXPECT_EQ(judge("*", "nope == 3", closed(7, 3)), "Field not found");
}

// The fast way of filters over integers against the plain one: every width, sign and operator, also of cut records.
TEST(Moment, IsReadAsPrinted) {
  EXPECT_EQ(parse_moment("5070.441498")->ns, 5'070'441'498'000u);
  EXPECT_EQ(parse_moment("+1")->ns, 1'000'000'000u);
  EXPECT_TRUE(parse_moment("+0.5")->is_relative);
  EXPECT_EQ(parse_moment("0.000000001")->ns, 1u);
  for (const char* bad : {"", "+", "x", "1.", "1.x", "1.0000000000", "99999999999999"})
    EXPECT_EQ(parse_moment(bad).has_value(), std::string_view(bad) == "1.") << bad;
}

TEST(MomentRange, HasEitherEndOrBoth) {
  constexpr Moment kSecond{1'000'000'000, false}, kLater{1'500'000'000, true};
  EXPECT_EQ(parse_range("1,+1.5"), (MomentRange{kSecond, kLater}));
  EXPECT_EQ(parse_range("1,"), (MomentRange{kSecond, {}}));
  EXPECT_EQ(parse_range(",+1.5"), (MomentRange{{}, kLater}));
  EXPECT_EQ(parse_range(","), MomentRange{});
  EXPECT_TRUE(parse_range("2,+1"));
  for (const char* bad : {"", "1", "1,2,3", "x,", ",x", "1..2", " 1,2", "2,1", "+2,+1"})
    EXPECT_FALSE(parse_range(bad)) << bad;
}

}  // namespace
}  // namespace kevt::record
