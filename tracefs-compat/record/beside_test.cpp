#include "tracefs-compat/record/beside.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tracefs-compat/record/record_testing.h"

namespace kevt::record {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Seen {
  std::uint64_t time_ns;
  std::string instance, event, comm;
  std::uint32_t id;
  friend bool operator==(const Seen&, const Seen&) = default;
};
void PrintTo(const Seen& one, std::ostream* out) {
  *out << one.time_ns << ' ' << one.instance << ' ' << one.event << ' ' << one.comm << ' ' << one.id;
}

class Beside : public testing::Test {
 protected:
  // In `first`: opened, closed, opened at 1,000, 1,500 and 2,000 us; in `second`: closed, opened at 10 and 30 us, of
  // another machine, which gave the events other ids.
  void SetUp() override {
    fill(metadata_);
    write(first_, metadata_,
          {{1'000'000, opened(7, "a", 3)}, {1'500'000, closed(7, 0)}, {2'000'000, opened(7, "b", 4)}});
    Metadata other;
    other.formats.add(*parse_format("kprobes", with_id(kClosedFormat, "20001", "20000")));
    other.formats.add(*parse_format("kprobes", with_id(kOpenedFormat, "20000", "20001")));
    other.comms[7] = "other";
    Bytes back = closed(7, 0), open = opened(7, "c", 5);
    store<std::uint16_t>(back, 0, 20000);
    store<std::uint16_t>(open, 0, 20001);
    write(second_, other, {{10'000, back}, {30'000, open}});
  }

  static std::string with_id(std::string_view format, std::string_view id, std::string_view other) {
    std::string text(format);
    return text.replace(text.find(id), id.size(), other);
  }
  static void write(const std::string& path, const Metadata& metadata,
                    const std::vector<std::pair<std::uint64_t, Bytes>>& records) {
    auto writer = create_recording(FileFormat::Dat, path, metadata);
    ASSERT_TRUE(writer) << writer.error().message();
    for (const auto& [ns, bytes] : records) ASSERT_TRUE((*writer)->add(typed(metadata, ns, 0, bytes)));
    ASSERT_TRUE((*writer)->finish());
  }
  std::vector<Seen> read(const std::string& path) {
    auto reader = open_recording(path);
    if (!reader) return {{0, reader.error().message(), "", "", 0}};
    std::vector<Seen> seen;
    TypedRecord record;
    while ((*reader)->next(record)) {
      std::uint16_t id = 0;
      std::memcpy(&id, record.bytes.data(), sizeof id);
      EXPECT_EQ(id, record.event->id);
      seen.push_back({record.time_ns, (*reader)->metadata().instances.at(record.instance - 1), record.event->name,
                      std::string(record.comm), record.event->id});
    }
    EXPECT_THAT((*reader)->problems(), testing::IsEmpty());
    return seen;
  }

