// What a hostile recording may cost: areas, budgets, problems, holes, and files that change while they are read. Whole
// files: hostile_test.cpp, tests/security/recording_bombs_test.py.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>

#include "tracefs-compat/record/dat/file_areas.h"
#include "tracefs-compat/record/input_file.h"
#include "tracefs-compat/record/read_budget.h"
#include "tracefs-compat/record/record_testing.h"

namespace kevt::record {
namespace {

using testing::HasSubstr;

TEST(FileAreas, NoByteBelongsToTwo) {
  FileAreas areas;
  const AreaOwner section{AreaOwner::Kind::Section, 18}, cpu{AreaOwner::Kind::Cpu, 3};
  EXPECT_FALSE(areas.take(0, 10, {}));
  EXPECT_FALSE(areas.take(20, 30, section));
  EXPECT_FALSE(areas.take(10, 20, cpu));  // touches both
  EXPECT_FALSE(areas.take(15, 15, cpu));  // nothing
  EXPECT_EQ(areas.take(29, 40, cpu), "CPU 3's data (bytes 29 to 40) overlap section 18 (bytes 20 to 30)");
  EXPECT_EQ(areas.take(20, 30, section), "section 18 (bytes 20 to 30) overlaps section 18 (bytes 20 to 30)");
  EXPECT_THAT(areas.take(5, 6, cpu).value_or(""), HasSubstr("the head (bytes 0 to 10)"));
  EXPECT_TRUE(areas.take(0, ~0ull, cpu));
  EXPECT_FALSE(areas.take(30, ~0ull, cpu));  // what was refused took nothing
}

TEST(ReadBudget, GrowsWithTheFileAndDoesNotOverflow) {
  ReadBudget small(0), large(1 << 20), all(~0ull);
  EXPECT_TRUE(small.unpack(4 << 20));
  EXPECT_FALSE(small.unpack(1));
  EXPECT_TRUE(large.unpack(260 << 20));
  EXPECT_FALSE(large.unpack(1));
  EXPECT_TRUE(all.unpack(~0ull));
  EXPECT_FALSE(all.unpack(1));
}

TEST(ReadBudget, WhatTheHeadTookStaysTakenAndTheRecordsComeAgain) {
  ReadBudget budget(0);
  ASSERT_TRUE(budget.unpack(3 << 20));
  budget.end_head();
  for (int pass = 0; pass < 3; ++pass) {
    EXPECT_TRUE(budget.unpack(1 << 20));
    EXPECT_FALSE(budget.unpack(1));
    budget.rewind();
  }
}

TEST(ReadBudget, WhatIsGivenBackIsThereAgain) {
  ReadBudget budget(0);
  ASSERT_TRUE(budget.hold(512 << 20));
  EXPECT_FALSE(budget.hold(1));
  budget.release(1);
  EXPECT_TRUE(budget.hold(1));
}

TEST(Problems, AreCountedBeyondTheFirstHundred) {
  Problems problems;
  for (int i = 0; i < 100; ++i) problems.add("x");
  EXPECT_EQ(problems.texts().size(), kMaxProblems);
  for (int i = 0; i < 12345; ++i) problems.add("y");
  EXPECT_EQ(problems.texts().size(), kMaxProblems + 1);
  EXPECT_EQ(problems.texts().back(), "… and 12345 more");
}

TEST(Problems, AreShortAndPrintable) {
  Problems problems;
  problems.add(std::string(1 << 20, 'a'));
  problems.add("\x1b]52;c;x\a\n");
  EXPECT_LT(problems.texts()[0].size(), 500u);
  EXPECT_EQ(problems.texts()[1], "?]52;c;x??");
}

class SparseFile : public testing::Test {
 protected:
  // `text` at 0 and at 1 TiB.
  void SetUp() override {
    write_file(path_, "head");
    const UniqueFd fd(open(path_.c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_EQ(pwrite(fd.get(), "tail", 4, kFar), 4);
  }
  static constexpr off_t kFar = 1ll << 40;
  TemporaryFolder folder_;
  std::string path_ = folder_.file("sparse");
};

TEST_F(SparseFile, IsAsLargeAsItsData) {
  const auto file = InputFile::open(path_);
  ASSERT_TRUE(file);
  if (file->data_bytes() == file->size()) GTEST_SKIP() << "this file system does not tell holes";
  EXPECT_EQ(file->size(), std::uint64_t{kFar} + 4);
  EXPECT_LE(file->data_bytes(), 2u << 20);
  EXPECT_EQ(file->next_data(0), 0u);
  EXPECT_EQ(file->next_data(1 << 30), std::uint64_t{kFar});
  EXPECT_EQ(file->next_data(file->size()), file->size());
  EXPECT_TRUE(file->has_data(0, 4));
  EXPECT_FALSE(file->has_data(0, 1 << 30));
  EXPECT_FALSE(file->has_data(1 << 30, 1));
  EXPECT_TRUE(file->has_data(kFar, 4));
}

TEST_F(SparseFile, CursorsEndInHoles) {
  const auto file = InputFile::open(path_);
  ASSERT_TRUE(file);
  if (file->data_bytes() == file->size()) GTEST_SKIP() << "this file system does not tell holes";
  Cursor numbers(*file, 0);
  std::uint64_t read = 0;
  while (numbers.u64(), numbers.good()) read += 8;
  EXPECT_LE(read, 4u << 20);
  Cursor bytes(*file, 0);
  EXPECT_EQ(bytes.bytes(100 << 20, 128 << 20), "");
  EXPECT_FALSE(bytes.good());
  Cursor far(*file, kFar);
  EXPECT_EQ(far.bytes(4, 4), "tail");
}

TEST(InputFile, OffsetsNearTheEndOfNumbersAreNowhere) {
  const TemporaryFolder folder;
  write_file(folder.file("f"), "text");
  const auto file = InputFile::open(folder.file("f"));
  std::array<std::uint8_t, 16> out;
  for (const std::uint64_t at : {~0ull, ~0ull - 8, 1ull << 63, 4ull}) {
    EXPECT_EQ(file->read_at(at, out), 0u);
    Cursor cursor(*file, at);
    EXPECT_EQ(cursor.u64(), 0u);
    EXPECT_FALSE(cursor.good());
    Cursor skipping(*file, 1);
    skipping.skip(at);
    EXPECT_FALSE(skipping.good());
  }
}

// Whoever made a recording may cut it, or write something else over it, while somebody reads.
class ChangingFile : public testing::TestWithParam<FileFormat> {
 protected:
  void SetUp() override {
    fill(metadata_);
    auto writer = create_recording(GetParam(), path_, metadata_);
    ASSERT_TRUE(writer);
    for (std::uint64_t i = 0; i < kCount; ++i)
      ASSERT_TRUE((*writer)->add(typed(metadata_, i * 1000, i % 2, opened(7, std::to_string(i * i).c_str(), 3))));
    ASSERT_TRUE((*writer)->finish());
  }
  std::uint64_t rest_of(RecordReader& reader) {
    std::uint64_t count = 0;
    for (TypedRecord record; reader.next(record);) ++count;
    return count;
  }
  static constexpr std::uint64_t kCount = 60'000;
  TemporaryFolder folder_;
  std::string path_ = folder_.file("changing");
  Metadata metadata_;
};

TEST_P(ChangingFile, EndsWhereItWasCut) {
  auto reader = open_recording(path_);
  ASSERT_TRUE(reader);
  TypedRecord record;
  ASSERT_TRUE((*reader)->next(record));
  ASSERT_EQ(truncate(path_.c_str(), 0), 0);
  EXPECT_LT(rest_of(**reader), kCount - 1);
  const bool is_text = GetParam() == FileFormat::Json;  // a text may end anywhere
  EXPECT_TRUE(is_text || !(*reader)->problems().empty());
}

TEST_P(ChangingFile, MayBecomeAnotherOne) {
  auto reader = open_recording(path_);
  ASSERT_TRUE(reader);
  TypedRecord record;
  ASSERT_TRUE((*reader)->next(record));
  const std::string whole = read_file(path_);
  const UniqueFd fd(open(path_.c_str(), O_WRONLY | O_CLOEXEC));
  std::string other(whole.rbegin(), whole.rend());
  ASSERT_EQ(pwrite(fd.get(), other.data(), other.size(), 0), static_cast<ssize_t>(other.size()));
  EXPECT_LT(rest_of(**reader), 2 * kCount);
  EXPECT_THAT((*reader)->problems(), testing::Not(testing::IsEmpty()));
}

INSTANTIATE_TEST_SUITE_P(Formats, ChangingFile, testing::Values(FileFormat::Dat, FileFormat::Dat7, FileFormat::Json),
                         [](const auto& test) { return std::string(name_of(test.param)); });

}  // namespace
}  // namespace kevt::record
