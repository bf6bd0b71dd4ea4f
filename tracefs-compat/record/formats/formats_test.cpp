// What the writers of other formats write, and the questions to records.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tracefs-compat/record/analysis/analysis.h"
#include "tracefs-compat/record/analysis/call_pairs.h"
#include "tracefs-compat/record/analysis/compare.h"
#include "tracefs-compat/record/analysis/folded_paths.h"
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

TEST_F(FormatsTest, RecordingsAreCompared) {
  written(FileFormat::Json);
  auto a = open_recording(folder_.file("out")), b = open_recording(folder_.file("out"));
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
TEST_F(FormatsTest, PartsOfRecordingsAreCompared) {
  auto writer = create_recording(FileFormat::Json, folder_.file("parts.json"), metadata_);
  for (const std::uint64_t ms : {1000, 1100, 1200, 2000, 2500, 3000})
    ASSERT_TRUE((*writer)->add(typed(metadata_, ms * 1'000'000, 0, closed(7, 0))));
  ASSERT_TRUE((*writer)->finish());
  auto a = open_recording(folder_.file("parts.json")), b = open_recording(folder_.file("parts.json"));
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
    const Json json = Json::parse(comparison_json(*both));
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
TEST_F(FormatsTest, RecordingsAreAlignedOnAnEvent) {
  const auto put = [&](const char* name, const std::vector<std::pair<std::uint64_t, Bytes>>& records) {
    auto writer = create_recording(FileFormat::Json, folder_.file(name), metadata_);
    for (const auto& [time, bytes] : records) EXPECT_TRUE((*writer)->add(typed(metadata_, time, 0, bytes)));
    EXPECT_TRUE((*writer)->finish());
    return open_recording(folder_.file(name));
  };
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
  EXPECT_EQ(Json::parse(comparison_json(*both))["aligned_on"], "opened");
  all_of_a.rewind();
  all_of_b.rewind();
  const auto none = compare_recordings(all_of_a, all_of_b, {.values = {}, .latencies = {}, .align_on = "nobody"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message(), "A has no record of `nobody` to align on");
}

TEST(CallPairs, NestPerThread) {
  Metadata metadata;
  fill(metadata);
  CallPairs pairs;
  const auto entry = [&](std::uint64_t at, std::uint64_t ns) {
    Bytes bytes = opened(7, "x", 1);
    store<std::uint64_t>(bytes, 8, at);
    return pairs.add(typed(metadata, ns, 0, bytes));
  };
  const auto leave = [&](std::uint64_t at, std::uint64_t ns) {
    Bytes bytes = closed(7, 1);
    store<std::uint64_t>(bytes, 8, at);
    return pairs.add(typed(metadata, ns, 0, bytes));
  };
  entry(0x10, 100);
  entry(0x20, 110);
  entry(0x30, 115);  // never returns
  const auto inner = leave(0x20, 120);
  ASSERT_TRUE(inner);
  EXPECT_EQ(inner->callers, std::vector<std::uint64_t>{0x10});
  const auto outer = leave(0x10, 150);
  ASSERT_TRUE(outer);
  EXPECT_EQ(outer->inside_ns, 10u);
  EXPECT_EQ(outer->end_ns - outer->begin_ns, 50u);
  EXPECT_FALSE(leave(0x10, 160));
  EXPECT_EQ(pairs.unmatched(), 2u);
}

// An entry probe without a return probe, between a call and what it calls.
TEST(CallPairs, AFunctionWithoutReturnIsNoCaller) {
  Metadata metadata;
  fill(metadata);
  CallPairs pairs;
  FoldedPaths paths(metadata);
  std::uint64_t now = 1000;
  const auto record = [&](bool is_entry, std::uint64_t function) {
    Bytes bytes = is_entry ? opened(7, "x", 1) : closed(7, 1);
    store<std::uint64_t>(bytes, 8, function);
    now += 10;
    const TypedRecord typed_record = typed(metadata, now, 0, bytes);
    paths.add(typed_record);
    return pairs.add(typed_record);
  };
  constexpr std::uint64_t kOuter = 0x10, kInner = 0x20, kOnlyEntered = 0x30;
  for (int i = 0; i < 400; ++i) {
    record(true, kOuter);
    record(true, kOnlyEntered);
    record(true, kInner);
    const auto inner = record(false, kInner);
    const auto outer = record(false, kOuter);
    ASSERT_TRUE(inner && outer);
    EXPECT_EQ(outer->inside_ns, 10u) << i;
    EXPECT_EQ(inner->callers.front(), kOuter) << i;
  }
  EXPECT_TRUE(pairs.never_returns(kOnlyEntered));
  EXPECT_FALSE(pairs.never_returns(kOuter) || pairs.never_returns(kInner));
  const auto folded = paths.folded();
  EXPECT_EQ(folded.weights.size(), 2u);
  for (const auto& [path, weight] : folded.weights) {
    EXPECT_EQ(std::ranges::count(path, ';'), weight == 400 * 10 ? 2 : 1) << path;
    EXPECT_TRUE(weight == 400 * 10 || weight == 400 * 30) << weight;
  }
}

TEST(CallPairs, RecursionIsNoFunctionWithoutReturn) {
  Metadata metadata;
  fill(metadata);
  CallPairs pairs;
  std::uint64_t now = 0;
  const auto record = [&](bool is_entry) {
    Bytes bytes = is_entry ? opened(7, "x", 1) : closed(7, 1);
    store<std::uint64_t>(bytes, 8, 0x10);
    return pairs.add(typed(metadata, now += 10, 0, bytes));
  };
  for (int round = 0; round < 5; ++round) {
    for (int depth = 0; depth < 400; ++depth) record(true);
    for (std::uint64_t depth = 0; depth < 400; ++depth) {
      const auto call = record(false);
      ASSERT_TRUE(call);
      EXPECT_EQ(call->end_ns - call->begin_ns, 10 + 20 * depth);
    }
  }
  EXPECT_FALSE(pairs.never_returns(0x10));
  EXPECT_EQ(pairs.unmatched(), 0u);
}

// Nothing is around these entries, so that nothing passes them over.
TEST(CallPairs, EntriesBesideCallsAreNoCallers) {
  Metadata metadata;
  fill(metadata);
  FoldedPaths paths(metadata);
  std::uint64_t now = 1000;
  const auto record = [&](bool is_entry, std::uint64_t function) {
    Bytes bytes = is_entry ? opened(7, "x", 1) : closed(7, 1);
    store<std::uint64_t>(bytes, 8, function);
    paths.add(typed(metadata, now += 10, 0, bytes));
  };
  record(true, 0x40);  // as main(): it is still under way at the end
  for (int i = 0; i < 100; ++i) {
    record(true, 0x30);
    record(true, 0x10);
    record(false, 0x10);
  }
  const auto folded = paths.folded();
  ASSERT_EQ(folded.weights.size(), 1u);
  EXPECT_EQ(std::ranges::count(folded.weights.begin()->first, ';'), 2) << folded.weights.begin()->first;
  EXPECT_EQ(folded.weights.begin()->second, 1000u);
}

// A path that was there needs no text; whose it is must be told all the same.
TEST(FoldedPaths, AreOfTheNameThatAThreadHasWhenACallEnds) {
  Metadata metadata;
  fill(metadata);
  FoldedPaths paths(metadata);
  std::uint64_t now = 1000;
  const auto record = [&](int pid, std::string_view comm, bool is_entry, std::uint64_t function) {
    Bytes bytes = is_entry ? opened(pid, "x", 1) : closed(pid, 1);
    store<std::uint64_t>(bytes, 8, function);
    TypedRecord one = typed(metadata, now += 10, 0, bytes);
    one.comm = comm;
    paths.add(one);
  };
  for (int round = 0; round < 3; ++round)
    for (const char* comm : {"first", "then"})
      for (const int pid : {7, 8}) {
        record(pid, comm, true, 0x10);
        record(pid, comm, true, 0x20);
        record(pid, comm, false, 0x20);
        record(pid, comm, false, 0x10);
      }
  const auto folded = paths.folded();
  EXPECT_EQ(folded.weights,
            (PathWeights{{"first;0x10", 120}, {"first;0x10;0x20", 60}, {"then;0x10", 120}, {"then;0x10;0x20", 60}}));
}

// More paths than are told apart, and than are known without their text: no weight is lost.
TEST(FoldedPaths, HaveTheWeightOfAllCallsHoweverManyThereAre) {
  Metadata metadata;
  fill(metadata);
  FoldedPaths paths(metadata);
  std::uint64_t now = 1000;
  constexpr std::uint64_t kFunctions = 300'000;
  for (int round = 0; round < 2; ++round)
    for (std::uint64_t function = 1; function <= kFunctions; ++function)
      for (const bool is_entry : {true, false}) {
        Bytes bytes = is_entry ? opened(7, "x", 1) : closed(7, 1);
        store<std::uint64_t>(bytes, 8, function << 4);
        paths.add(typed(metadata, now += 10, 0, bytes));
      }
  std::uint64_t sum = 0;
  for (const auto& [path, weight] : paths.folded().weights) {
    EXPECT_TRUE(weight == 20 || path == "(others)") << path;
    sum += weight;
  }
  EXPECT_EQ(sum, 2 * 10 * kFunctions);
}

// Its probe may be switched on late.
TEST(CallPairs, AReturnThatComesLateMakesCallsFromThenOn) {
  Metadata metadata;
  fill(metadata);
  CallPairs pairs;
  std::uint64_t now = 0;
  const auto record = [&](bool is_entry, std::uint64_t function) {
    Bytes bytes = is_entry ? opened(7, "x", 1) : closed(7, 1);
    store<std::uint64_t>(bytes, 8, function);
    return pairs.add(typed(metadata, now += 10, 0, bytes));
  };
  for (int i = 0; i < 600; ++i) {
    record(true, 0x10);
    record(true, 0x30);
    record(false, 0x10);
  }
  EXPECT_FALSE(record(false, 0x30));
  record(true, 0x30);
  EXPECT_TRUE(record(false, 0x30));
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