  TemporaryFolder folder_;
  std::string first_ = folder_.file("first.dat"), second_ = folder_.file("second.dat");
  Metadata metadata_;
};

TEST_F(Beside, TheirFirstRecordsAreAtOneTime) {
  EXPECT_THAT(read(first_ + "," + second_), ElementsAre(Seen{1'000'000, "first.dat", "opened", "cat", 20000},
                                                        Seen{1'000'000, "second.dat", "closed", "other", 20001},
                                                        Seen{1'020'000, "second.dat", "opened", "other", 20000},
                                                        Seen{1'500'000, "first.dat", "closed", "cat", 20001},
                                                        Seen{2'000'000, "first.dat", "opened", "cat", 20000}));
}

TEST_F(Beside, OrTheirFirstOnesOfAnEvent) {
  const auto seen = read(first_ + "," + second_ + "@opened");
  ASSERT_EQ(seen.size(), 5u);
  EXPECT_EQ(seen[0].time_ns, 980'000u);
  EXPECT_EQ(seen[1].time_ns, 1'000'000u);
  EXPECT_EQ(seen[2].time_ns, 1'000'000u);
  EXPECT_THAT(read(first_ + "," + second_ + "@nobody").front().instance,
              HasSubstr("first.dat has no record of `nobody` to align on"));
}

TEST_F(Beside, OrShiftedOrAsTheyAre) {
  EXPECT_EQ(read(first_ + "," + second_ + "@+0.0001")[1].time_ns, 1'100'000u);
  EXPECT_EQ(read(first_ + "," + second_ + "@clock")[0].time_ns, 10'000u);
  // Nothing comes before time 0: both are shifted.
  const auto seen = read(second_ + "," + first_ + "@-1");
  ASSERT_EQ(seen.size(), 5u);
  EXPECT_EQ(seen.front().time_ns, 0u);
  EXPECT_EQ(seen.back().time_ns, 1'000'020'000u);
}

// Each machine gives its first event the same id, and another one has it here.
TEST_F(Beside, WhatIsWrittenOfThemIsReadAsTheSame) {
  const std::string third = folder_.file("third.dat");
  Metadata other;
  other.formats.add(*parse_format("kprobes", with_id(kClosedFormat, "20001", "20000")));
  other.comms[9] = "third";
  Bytes back = closed(9, 5);
  store<std::uint16_t>(back, 0, 20000);
  write(third, other, {{10'000, back}});
  Metadata mine;
  mine.formats.add(*parse_format("kprobes", kOpenedFormat));
  mine.comms[7] = "cat";
  const std::string first = folder_.file("opened.dat");
  write(first, mine, {{1'000'000, opened(7, "a", 3)}});
  for (const FileFormat format : {FileFormat::Dat, FileFormat::Json}) {
    auto reader = open_recording(first + "," + third);
    ASSERT_TRUE(reader);
    const std::string both = folder_.file(format == FileFormat::Dat ? "both.dat" : "both.json");
    auto writer = create_recording(format, both, (*reader)->metadata());
    ASSERT_TRUE(writer);
    for (TypedRecord record; (*reader)->next(record);) ASSERT_TRUE((*writer)->add(record));
    ASSERT_TRUE((*writer)->finish());
    auto again = open_recording(both);
    ASSERT_TRUE(again) << again.error().message();
    std::vector<std::string> events;
    for (TypedRecord record; (*again)->next(record);)
      events.push_back(record.event->name + " of " + std::string(record.comm));
    EXPECT_THAT(events, ElementsAre("opened of cat", "closed of third"));
    EXPECT_THAT((*again)->problems(), testing::IsEmpty());
  }
}

TEST_F(Beside, ATableSaysWhoseARecordIs) {
  auto reader = open_recording(first_ + "," + second_);
  ASSERT_TRUE(reader);
  const std::string table = folder_.file("both.csv");
  auto writer = create_recording(FileFormat::Csv, table, (*reader)->metadata());
  ASSERT_TRUE(writer);
  for (TypedRecord record; (*reader)->next(record);) ASSERT_TRUE((*writer)->add(record));
  ASSERT_TRUE((*writer)->finish());
  const std::string text = read_file(table);
  EXPECT_THAT(text, HasSubstr("time_ns,cpu,pid,comm,instance,event,"));
  EXPECT_THAT(text, HasSubstr("1000000,0,7,cat,first.dat,opened,"));
  EXPECT_THAT(text, HasSubstr("1020000,0,7,other,second.dat,opened,"));
}

TEST_F(Beside, TimesMayBeAnything) {
  const std::string late = folder_.file("late.dat");
  write(late, metadata_, {{~std::uint64_t{0} - 5, opened(7, "a", 3)}, {~std::uint64_t{0}, closed(7, 0)}});
  for (const char* const alignment : {"", "@clock", "@+1000000000", "@-1000000000", "@closed"})
    for (const std::string& path : {first_ + "," + late, late + "," + first_}) {
      const auto seen = read(path + alignment);
      ASSERT_EQ(seen.size(), 5u) << path << alignment;
      EXPECT_TRUE(std::ranges::is_sorted(seen, {}, &Seen::time_ns)) << path << alignment;
    }
}

TEST_F(Beside, TheSameFileTwiceHasTwoNames) {
  EXPECT_THAT(instance_names({"a/x.dat", "b/x.dat", "x.dat"}), ElementsAre("x.dat", "x.dat-2", "x.dat-3"));
  EXPECT_EQ(read(first_ + "," + first_).size(), 6u);
}

TEST_F(Beside, AFileWithACommaIsAFile) {
  const std::string odd = folder_.file("a,b@c.dat");
  EXPECT_TRUE(beside_names(odd)) << "there is no such file";
  write(odd, metadata_, {{1, opened(7, "a", 3)}});
  EXPECT_FALSE(beside_names(odd));
  const auto names = beside_names(odd + "," + first_);
  ASSERT_TRUE(names);
  EXPECT_EQ(names->files.size(), 3u) << "among others it cannot be named";
}

TEST_F(Beside, HasTheSymbolsOfEach) {
  const auto reader = open_recording(first_ + "," + second_);
  ASSERT_TRUE(reader);
  const Metadata& metadata = (*reader)->metadata();
  ASSERT_EQ(metadata.origins.size(), 2u);
  EXPECT_EQ(metadata.origins[0]->comm_of(7), "cat");
  EXPECT_EQ(metadata.origins[1]->comm_of(7), "other");
  EXPECT_EQ(metadata.cpus, 2u);
}

TEST_F(Beside, WhatCannotBeReadIsSaid) {
  EXPECT_THAT(read(first_ + "," + folder_.file("missing.dat")).front().instance, HasSubstr("missing.dat"));
  std::string many = first_;
  for (int i = 0; i < 16; ++i) many += "," + first_;
  EXPECT_THAT(read(many).front().instance, HasSubstr("17 recordings are more than 16"));
}

}  // namespace
}  // namespace kevt::record
