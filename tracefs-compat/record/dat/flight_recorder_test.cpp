#include "tracefs-compat/record/dat/flight_recorder.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>

#include "tracefs-compat/record/record_testing.h"

namespace kevt::record {
namespace {

constexpr std::uint64_t kWindow = 256 << 10;

class FlightRecorderTest : public testing::TestWithParam<FileFormat> {
 protected:
  void SetUp() override { fill(metadata_); }
  void add(RecordWriter& writer, int from, int to) {
    for (int i = from; i < to; ++i) {
      const Bytes bytes = i % 3 ? opened(7, "/tmp/some/file/name", i) : closed(8, i);
      const auto time = 1'000'000'000ull + static_cast<std::uint64_t>(i) * 1000;
      ASSERT_TRUE(writer.add(typed(metadata_, time, 0, bytes)));
      if (i % 5000 == 0) {
        ASSERT_TRUE(writer.flush());
      }
    }
  }
  // The numbers of the records (in their time stamps), by event.
  static std::vector<int> numbers(RecordReader& reader) {
    std::vector<int> out;
    for (TypedRecord record; reader.next(record);)
      out.push_back(static_cast<int>((record.time_ns - 1'000'000'000) / 1000));
    return out;
  }
  static std::uint64_t disk_bytes(const std::string& path) {
    struct stat status = {};
    EXPECT_EQ(stat(path.c_str(), &status), 0);
    return static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  // A gapless end of 0 … count-1 that fills at least half of the window.
  static void expect_newest(const std::vector<int>& got, int count) {
    ASSERT_FALSE(got.empty());
    EXPECT_EQ(got.back(), count - 1);
    EXPECT_EQ(got.front(), count - static_cast<int>(got.size()));
    EXPECT_GT(got.size() * 40, kWindow / 2);
    EXPECT_LT(got.size() * 16, kWindow);
  }

  TemporaryFolder folder_;
  Metadata metadata_;
};

TEST_P(FlightRecorderTest, KeepsTheNewestAndCountsTheOthers) {
  constexpr int kCount = 300'000;  // more than two areas
  const std::string path = folder_.file("flight");
  auto writer = create_flight_recording(GetParam(), path, metadata_, kWindow);
  ASSERT_TRUE(writer) << writer.error().message();
  add(**writer, 0, kCount);
  EXPECT_LE((*writer)->bytes(), kWindow);
  const auto formats = metadata_.formats.all();
  std::uint64_t gone = 0;
  for (const EventFormat& event : formats) gone += (*writer)->overwritten(static_cast<std::uint16_t>(event.id));
  ASSERT_TRUE((*writer)->finish());
  auto reader = open_recording(path);
  ASSERT_TRUE(reader) << reader.error().message();
  const std::vector<int> got = numbers(**reader);
  expect_newest(got, kCount);
  EXPECT_EQ(got.size() + gone, std::size_t{kCount});
  EXPECT_THAT((*reader)->problems(), testing::IsEmpty());
  const std::filesystem::directory_iterator files(std::filesystem::path(path).parent_path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

INSTANTIATE_TEST_SUITE_P(Formats, FlightRecorderTest,
                         testing::Values(FileFormat::Dat, FileFormat::Dat7, FileFormat::Json),
                         [](const auto& test) { return std::string(name_of(test.param)); });

// At many moments, which fall before and behind each move of a window to the begin of its area.
TEST_F(FlightRecorderTest, IsWholeWheneverItsWriterIsKilled) {
  const std::string path = folder_.file("flight.dat");
  auto writer = create_flight_recording(FileFormat::Dat, path, metadata_, kWindow);
  ASSERT_TRUE(writer);
  for (int count = 0; count < 250'000; count += 2'500) {
    add(**writer, count, count + 2'500);
    ASSERT_TRUE((*writer)->flush());
    if (count < 25'000) continue;
    auto reader = open_recording(path);
    ASSERT_TRUE(reader) << reader.error().message();
    expect_newest(numbers(**reader), count + 2'500);
    EXPECT_THAT((*reader)->problems(), testing::IsEmpty());
    EXPECT_LT(disk_bytes(path), 4 * kWindow + (1 << 20)) << "what was given up stays on the disk";
  }
}

TEST_F(FlightRecorderTest, OfAnUnfinishedOneARecordingIsLeft) {
  const std::string path = folder_.file("flight.json");
  {
    auto writer = create_flight_recording(FileFormat::Json, path, metadata_, kWindow);
    ASSERT_TRUE(writer);
    add(**writer, 0, 1000);
    ASSERT_TRUE((*writer)->flush());
  }
  std::vector<std::string> left;
  for (const auto& file : std::filesystem::directory_iterator(std::filesystem::path(path).parent_path()))
    left.push_back(file.path());
  ASSERT_EQ(left.size(), 1u);
  EXPECT_THAT(left[0], testing::AllOf(testing::StartsWith(path + "."), testing::EndsWith(".flight")));
  auto reader = open_recording(left[0]);
  ASSERT_TRUE(reader) << reader.error().message();
  EXPECT_EQ(numbers(**reader).size(), 1000u);
}

TEST_F(FlightRecorderTest, KeepsAllThatFits) {
  const std::string path = folder_.file("flight.dat");
  auto writer = create_flight_recording(FileFormat::Dat, path, metadata_, kWindow);
  ASSERT_TRUE(writer);
  add(**writer, 0, 3000);
  ASSERT_TRUE((*writer)->finish());
  for (const EventFormat& event : metadata_.formats.all())
    EXPECT_EQ((*writer)->overwritten(static_cast<std::uint16_t>(event.id)), 0u);
  auto reader = open_recording(path);
  ASSERT_TRUE(reader);
  EXPECT_EQ(numbers(**reader).size(), 3000u);
}

}  // namespace
}  // namespace kevt::record
