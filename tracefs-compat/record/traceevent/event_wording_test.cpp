// The process is the one that kevtrace uses; its texts are those of libtraceevent 1.7's plugins.
#include "tracefs-compat/record/traceevent/event_wording.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <ranges>

#include "tracefs-compat/record/print/trace_line.h"
#include "tracefs-compat/record/record_testing.h"

namespace kevt::record {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Can = EventWording::Can;

constexpr std::string_view kCommon =
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

std::string format_text(std::string_view name, int id, std::string_view rest) {
  return "name: " + std::string(name) + "\nID: " + std::to_string(id) + "\nformat:\n" + std::string(kCommon) +
         std::string(rest);
}

const std::string kSwitch = format_text(
    "sched_switch", 316,
    "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\tfield:pid_t "
    "prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
    "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
    "\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n\tfield:pid_t "
    "next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
    "\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\n"
    "print fmt: \"prev_comm=%s prev_pid=%d ==> next_comm=%s\", REC->prev_comm, REC->prev_pid, REC->next_comm\n");
const std::string kPlain = format_text("plain", 400,
                                       "\tfield:int number;\toffset:8;\tsize:4;\tsigned:1;\n\n"
                                       "print fmt: \"number=%d\", REC->number\n");

class EventWordingTest : public testing::Test {
 protected:
  const EventFormat& add(std::string_view system, const std::string& text) {
    auto format = parse_format(system, text);
    EXPECT_TRUE(format) << text;
    return metadata_.formats.add(std::move(*format));
  }
  TypedRecord record_of(const EventFormat& event, std::size_t bytes) {
    bytes_.assign(bytes, 0);
    const auto id = static_cast<std::uint16_t>(event.id);
    std::memcpy(bytes_.data(), &id, sizeof id);
    return {.event = &event, .time_ns = 5'000'000'000, .cpu = 1, .pid = 7, .comm = "bash", .bytes = bytes_};
  }
  TypedRecord switched() {
    TypedRecord record = record_of(add("sched", kSwitch), 64);
    std::strcpy(reinterpret_cast<char*>(bytes_.data() + 8), "bash");
    std::strcpy(reinterpret_cast<char*>(bytes_.data() + 40), "swapper/0");
    for (const auto& [at, number] : {std::pair{24u, 7}, {28u, 120}, {32u, 1}, {60u, 120}})
      std::memcpy(bytes_.data() + at, &number, sizeof number);
    return record;
  }
  std::string line(TraceLines& lines, const TypedRecord& record) {
    std::string out;
    lines.append(record, out);
    return out.substr(out.find(": ") + 2);
  }

  Metadata metadata_;
  std::vector<std::uint8_t> bytes_;
};

// Our children, by the kernel's list.
std::vector<pid_t> children() {
  std::ifstream file("/proc/self/task/" + std::to_string(gettid()) + "/children");
  std::vector<pid_t> pids;
  for (pid_t pid; file >> pid;) pids.push_back(pid);
  return pids;
}

TEST_F(EventWordingTest, EventsOfPluginsAreToldInTheirWords) {
  EventWording wording(metadata_);
  EXPECT_EQ(wording.can(add("sched", kSwitch)), Can::PrintInWords);
  EXPECT_EQ(wording.can(add("other", kPlain)), Can::Print);
  EXPECT_FALSE(wording.take_problem());
  TraceLines lines(metadata_, {.words = TraceLines::Words::Plugins});
  EXPECT_EQ(line(lines, switched()), "sched_switch: bash:7 [120] S ==> swapper/0:0 [120]\n");
  TraceLines kernels(metadata_);
  EXPECT_EQ(line(kernels, switched()), "sched_switch: prev_comm=bash prev_pid=7 ==> next_comm=swapper/0\n");
}

TEST_F(EventWordingTest, ManyLinesAreCompletedAtOnce) {
  TraceLines lines(metadata_, {.words = TraceLines::Words::Plugins, .is_completed_later = true});
  const TypedRecord of_plugin = switched();
  const std::vector<std::uint8_t> its = bytes_;
  const TypedRecord plain = record_of(add("other", kPlain), 12);
  const std::vector<std::uint8_t> plains = bytes_;
  std::string out, expected;
  for (int i = 0; i < 1000; ++i) {
    TypedRecord record = i % 3 ? of_plugin : plain;
    record.bytes = i % 3 ? its : plains;
    lines.append(record, out);
    expected += i % 3 ? "sched_switch: bash:7 [120] S ==> swapper/0:0 [120]\n" : "plain: number=0\n";
  }
  lines.complete(out);
  std::string events;
  for (std::size_t at = 0; at < out.size();) {
    const auto end = out.find('\n', at);
    const auto begin = out.find(": ", at) + 2;
    events += out.substr(begin, end + 1 - begin);
    at = end + 1;
  }
  EXPECT_EQ(events, expected);
}

TEST_F(EventWordingTest, TextsThatAreAskedForAheadAreThose) {
  TraceLines lines(metadata_, {.words = TraceLines::Words::Plugins});
  std::vector<std::vector<std::uint8_t>> bytes;
  std::vector<TypedRecord> records;
  const TypedRecord of_plugin = switched();
  for (const int pid : {1, 2, 3}) {
    records.push_back(of_plugin);
    std::memcpy(bytes_.data() + 24, &pid, sizeof pid);
    bytes.push_back(bytes_);
  }
  records.insert(records.begin() + 1, record_of(add("other", kPlain), 12));
  bytes.insert(bytes.begin() + 1, bytes_);
  for (std::size_t i = 0; i < records.size(); ++i) records[i].bytes = bytes[i];
  lines.ask_ahead(records);
  const auto pids = children();
  ASSERT_EQ(pids.size(), 1u);
  ASSERT_EQ(kill(pids.front(), SIGKILL), 0);  // nothing is asked for any more
  std::string all;
  for (const TypedRecord& record : records) all += line(lines, record);
  EXPECT_EQ(all,
            "sched_switch: bash:1 [120] S ==> swapper/0:0 [120]\nplain: number=0\n"
            "sched_switch: bash:2 [120] S ==> swapper/0:0 [120]\nsched_switch: bash:3 [120] S ==> swapper/0:0 [120]\n");
  EXPECT_EQ(line(lines, records[0]), "sched_switch: bash:1 [120] S ==> swapper/0:0 [120]\n") << "asked for now";
}

// Others follow one another until one event is left to us.
TEST_F(EventWordingTest, AProcessThatGivesNoAnswerIsNotWaitedForLong) {
  TraceLines lines(metadata_, {.words = TraceLines::Words::Plugins});
  lines.set_patience(std::chrono::milliseconds(1000));
  const TypedRecord record = switched();
  EXPECT_THAT(line(lines, record), HasSubstr("==> swapper/0:0"));
  const auto pids = children();
  ASSERT_EQ(pids.size(), 1u);
  ASSERT_EQ(kill(pids.front(), SIGSTOP), 0);
  EXPECT_THAT(line(lines, record), HasSubstr("==> swapper/0:0")) << "another one is asked";
  EXPECT_THAT(children(), testing::Not(testing::Contains(pids.front())));
}

TEST_F(EventWordingTest, FilesOfLinesAreToldInTheirReadersWords) {
  const std::string worded = "sched_switch: bash:7 [120] S ==> swapper/0:0 [120]\n";
  const std::string of_the_kernel = "sched_switch: prev_comm=bash prev_pid=7 ==> next_comm=swapper/0\n";
  const TypedRecord record = switched();
  TemporaryFolder folder;
  for (const auto& [format, expected] : {std::pair{FileFormat::Text, ": " + worded},
                                         {FileFormat::PerfScript, ": sched:" + worded},
                                         {FileFormat::Ftrace, ": " + of_the_kernel}}) {
    auto writer = create_recording(format, folder.file("lines"), metadata_);
    ASSERT_TRUE(writer);
    for (int i = 0; i < 2; ++i) ASSERT_TRUE((*writer)->add(record));
    ASSERT_TRUE((*writer)->flush());
    EXPECT_THAT(read_file(folder.file("lines")), HasSubstr(expected));
    ASSERT_TRUE((*writer)->add(record));
    ASSERT_TRUE((*writer)->finish());
    const std::string text = read_file(folder.file("lines"));
    EXPECT_THAT(text, testing::EndsWith(expected));
    EXPECT_EQ(std::ranges::distance(text | std::views::split(std::string_view("==> "))), 1 + 3) << text;
    EXPECT_FALSE((*writer)->take_note());
  }
}

// The text of a plugin may have lines; a file of perf script takes each for a frame.
TEST_F(EventWordingTest, ATextOfSeveralLinesIsOneForPerf) {
  TypedRecord record = switched();
  std::strcpy(reinterpret_cast<char*>(bytes_.data() + 8), "ba\nsh");
  TemporaryFolder folder;
  auto writer = create_recording(FileFormat::PerfScript, folder.file("lines"), metadata_);
  ASSERT_TRUE(writer);
  ASSERT_TRUE((*writer)->add(record));
  ASSERT_TRUE((*writer)->finish());
  EXPECT_THAT(read_file(folder.file("lines")), HasSubstr("sched_switch: ba sh:7 [120] S ==> swapper/0:0 [120]\n"));
}

// `report --raw-format`: as print fmt says; what we do not understand libtraceevent does, mostly.
TEST_F(EventWordingTest, WithoutPluginsItTellsWhatWeDoNotUnderstand) {
  const EventFormat& event = add("net", format_text("beyond_us", 600,
                                                    "\tfield:__u8 addr[4];\toffset:8;\tsize:4;\tsigned:0;\n\n"
                                                    "print fmt: \"from %pI4\", REC->addr\n"));
  ASSERT_FALSE(PrintFormat::compile(event));
  TypedRecord record = record_of(event, 12);
  for (std::size_t i = 0; i < 4; ++i) bytes_[8 + i] = static_cast<std::uint8_t>(10 + i);
  TraceLines raw(metadata_, {.words = TraceLines::Words::PrintFormat});
  EXPECT_EQ(line(raw, record), "beyond_us: from 10.11.12.13\n");
  TraceLines own(metadata_);
  EXPECT_THAT(line(own, record), StartsWith("beyond_us: addr="));
  EXPECT_EQ(line(raw, switched()), "sched_switch: prev_comm=bash prev_pid=7 ==> next_comm=swapper/0\n");
}

// It would read what lies behind.
TEST_F(EventWordingTest, ShortRecordsNeverReachIt) {
  TraceLines lines(metadata_, {.words = TraceLines::Words::Plugins});
  TypedRecord record = switched();
  record.bytes = record.bytes.first(30);
  EXPECT_THAT(line(lines, record), StartsWith("sched_switch: prev_comm="));
  EXPECT_FALSE(lines.take_problem());
}

TEST_F(EventWordingTest, WhatItCannotReadIsLeftToUs) {
  EventWording wording(metadata_);
  EventFormat broken = *parse_format("sched", kPlain);
  broken.text = "name: plain\nID: 401\nformat:\n\tfield:((((\n\nprint fmt: \"%d\", REC->";
  EXPECT_EQ(wording.can(broken), Can::Nothing);
  EXPECT_EQ(wording.can(add("sched", kSwitch)), Can::PrintInWords) << "it goes on";
}

TEST_F(EventWordingTest, AProcessThatIsKilledIsReplaced) {
  TraceLines lines(metadata_, {.words = TraceLines::Words::Plugins});
  const TypedRecord record = switched();
  EXPECT_THAT(line(lines, record), HasSubstr("==> swapper/0:0"));
  const auto pids = children();
  ASSERT_EQ(pids.size(), 1u);
  ASSERT_EQ(kill(pids.front(), SIGKILL), 0);
  EXPECT_THAT(line(lines, record), HasSubstr("==> swapper/0:0"));
  EXPECT_EQ(children().size(), 1u);
}

// libtraceevent prints as many bytes as the record says, wherever they are.
TEST_F(EventWordingTest, WhatItDiesOfIsPrintedByUs) {
  const EventFormat& deadly =
      add("regmap", format_text("deadly", 500,
                                "\tfield:__data_loc char[] buf;\toffset:8;\tsize:4;\tsigned:1;\n"
                                "\tfield:int length;\toffset:12;\tsize:4;\tsigned:1;\n\n"
                                "print fmt: \"%s\", __print_hex(__get_dynamic_array(buf), REC->length)\n"));
  EventWording wording(metadata_);
  const TypedRecord harmless = switched();
  const std::vector<std::uint8_t> its = bytes_;
  ASSERT_EQ(wording.can(*harmless.event), Can::PrintInWords);
  ASSERT_EQ(wording.can(deadly), Can::Print);
  const TypedRecord record = record_of(deadly, 17);
  for (const auto& [at, number] : {std::pair{8u, 16 | 1 << 16}, {12u, 0x7fffffff}})
    std::memcpy(bytes_.data() + at, &number, sizeof number);
  const auto queue = [&] {
    TypedRecord first = harmless;
    first.bytes = its;
    wording.queue(first);
    wording.queue(record);
    wording.queue(first);
    return wording.take();
  };
  const std::string expected = "bash:7 [120] S ==> swapper/0:0 [120]";
  EXPECT_THAT(queue(), testing::ElementsAre(expected, std::nullopt, expected));
  EXPECT_THAT(wording.take_problem().value_or(""), HasSubstr(": regmap:deadly"));
  EXPECT_THAT(queue(), testing::ElementsAre(expected, std::nullopt, expected));
  EXPECT_FALSE(wording.take_problem()) << "said once";
  EXPECT_EQ(wording.can(deadly), Can::Nothing);
}

TEST_F(EventWordingTest, TheProcessGoesWithItsAsker) {
  {
    EventWording wording(metadata_);
    wording.can(add("sched", kSwitch));
    EXPECT_EQ(children().size(), 1u);
  }
  EXPECT_TRUE(children().empty());
}

// It has no other way out than its answers.
TEST_F(EventWordingTest, ItMayOpenNothing) {
  EventWording wording(metadata_);
  wording.can(add("sched", kSwitch));
  const auto pids = children();
  ASSERT_EQ(pids.size(), 1u);
  std::ifstream status("/proc/" + std::to_string(pids.front()) + "/status");
  std::string text(std::istreambuf_iterator<char>(status), {});
  EXPECT_THAT(text, HasSubstr("Seccomp:\t2"));
  EXPECT_THAT(text, HasSubstr("NoNewPrivs:\t1"));
}

TEST(Strings, OfTheKernelAreFoundByTheirAddresses) {
  Symbols symbols;
  symbols.parse_printk_formats("0xffffffff98f5609b : \"Start \\\"tick\\\"\\n\"\nnonsense\n0x12 : \"\n0x13 : \"b\"\n");
  ASSERT_NE(symbols.string_at(0xffffffff98f5609b), nullptr);
  EXPECT_EQ(*symbols.string_at(0xffffffff98f5609b), "Start \"tick\"\n");
  EXPECT_EQ(symbols.string_at(0x12), nullptr);
  EXPECT_EQ(*symbols.string_at(0x13), "b");
}

}  // namespace
}  // namespace kevt::record
