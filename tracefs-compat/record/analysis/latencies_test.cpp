// Times from one event to another: by thread and by key, and which of them are shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tracefs-compat/record/analysis/analysis.h"

namespace kevt::record {

using Json = nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;

class LatenciesTest : public testing::Test {
 protected:
  LatenciesTest() {
    begin_ = add_format("begin", 1600, "\tfield:u32 id;\toffset:8;\tsize:4;\tsigned:0;\n");
    end_ = add_format("end", 1601, "\tfield:s64 request;\toffset:8;\tsize:8;\tsigned:1;\n");
  }

  const EventFormat* add_format(const std::string& name, int id, const std::string& field) {
    auto format = parse_format("app", "name: " + name + "\nID: " + std::to_string(id) +
                                          "\nformat:\n"
                                          "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                                          "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
                                          "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
                                          "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n" +
                                          field + "\nprint fmt: \"\"\n");
    EXPECT_TRUE(format);
    return &metadata_.formats.add(*std::move(format));
  }

  struct Hit {
    bool is_begin;
    std::uint64_t ns;
    std::int32_t pid;
    std::uint64_t id;
  };
  std::string ask(const LatencyRequest& request, const std::vector<Hit>& hits, AnswerForm form = AnswerForm::Text) {
    char path[] = "/tmp/latencies-XXXXXX";
    const int fd = mkstemp(path);
    close(fd);
    auto file = OutputFile::create(path);
    EXPECT_TRUE(file);
    auto analysis = latencies(*std::move(file), metadata_, request, form);
    if (!analysis) return std::string(analysis.error().message());
    for (const Hit& hit : hits) {
      std::uint8_t bytes[16] = {};
      std::memcpy(bytes + 4, &hit.pid, 4);
      std::memcpy(bytes + 8, &hit.id, 8);
      EXPECT_TRUE((*analysis)->add({.event = hit.is_begin ? begin_ : end_,
                                    .time_ns = hit.ns,
                                    .cpu = 0,
                                    .pid = hit.pid,
                                    .comm = "app",
                                    .bytes = std::span(bytes).first(hit.is_begin ? 12 : 16)}));
    }
    EXPECT_TRUE((*analysis)->finish());
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    unlink(path);
    return text.str();
  }

  Metadata metadata_;
  const EventFormat *begin_, *end_;
  // Two requests that end on other threads than they began on, the first one last; one more without an end.
  const std::vector<Hit> handed_on_ = {{true, 1000, 1, 7},  {true, 1500, 1, 8},  {true, 1700, 3, 9},
                                       {false, 2500, 2, 8}, {false, 9000, 2, 7}, {false, 9500, 2, 6}};
};

TEST_F(LatenciesTest, AThreadPairsWhatIsItsOwn) {
  const std::string text = ask({.start = "begin", .end = "end", .by = {}, .key = {}}, handed_on_);
  EXPECT_THAT(text, ContainsRegex("-> end +0 +0 +0 +0 +0 +0 +0 +3\n"));
  EXPECT_THAT(text, HasSubstr("3 of end without a begin before\n"));
}

TEST_F(LatenciesTest, AKeyPairsWhatBelongsTogether) {
  LatencyRequest request{.start = "begin", .end = "end", .by = {}, .key = LatencyKey{{"", "id"}, {"", "request"}}};
  std::string text = ask(request, handed_on_);
  EXPECT_THAT(text, ContainsRegex("-> end +2 +4500 +1000 +1007 +8000 +8000 +8000 +1\n"));
  EXPECT_THAT(text, HasSubstr("1 of end without a begin before\n"));
  const Json json = Json::parse(ask(request, handed_on_, AnswerForm::Json));
  EXPECT_EQ(json["rows"][0]["count"], 2);
  EXPECT_FALSE(json.contains("slower"));

  // Shorter times are counted, and the histogram has none of them.
  request.slower_ns = 8000;
  request.has_bars = true;
  text = ask(request, handed_on_);
  EXPECT_THAT(text, ContainsRegex("-> end +1 +8000 +8000 +8000 +8000 +8000 +8000 +1 +1\n"));
  EXPECT_THAT(text, HasSubstr("4096 -> 8191 "));
  EXPECT_EQ(Json::parse(ask(request, handed_on_, AnswerForm::Json))["rows"][0]["faster"], 1);

  // Fields that only the other one has.
  request.key = LatencyKey{{"", "request"}, {"", "request"}};
  EXPECT_THAT(ask(request, {}), HasSubstr("no event `begin` with a field `request`"));
  request.key = LatencyKey{{"", "id"}, {"", "id"}};
  EXPECT_THAT(ask(request, {}), HasSubstr("no event `end` with a field `id`"));
}

// What is only counted takes no memory.
TEST_F(LatenciesTest, ManyFasterOnesStayWhereTheyBelong) {
  std::vector<Hit> hits;
  for (std::uint64_t i = 0; i < 300'000; ++i) {
    hits.push_back({true, i * 1000, 1, 0});
    hits.push_back({false, i * 1000 + 1 + i % 900, 1, 0});
  }
  hits.push_back({true, 1'000'000'000, 1, 0});
  hits.push_back({false, 1'005'000'000, 1, 0});
  const Json answer =
      Json::parse(ask({.start = "begin", .end = "end", .by = ValueName{"", "comm"}, .key = {}, .slower_ns = 1'000'000},
                      hits, AnswerForm::Json));
  ASSERT_EQ(answer["rows"].size(), 1u);
  EXPECT_EQ(answer["rows"][0]["count"], 1);
  EXPECT_EQ(answer["rows"][0]["faster"], 300'000);
}

TEST_F(LatenciesTest, RowsComeInTheOrderThatIsAskedFor) {
  LatencyRequest request{.start = "begin", .end = "end", .by = ValueName{"", "pid"}, .key = {}};
  const std::vector<Hit> hits = {{true, 0, 1, 0},    {false, 10, 1, 0},  {true, 20, 1, 0}, {false, 30, 1, 0},
                                 {true, 40, 2, 0},   {false, 940, 2, 0}, {true, 0, 3, 0},  {false, 5, 3, 0},
                                 {true, 1000, 3, 0}, {false, 1400, 3, 0}};
  const auto order = [&](LatencyOrder by) {
    request.order = by;
    std::vector<std::string> keys;
    const Json answer = Json::parse(ask(request, hits, AnswerForm::Json));
    for (const Json& row : answer["rows"]) keys.push_back(row["key"]);
    return keys;
  };
  using testing::ElementsAre;
  EXPECT_THAT(order(LatencyOrder::Count), ElementsAre("1", "3", "2"));
  EXPECT_THAT(order(LatencyOrder::P50), ElementsAre("2", "1", "3"));
  EXPECT_THAT(order(LatencyOrder::Max), ElementsAre("2", "3", "1"));
  EXPECT_THAT(order(LatencyOrder::Total), ElementsAre("2", "3", "1"));
}

}  // namespace kevt::record
