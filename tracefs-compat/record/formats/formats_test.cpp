// What the writers of other formats write, and the questions to records.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tracefs-compat/record/analysis/analysis.h"
#include "tracefs-compat/record/analysis/histogram.h"
#include "tracefs-compat/record/formats/ctf_writer.h"
#include "tracefs-compat/record/formats/json_text.h"
#include "tracefs-compat/record/record_testing.h"

namespace kevt::record {
namespace {

using Json = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class FormatsTest : public testing::Test {
 protected:
  void SetUp() override { fill(metadata_); }

  // Two calls of open, the second without a return, on thread 7; one on thread 8.
  void write(RecordWriter& writer) {
    const auto put = [&](std::uint64_t ns, const Bytes& bytes) {
      ASSERT_TRUE(writer.add(typed(metadata_, ns, 0, bytes)));
    };
    put(1'000'000, opened(7, "/etc/passwd", 3));
    put(1'002'500, closed(7, -2));
    put(1'003'000, opened(8, nullptr, -1));
    put(1'004'000, closed(8, 0));
    put(1'005'000, opened(7, "a,\"b\"\n\xff", 4));
    ASSERT_TRUE(writer.finish());
  }
  std::string written(FileFormat format) {
    const std::string path = folder_.file("out");
    auto writer = create_recording(format, path, metadata_);
    EXPECT_TRUE(writer);
    write(**writer);
    return read_file(path);
  }
  template <class Make>
  std::string answer(Make make) {
    const std::string path = folder_.file("answer");
    auto analysis = make(*OutputFile::create(path));
    if (!analysis) return analysis.error().message();
    write(**analysis);
    return read_file(path);
  }

  TemporaryFolder folder_;
  Metadata metadata_;
};

constexpr std::string_view kUserStackFormat =
    "name: user_stack\nID: 12\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    "\tfield:unsigned int tgid;\toffset:8;\tsize:4;\tsigned:0;\n"
    "\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n"
    "\nprint fmt: \"\"\n";

Bytes user_stack(std::int32_t pid, const std::vector<std::uint64_t>& callers) {
  Bytes bytes;
  store<std::uint16_t>(bytes, 0, 12);
  store<std::int32_t>(bytes, 4, pid);
  store<std::uint64_t>(bytes, 8, 0);
  for (const std::uint64_t caller : callers) store<std::uint64_t>(bytes, bytes.size(), caller);
  return bytes;
}

std::vector<Json> lines_of(const std::string& text) {
  std::vector<Json> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(Json::parse(line));
  return out;
}

TEST_F(FormatsTest, JsonIsOneVersionedObjectALine) {
  metadata_.totals = {{"kprobes/opened", 9, 5, 1, 2, 1, 0}};
  const auto lines = lines_of(written(FileFormat::Json));
  ASSERT_EQ(lines.size(), 1u + 2 + 5 + 1);
  for (const Json& line : lines) EXPECT_EQ(line["v"], 1);
  EXPECT_EQ(lines[0]["type"], "header");
  EXPECT_EQ(lines[1]["format"], kOpenedFormat);
  const Json& first = lines[3];
  EXPECT_EQ(first["ts"], 1'000'000);
  EXPECT_EQ(first["event"], "kprobes:opened");
  EXPECT_EQ(first["ip"], "open+0x0/0x128 [libc.so.6]");
  EXPECT_EQ(first["fields"]["path"], "/etc/passwd");
  EXPECT_EQ(lines[4]["fields"]["ret"], -2);
  EXPECT_TRUE(lines[5]["fields"]["path"].is_null());
  EXPECT_EQ(lines[7]["bytes"]["path"], "612c2262220aff");
  EXPECT_EQ(lines[8]["totals"]["kprobes/opened"]["lost"], 2);
}

TEST_F(FormatsTest, JsonGivesBackBytesThatAreNoText) {
  written(FileFormat::Json);
  auto reader = open_recording(folder_.file("out"));
  ASSERT_TRUE(reader);
  TypedRecord record;
  std::string last;
  while ((*reader)->next(record))
    if (const Field* path = record.event->find("path")) last = value_of(*path, record.bytes).text;
  EXPECT_EQ(last, "a,\"b\"\n\xff");
  EXPECT_EQ((*reader)->metadata().symbols.find(0x7f0000001000)->size, 0x128u);
}

TEST_F(FormatsTest, JsonOfOthersIsToldLineByLine) {
  const std::string path = folder_.file("bad.json");
  const std::string whole = written(FileFormat::Json);
  std::string middle = whole;
  middle.insert(middle.find("{\"v\":1,\"type\":\"event\""),
                "nonsense\n[1]\n{\"v\":1,\"type\":\"event\",\"event\":\"no:such\"}\n");
  write_file(path, middle);
  auto reader = open_recording(path);
  ASSERT_TRUE(reader);
  TypedRecord record;
  int count = 0;
  while ((*reader)->next(record)) ++count;
  EXPECT_EQ(count, 5);
  EXPECT_EQ((*reader)->problems().size(), 3u);
  write_file(path, "{\"v\":2,\"type\":\"header\"}\n");
  EXPECT_FALSE(open_recording(path));
  write_file(path, "{\"v\":1}\n");
  EXPECT_FALSE(open_recording(path));
}

TEST_F(FormatsTest, CsvQuotesWhatNeedsIt) {
  const std::string text = written(FileFormat::Csv);
  EXPECT_THAT(text, HasSubstr("time_ns,cpu,pid,comm,event,__probe_ip,path,fd,__probe_func,__probe_ret_ip,ret\n"));
  EXPECT_THAT(text, HasSubstr("1000000,0,7,cat,opened,139637976731648,/etc/passwd,3,,,\n"));
  EXPECT_THAT(text, HasSubstr(",\"a,\"\"b\"\"\n\xff\",4,,,\n"));
  EXPECT_THAT(text, HasSubstr(",closed,,,,139637976731648,4198416,-2\n"));
}

TEST_F(FormatsTest, TheContainerOfAProcessIsKept) {
  metadata_.process_of = {{7, 70}, {8, 80}};
  metadata_.processes[70].name = metadata_.processes[80].name = "program";
  metadata_.processes[70].container = "3f2a5b6c7d8e";
  EXPECT_THAT(written(FileFormat::Csv),
              AllOf(HasSubstr("time_ns,cpu,pid,comm,container,event,"),
                    HasSubstr("1000000,0,7,cat,3f2a5b6c7d8e,opened,"), HasSubstr("1003000,0,8,python3,,opened,")));
  for (const FileFormat format : {FileFormat::Dat, FileFormat::Dat7, FileFormat::Json}) {
    const std::string text = written(format);
    auto reader = open_recording(folder_.file("out"));
    ASSERT_TRUE(reader) << reader.error().message();
    for (TypedRecord record; (*reader)->next(record);)
      EXPECT_EQ((*reader)->metadata().container_of(record.thread()), record.pid == 7 ? "3f2a5b6c7d8e" : "");
    EXPECT_TRUE((*reader)->metadata().has_containers());
  }
}

TEST_F(FormatsTest, CsvOfAFolderIsAFilePerEvent) {
  auto writer = create_recording(FileFormat::Csv, folder_.file("csv/"), metadata_);
  ASSERT_TRUE(writer);
  write(**writer);
  EXPECT_THAT(read_file(folder_.file("csv/kprobes.closed.csv")), HasSubstr("event,__probe_func,__probe_ret_ip,ret\n"));
}

TEST_F(FormatsTest, PerfScriptHasALineForEachRecord) {
  const std::string text = written(FileFormat::PerfScript);
  EXPECT_THAT(text, testing::StartsWith(
                        "             cat       7 [000]     0.001000: kprobes:opened: (open+0x0/0x128 [libc.so.6]) "
                        "path=\"/etc/passwd\" fd=3\n"));
  EXPECT_EQ(std::ranges::count(text, '\n'), 5) << text;  // a line end in a string is none here
}

TEST_F(FormatsTest, PerfScriptHasStacksBehindTheirRecords) {
  metadata_.formats.add(*parse_format("ftrace", kUserStackFormat));
  const std::string path = folder_.file("out");
  auto writer = create_recording(FileFormat::PerfScript, path, metadata_);
  ASSERT_TRUE(writer);
  const auto put = [&](std::uint32_t cpu, const Bytes& bytes) {
    ASSERT_TRUE((*writer)->add(typed(metadata_, 1'000'000, cpu, bytes)));
  };
  put(0, opened(7, "a", 3));
  put(0, user_stack(7, {0x7f0000001004, 0x1234}));
  put(0, user_stack(7, {0x401010}));  // a second one behind the same record
  put(1, opened(7, "b", 3));
  metadata_.symbols.add(place_symbol(0x5678, "libc.so.6+0x678"));
  put(0, user_stack(7, {0x5678}));  // of a record that is not here
  ASSERT_TRUE((*writer)->finish());
  EXPECT_EQ(read_file(path),
            "cat       7 [000]     0.001000: kprobes:opened: (open+0x0/0x128 [libc.so.6]) path=\"a\" fd=3\n"
            "\t    7f0000001004 open+0x4 (libc.so.6)\n"
            "\t            1234 [unknown] ([unknown])\n"
            "\t          401010 main+0x10 ([unknown])\n"
            "\n"
            "cat       7 [001]     0.001000: kprobes:opened: (open+0x0/0x128 [libc.so.6]) path=\"b\" fd=3\n"
            "\n"
            "cat       7 [000]     0.001000: ftrace:user_stack:\n"
            "\t            5678 [unknown] (libc.so.6)\n"
            "\n");
}

TEST_F(FormatsTest, ChromeHasTheRecordsAndACallForEachReturn) {
  const Json events = Json::parse(written(FileFormat::Chrome), nullptr, true);
  int instants = 0, calls = 0, names = 0;
  for (const Json& event : events) {
    instants += event["ph"] == "i";
    calls += event["ph"] == "X";
    names += event["ph"] == "M";
    const bool is_first = event["ph"] == "X" && event["tid"] == 7;
    EXPECT_TRUE(!is_first || event["dur"] == 2.5) << event;
  }
  EXPECT_EQ(instants, 5);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(names, 2);
}

TEST_F(FormatsTest, FoldedWeighsCallsByTheirOwnTime) {
  EXPECT_EQ(written(FileFormat::Folded), "cat;open [libc.so.6] 2500\npython3;open [libc.so.6] 1000\n");
}

// Fields and numbers of profile.proto; `go tool pprof` reads it in process_recording_formats.
TEST_F(FormatsTest, PprofHasAFunctionForEachName) {
  const std::string profile = written(FileFormat::Pprof);
  EXPECT_THAT(profile, testing::StartsWith(std::string("\x0a\x04\x08\x01\x10\x02", 6)));  // "time", "nanoseconds"
  // Location 1 with its line of function 1, and that function: texts 3, for both of its names.
  EXPECT_THAT(profile, HasSubstr(std::string("\x22\x06\x08\x01\x22\x02\x08\x01\x2a\x06\x08\x01\x10\x03\x18\x03", 16)));
  // A sample of it: 2500 ns, of thread "cat".
  EXPECT_THAT(profile, HasSubstr(std::string("\x12\x0b\x08\x01\x10\xc4\x13\x1a\x04\x08\x04\x10\x05", 13)));
  for (const char* text : {"open [libc.so.6]", "thread", "cat", "python3"}) EXPECT_THAT(profile, HasSubstr(text));
}

TEST_F(FormatsTest, CtfDescribesEveryField) {
  const std::string text = ctf_metadata(metadata_);
  EXPECT_THAT(text, HasSubstr("event { name = \"kprobes:opened\"; id = 20000;"));
  EXPECT_THAT(text, HasSubstr("string _path;"));
  EXPECT_THAT(text, HasSubstr("integer { size = 32; align = 8; signed = true; base = 10; } _fd;"));
}

TEST_F(FormatsTest, TextIsWhatTracePrints) {
  EXPECT_THAT(written(FileFormat::Ftrace), HasSubstr("# tracer: nop\n"));
  EXPECT_THAT(written(FileFormat::Text), HasSubstr("opened: (open+0x0/0x128 [libc.so.6]) path=(fault) fd=-1\n"));
}

TEST_F(FormatsTest, QuestionsAreAnswered) {
  EXPECT_EQ(answer([&](OutputFile file) { return count_events(std::move(file), metadata_); }),
            "EVENT                                                  COUNT\n"
            "kprobes:opened                                             3\n"
            "kprobes:closed                                             2\n");
  const std::string lat = answer([&](OutputFile file) {
    return latencies(std::move(file), metadata_, {"opened", "closed", ValueName{"", "comm"}});
  });
  EXPECT_THAT(lat, testing::ContainsRegex("cat +1 +2500 +2500 +2500 +2500 +2500 +2500 +1\n"));
  EXPECT_THAT(lat, testing::ContainsRegex("python3 +1 +1000 "));
  const std::string hist = answer([&](OutputFile file) {
    return value_histogram(std::move(file), metadata_, {{"opened", "path"}, {}});
  });
  EXPECT_THAT(hist, testing::ContainsRegex("/etc/passwd +1\n"));
  EXPECT_THAT(answer([&](OutputFile file) {
                return value_histogram(std::move(file), metadata_, {{"", "nope"}, {}});
              }),
              HasSubstr("no event has a field `nope`"));
  EXPECT_THAT(answer([&](OutputFile file) {
                return latencies(std::move(file), metadata_, {"nope", "closed", {}});
              }),
              HasSubstr("no event `nope`"));
  EXPECT_THAT(answer([&](OutputFile file) { return recording_statistics(std::move(file), metadata_, 5); }),
              HasSubstr("records 5  time 0.000005 s"));
}

TEST_F(FormatsTest, AnswersAreJson) {
  const auto json_of = [&](auto ask) {
    return Json::parse(answer([&](OutputFile file) { return ask(std::move(file)); }), nullptr, false);
  };
  const Json count =
      json_of([&](OutputFile file) { return count_events(std::move(file), metadata_, {}, AnswerForm::Json); });
  EXPECT_EQ(count["events"][0], Json({{"event", "kprobes:opened"}, {"recorded", 3}})) << count;
  const Json hist = json_of([&](OutputFile file) {
    return value_histogram(std::move(file), metadata_, {{"opened", "path"}, {}}, AnswerForm::Json);
  });
  EXPECT_EQ(hist["groups"][0]["texts"].size(), 3u) << hist;  // one of them is no UTF-8
  const Json lat = json_of([&](OutputFile file) {
    return latencies(std::move(file), metadata_, {"opened", "closed", {}}, AnswerForm::Json);
  });
  EXPECT_EQ(lat["rows"][0]["count"], 2) << lat;
  const Json stat =
      json_of([&](OutputFile file) { return recording_statistics(std::move(file), metadata_, 5, AnswerForm::Json); });
  EXPECT_EQ(stat["records"], 5) << stat;
  EXPECT_TRUE(json_of([&](OutputFile file) {
                return live_table(std::move(file), metadata_, 5, AnswerForm::Json);
              }).is_object());
}

TEST_F(FormatsTest, CountersAreTheCountWhereTheyAreKnown) {
  metadata_.totals = {{.event = "kprobes/opened", .attempts = 9, .recorded = 3, .filtered = 1, .lost = 4, .missed = 1},
                      {.event = "kprobes/closed", .attempts = 2, .recorded = 2, .sees_misses = false}};
  EXPECT_EQ(answer([&](OutputFile file) { return count_events(std::move(file), metadata_); }),
            "EVENT                                        HITS     RECORDED     FILTERED         LOST       MISSED\n"
            "kprobes:opened                                  9            3            1            4            1\n"
            "kprobes:closed                                  2            2            0            0            ?\n");
  const std::string part = answer([&](OutputFile file) {
    return count_events(std::move(file), metadata_, {.counts = Counted::Records, .events = {"op*"}});
  });
  EXPECT_THAT(part, testing::EndsWith("not in here: 4 hits lost, 1 missed\n"));
}

TEST(Histogram, PercentilesAreTrueToAFewPercent) {
  Histogram h;
  for (std::uint64_t i = 1; i <= 100'000; ++i) h.add(i);
  EXPECT_NEAR(static_cast<double>(h.percentile(50)), 50'000, 1000);
  EXPECT_NEAR(static_cast<double>(h.percentile(99)), 99'000, 2000);
  EXPECT_EQ(h.percentile(100), 100'000u);
  EXPECT_EQ(h.min(), 1u);
  h.add(~0ull);
  EXPECT_EQ(h.max(), ~0ull);
  EXPECT_EQ(h.percentile(100), ~0ull);
  EXPECT_EQ(Histogram().percentile(50), 0u);
  Histogram small;
  for (std::uint64_t i = 0; i < 64; ++i) small.add(i);
  EXPECT_EQ(small.percentile(50), 31u);
}

TEST(JsonText, IsValidWhateverTheBytes) {
  for (int a = 0; a < 256; ++a)
    for (int b = 0; b < 256; b += 7) {
      const std::string text = {static_cast<char>(a), static_cast<char>(b), 'x'};
      std::string out;
      append_json_string(text, out);
      ASSERT_TRUE(Json::accept(out)) << a << " " << b;
    }
  std::string out;
  EXPECT_TRUE(append_json_string("h\xc3\xa4\"\\\n", out));
  EXPECT_EQ(out, "\"h\xc3\xa4\\\"\\\\\\u000a\"");
  EXPECT_FALSE(append_json_string("\xed\xa0\x80", out));
}

}  // namespace
}  // namespace kevt::record
