// Recordings made to harm: numbers that promise too much, chains that go in circles. (dat_test.cpp cuts files and flips
// bits.) Promises: an end, no crash, little memory, and a reason with its place.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <bit>
#include <cstring>

#include "tracefs-compat/record/record_testing.h"

namespace kevt::record {
namespace {

constexpr std::uint64_t kCount = 200;

class HostileTest : public testing::Test {
 protected:
  void SetUp() override { fill(metadata_); }

  std::string made(FileFormat format) {
    auto writer = create_recording(format, path_, metadata_);
    EXPECT_TRUE(writer);
    for (std::uint64_t i = 0; i < kCount; ++i) {
      const Bytes bytes = i % 3 ? opened(7, "/tmp/x", static_cast<int>(i)) : closed(8, 1);
      EXPECT_TRUE((*writer)->add(typed(metadata_, 1'000'000 + i * 1000, i % 2, bytes)));
    }
    EXPECT_TRUE((*writer)->finish());
    return read_file(path_);
  }
  struct Read {
    std::uint64_t records = 0;
    std::vector<std::string> problems;  // or why it was not opened
  };
  Read read(std::string_view bytes) {
    write_file(path_, bytes);
    auto reader = open_recording(path_);
    if (!reader) return {0, {reader.error().message()}};
    Read out;
    for (TypedRecord record; (*reader)->next(record);) ++out.records;
    out.problems = (*reader)->problems();
    return out;
  }
  static long memory_kib() {
    rusage used = {};
    getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss;
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.file("hostile");
  Metadata metadata_;
};

class HugeNumbers : public HostileTest, public testing::WithParamInterface<std::tuple<FileFormat, int>> {};

// Every place of the file in turn says "as many as there can be": each in one of the three widths.
TEST_P(HugeNumbers, AreNeitherBelievedNorAllocated) {
  const auto [format, width] = GetParam();
  const std::string whole = made(format);
  const long before = memory_kib();
  const std::size_t first = 10 + static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(width) / 2));
  for (std::size_t at = first; at + static_cast<std::size_t>(width) <= whole.size(); at += at < 2048 ? 3 : 37) {
    for (char filler : {'\xff', '\x7f'}) {
      std::string broken = whole;
      std::memset(broken.data() + at, filler, static_cast<std::size_t>(width));
      const Read got = read(broken);
      ASSERT_LE(got.records, 2 * kCount) << "byte " << at;
      if (got.records == 0) {
        ASSERT_FALSE(got.problems.empty()) << "nothing is read of it, and no reason is told: byte " << at;
      }
    }
  }
  EXPECT_LT(memory_kib() - before, 200 << 10);
}

INSTANTIATE_TEST_SUITE_P(Formats, HugeNumbers,
                         testing::Combine(testing::Values(FileFormat::Dat, FileFormat::Dat7), testing::Values(2, 4, 8)),
                         [](const auto& test) {
                           return std::string(name_of(std::get<0>(test.param))) + "_" +
                                  std::to_string(std::get<1>(test.param));
                         });

// The last option of a version 7 file names the next section of options: here itself.
TEST_F(HostileTest, OptionsThatGoInCirclesEnd) {
  std::string bytes = made(FileFormat::Dat7);
  const std::size_t at_first = bytes.find(std::string("zstd\0", 5)) + 5 + 4;  // magic, algorithm, its version "1.5"
  std::uint64_t options = 0;
  std::memcpy(&options, bytes.data() + at_first, sizeof options);
  ASSERT_LT(options + 16, bytes.size());
  std::uint64_t size = 0;
  std::memcpy(&size, bytes.data() + options + 8, sizeof size);
  const std::size_t next_at = options + 16 + size - 8;
  std::uint64_t next = 1;
  ASSERT_LE(next_at + 8, bytes.size());
  std::memcpy(&next, bytes.data() + next_at, sizeof next);
  ASSERT_EQ(next, 0u) << "the test does not know where the chain ends";
  std::memcpy(bytes.data() + next_at, &options, sizeof options);
  const Read got = read(bytes);
  EXPECT_THAT(got.problems, testing::Contains(testing::HasSubstr("section 0 (bytes ")));
}

TEST_F(HostileTest, NdjsonThatPromisesTooMuch) {
  const std::string whole = made(FileFormat::Json);
  const std::string header = whole.substr(0, whole.find('\n'));
  const std::vector<std::string> lines = {
      R"({"v":1,"type":"event","ts":99999999999999999999999,"cpu":4294967295,"pid":-1,"comm":"x","event":"kprobes:opened","fields":{"path":"a","fd":1e999}})",
      R"({"v":1,"type":"event","event":"kprobes:nope","fields":{}})",
      R"({"v":1,"type":"event","event":"kprobes:opened","fields":{"path":[[[[[[[[1]]]]]]]]}})",
      R"({"v":1,"type":"event","event":"kprobes:opened","stack":["x+0x1/0x2"],"process":2147483647,"fields":{"caller":[1]}})",
      std::string(1 << 20, '['),
      R"({"v":1,"type":"end","totals":{"a":1,"b":{"hits":-5}}})"};
  std::string bytes = whole;
  for (const std::string& line : lines) bytes += line + "\n";
  const Read got = read(bytes);
  EXPECT_GE(got.records, kCount);
  EXPECT_FALSE(got.problems.empty());
  const Read unknown = read(header.substr(0, 5) + "2" + header.substr(6) + "\n");
  EXPECT_EQ(unknown.records, 0u);
  EXPECT_THAT(unknown.problems, testing::Contains(testing::HasSubstr("version")));
}

}  // namespace
}  // namespace kevt::record
