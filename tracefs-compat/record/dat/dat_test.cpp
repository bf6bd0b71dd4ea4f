#include <gmock/gmock.h>

#include <random>
#include <set>

#include "tracefs-compat/record/dat/dat_reader.h"
#include "tracefs-compat/record/dat/dat_writer.h"
#include "tracefs-compat/record/print/trace_line.h"
#include "tracefs-compat/record/record_testing.h"

namespace kevt::record {
namespace {

constexpr int kRecords = 4000;  // many pages on both CPUs

Bytes nth(int i) { return i % 3 ? opened(7 + i % 2, ("/tmp/" + std::to_string(i)).c_str(), i) : closed(8, -i); }
std::uint64_t nth_time(int i) { return 1'000'000'000ull + static_cast<std::uint64_t>(i) * 1000; }

struct Kept {
  std::uint64_t time_ns;
  std::uint32_t cpu;
  std::string event, comm;
  Bytes bytes;
  friend bool operator==(const Kept&, const Kept&) = default;
};

std::vector<Kept> all_of(RecordReader& reader) {
  std::vector<Kept> out;
  TypedRecord record;
  while (reader.next(record)) {
    Bytes bytes(record.bytes.begin(), record.bytes.end());
    bytes.resize((bytes.size() + 3) / 4 * 4);
    out.push_back({record.time_ns, record.cpu, record.event->name, std::string(record.comm), bytes});
  }
  return out;
}

class DatTest : public testing::Test {
 protected:
  void SetUp() override { fill(metadata_); }

  std::unique_ptr<RecordWriter> writer(FileFormat format = FileFormat::Dat) {
    auto made = create_recording(format, path_, metadata_);
    EXPECT_TRUE(made) << made.error().message();
    return std::move(*made);
  }
  void add(RecordWriter& writer, int from, int to) {
    for (int i = from; i < to; ++i) {
      const Bytes bytes = nth(i);
      ASSERT_TRUE(writer.add(typed(metadata_, nth_time(i), static_cast<std::uint32_t>(i % 5 == 0), bytes)));
    }
  }
  std::vector<Kept> expected(int count) {
    std::vector<Kept> out;
    for (int i = 0; i < count; ++i) {
      Bytes bytes = nth(i);
      const TypedRecord record = typed(metadata_, nth_time(i), i % 5 == 0, bytes);
      Bytes padded = bytes;
      padded.resize((padded.size() + 3) / 4 * 4);
      out.push_back(
          {nth_time(i), static_cast<std::uint32_t>(i % 5 == 0), record.event->name, std::string(record.comm), padded});
    }
    return out;
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.file("t.dat");
  Metadata metadata_;
};

class DatRoundTrip : public DatTest, public testing::WithParamInterface<FileFormat> {};

TEST_P(DatRoundTrip, GivesBackRecordsAndMetadata) {
  auto out = writer(GetParam());
  add(*out, 0, kRecords);
  metadata_.totals = {{"kprobes/opened", 9, 5, 1, 2, 1, 0}};
  metadata_.histograms = {{.objects = {R"({"event":"kprobes:opened","hits":4})"}, .text = "# first\n\\n\n"},
                          {.objects = {R"({"event":"a:b"})", R"({"event":"a:b","hits":5})"}, .text = "second\n"}};
  ASSERT_TRUE(out->finish());
  auto reader = open_recording(path_);
  ASSERT_TRUE(reader) << reader.error().message();
  EXPECT_EQ(all_of(**reader), expected(kRecords));
  EXPECT_THAT((*reader)->problems(), testing::IsEmpty());
  const Metadata& got = (*reader)->metadata();
  EXPECT_EQ(got.clock, "mono");
  EXPECT_EQ(got.host, "Linux test");
  EXPECT_EQ(got.cpus, 2u);
  EXPECT_EQ(got.definitions, metadata_.definitions);
  EXPECT_EQ(got.filters, metadata_.filters);
  EXPECT_EQ(got.wall_offset_ns, metadata_.wall_offset_ns);
  ASSERT_EQ(got.totals.size(), 1u);
  EXPECT_EQ(got.totals[0].lost, 2u);
  ASSERT_EQ(got.histograms.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(got.histograms[i].objects, metadata_.histograms[i].objects);
    EXPECT_EQ(got.histograms[i].text, metadata_.histograms[i].text);
  }
  EXPECT_EQ(got.symbols.find(0x7f0000001004)->module, "libc.so.6");
  (*reader)->rewind();
  EXPECT_EQ(all_of(**reader).size(), std::size_t{kRecords});
  EXPECT_EQ((*reader)->metadata().histograms.size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(Versions, DatRoundTrip, testing::Values(FileFormat::Dat, FileFormat::Dat7, FileFormat::Json),
                         [](const auto& test) { return std::string(name_of(test.param)); });

TEST_F(DatTest, IsWholeWhenItsWriterIsKilled) {
  auto out = writer();
  add(*out, 0, 1000);
  ASSERT_TRUE(out->flush());
  metadata_.comms[9] = "late";
  add(*out, 1000, 1010);  // never flushed
  auto reader = open_recording(path_);
  ASSERT_TRUE(reader);
  EXPECT_EQ(all_of(**reader), expected(1000));
  EXPECT_THAT((*reader)->problems(), testing::IsEmpty());
  ASSERT_TRUE(out->flush());
  reader = open_recording(path_);
  EXPECT_EQ(all_of(**reader), expected(1010));
  EXPECT_EQ((*reader)->metadata().comm_of(9), "late");
}

TEST_F(DatTest, ShowsWhatIsThereOfACutFileAndSaysWhatIsNot) {
  auto out = writer();
  add(*out, 0, kRecords);
  ASSERT_TRUE(out->finish());
  const std::string whole = read_file(path_);
  std::size_t most = 0;
  for (std::size_t length = 0; length < whole.size(); length += 1777) {
    write_file(path_, std::string_view(whole).substr(0, length));
    auto reader = open_recording(path_);
    if (!reader) continue;
    const std::size_t got = all_of(**reader).size();
    EXPECT_THAT((*reader)->problems(), testing::Not(testing::IsEmpty())) << length;
    EXPECT_GE(got, most) << length;
    most = got;
  }
  EXPECT_GT(most, std::size_t{kRecords / 2});
}

TEST_F(DatTest, SurvivesFlippedBits) {
  auto out = writer();
  add(*out, 0, 300);
  ASSERT_TRUE(out->finish());
  const std::string whole = read_file(path_);
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string broken = whole;
    for (int i = 0; i < 3; ++i) broken[random() % broken.size()] ^= static_cast<char>(1 << random() % 8);
    write_file(path_, broken);
    auto reader = open_recording(path_);
    if (!reader) continue;
    EXPECT_LE(all_of(**reader).size(), 5000u);
  }
}

TEST_F(DatTest, RefusesWhatIsNotForHere) {
  auto out = writer();
  add(*out, 0, 3);
  ASSERT_TRUE(out->finish());
  std::string bytes = read_file(path_);
  const auto message = [&](std::size_t at, char value) {
    std::string changed = bytes;
    changed[at] = value;
    write_file(path_, changed);
    auto reader = open_recording(path_);
    return reader ? std::string("read") : reader.error().message();
  };
  EXPECT_THAT(message(12, 1), testing::HasSubstr("big-endian"));
  EXPECT_THAT(message(13, 4), testing::HasSubstr("32-bit"));
  EXPECT_THAT(message(10, '8'), testing::HasSubstr("version `8`"));
  EXPECT_THAT(message(0, 'x'), testing::HasSubstr("no recording"));
  EXPECT_FALSE(open_recording(folder_.file("missing")));
  EXPECT_FALSE(open_recording("/dev/null"));
}

TEST_F(DatTest, TellsWhereRecordsWereLost) {
  auto out = writer();
  add(*out, 0, 10);
  const Bytes bytes = nth(10);
  TypedRecord record = typed(metadata_, nth_time(10), 0, bytes);
  record.lost_before = 42;
  ASSERT_TRUE(out->add(record));
  ASSERT_TRUE(out->finish());
  auto reader = open_recording(path_);
  ASSERT_TRUE(reader);
  TypedRecord got;
  std::uint64_t lost = 0;
  while ((*reader)->next(got)) lost += got.lost_before;
  EXPECT_EQ(lost, 42u);
}

TEST_F(DatTest, NamesAddressesAndCharactersForToolsThatKnowNoSymbols) {
  auto out = writer();
  add(*out, 0, 10);
  ASSERT_TRUE(out->finish());
  const std::string bytes = read_file(path_);
  EXPECT_NE(bytes.find("print fmt: \"(%s) path=\\\"%s\\\" fd=%d\", __print_symbolic(REC->__probe_ip, { 0x7f0000001000, "
                       "\"open+0x0/0x128 [libc.so.6]\" }), __get_str(path), REC->fd\n"),
            std::string::npos);
}

// One address is two functions.
TEST_F(DatTest, NamesAddressesByTheProcessOfTheThread) {
  metadata_.process_of = {{7, 70}, {8, 80}};
  for (std::int32_t pid : {70, 80}) {
    metadata_.processes[pid].name = "program";
    metadata_.processes[pid].mappings = {{0x7f0000001000, 0x7f0000002000, "/lib/libx.so"}};
    metadata_.processes[pid].symbols.add({0x7f0000001000, 0x128, "of_" + std::to_string(pid), ""});
  }
  for (FileFormat format : {FileFormat::Dat, FileFormat::Dat7, FileFormat::Json}) {
    auto out = writer(format);
    add(*out, 0, 30);
    ASSERT_TRUE(out->finish());
    auto reader = open_recording(path_);
    ASSERT_TRUE(reader) << reader.error().message();
    TraceLines lines((*reader)->metadata());
    std::string text;
    std::set<std::int32_t> seen;
    for (TypedRecord record; (*reader)->next(record); text.clear()) {
      lines.append_event(record, text);
      if (record.pid != 7 && record.pid != 8) continue;
      seen.insert(record.pid);
      EXPECT_THAT(text, testing::HasSubstr("of_" + std::to_string(10 * record.pid))) << name_of(format);
    }
    EXPECT_EQ(seen.size(), 2u);
    EXPECT_EQ((*reader)->metadata().process_of, metadata_.process_of);
  }
}

TEST_F(DatTest, NeedsARegularFile) {
  EXPECT_FALSE(create_recording(FileFormat::Dat, "-", metadata_));
  EXPECT_FALSE(create_recording(FileFormat::Dat, "/dev/full", metadata_));
  EXPECT_FALSE(create_recording(FileFormat::Dat, folder_.file("no/such"), metadata_));
}

}  // namespace
}  // namespace kevt::record
