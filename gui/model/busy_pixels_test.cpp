// What of a pixel's time slices take: at every zoom the shares of all pixels are the time that the slices take.
#include <gtest/gtest.h>

#include <numeric>

#include "gui/model/busy_pixels.h"
#include "gui/model/model_testing.h"

namespace kevt::gui {
namespace {

constexpr std::uint64_t kStart = 5'000'000'000, kMs = 1'000'000;

record::EventFormat bareFormat(const char* name, int id) {
  return *record::parse_format("syscalls",
                               std::string("name: ") + name + "\nID: " + std::to_string(id) +
                                   "\nformat:\n"
                                   "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                                   "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
                                   "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
                                   "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n");
}

class GuiBusy : public ModelTest {
 protected:
  void at(const record::EventFormat& format, std::uint64_t ns, std::int32_t pid = 7) {
    std::vector<std::uint8_t> bytes(8);
    const auto id = static_cast<std::uint16_t>(format.id);
    std::memcpy(bytes.data(), &id, 2);
    std::memcpy(bytes.data() + 4, &pid, 4);
    builder_.add({.event = &format, .time_ns = ns, .cpu = 0, .pid = pid, .comm = "prog", .bytes = bytes});
  }
  static const Lane& laneOf(const std::vector<Lane>& lanes, Lane::Kind kind, std::uint32_t id = 0) {
    const auto found = std::ranges::find_if(lanes, [&](const Lane& l) { return l.kind == kind && l.id == id; });
    return found == lanes.end() ? lanes.front() : *found;
  }
  // The time that a row of `pixels` pixels from `from_ns` behind the first record on shows as busy.
  static double shownNs(const record::StoreView& view, const Lane& lane, double from_ns, double ns_per_pixel,
                        std::uint32_t pixels, std::uint32_t level = 0) {
    const auto rows = busyRows(view, lane, {view.first_ns(), from_ns, ns_per_pixel, pixels}, {});
    if (level >= rows.size()) return -1;
    double sum = 0;
    for (std::uint32_t x = 0; x < pixels; ++x) sum += rows[level].share(x) * ns_per_pixel;
    return sum;
  }

  const record::EventFormat enter_ = bareFormat("sys_enter_x", 1), exit_ = bareFormat("sys_exit_x", 2),
                            enter_y_ = bareFormat("sys_enter_y", 3), exit_y_ = bareFormat("sys_exit_y", 4);
  record::StoreBuilder builder_;
};

// 13,380 calls, a millisecond apart, each takes 0.992 ms: busy for 13.27 of 13.38 s.
TEST_F(GuiBusy, SlicesShorterThanAPixelAddUpAtEveryZoom) {
  for (std::uint64_t i = 0; i < 13'380; ++i) {
    at(enter_, kStart + i * kMs);
    at(exit_, kStart + i * kMs + 992'000);
  }
  const record::StoreView view = builder_.view();
  const double span = static_cast<double>(view.last_ns() - view.first_ns());
  const std::vector<Lane> lanes = lanesOf(view, {});
  for (const Lane& lane : {laneOf(lanes, Lane::Kind::Task), laneOf(lanes, Lane::Kind::Event)}) {
    ASSERT_EQ(lane.levels, 1u);
    for (const std::uint32_t pixels : {1u, 7u, 100u, 1400u, 30'000u, 400'000u})
      EXPECT_NEAR(shownNs(view, lane, 0, span / pixels, pixels), 13'380 * 992'000.0, 1000) << pixels;
    // In pieces, as tiles are: a slice that lies over their border is in both by its parts.
    for (const double ns_per_pixel : {0.37e6, 9.9e6, 123.4e6}) {
      double sum = 0;
      for (double from = 0; from <= span; from += 256 * ns_per_pixel)
        sum += shownNs(view, lane, from, ns_per_pixel, 256);
      EXPECT_NEAR(sum, 13'380 * 992'000.0, 1000) << ns_per_pixel;
    }
    // Each pixel of the whole says what it is: busy, not idle.
    const auto row = busyRows(view, lane, {view.first_ns(), 0, span / 1400, 1400}, {});
    for (std::uint32_t x = 0; x < 1400; ++x) EXPECT_NEAR(row[0].share(x), 0.992, 0.002) << x;
    EXPECT_NEAR(busyShare(view, lane, view.first_ns(), view.last_ns()), 0.992, 0.0001);
  }
}

TEST_F(GuiBusy, IdleTimeStaysIdle) {
  at(enter_, kStart);
  at(exit_, kStart + 10 * kMs);
  at(enter_, kStart + 90 * kMs);
  at(exit_, kStart + 100 * kMs);
  const record::StoreView view = builder_.view();
  const std::vector<Lane> lanes = lanesOf(view, {});
  const auto row = busyRows(view, laneOf(lanes, Lane::Kind::Task), {view.first_ns(), 0, 20.0 * kMs, 5}, {});
  const double expected[] = {0.5, 0, 0, 0, 0.5};
  for (std::uint32_t x = 0; x < 5; ++x) EXPECT_NEAR(row[0].share(x), expected[x], 1e-9) << x;
  // A window within a call, where nothing begins and nothing ends.
  const auto within =
      busyRows(view, laneOf(lanes, Lane::Kind::Event), {view.first_ns(), 92.0 * kMs, 0.1 * kMs, 40}, {});
  for (std::uint32_t x = 0; x < 40; ++x) EXPECT_NEAR(within[0].share(x), 1, 1e-9) << x;
}

// A call within a call: a row each, and what of a row is whose.
TEST_F(GuiBusy, NestedSlicesHaveTheirOwnRowsAndColours) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t begin = kStart + i * kMs;
    at(enter_, begin);
    at(enter_y_, begin + 200'000);
    at(exit_y_, begin + 500'000);
    at(exit_, begin + 800'000);
  }
  const record::StoreView view = builder_.view();
  const std::vector<Lane> lanes = lanesOf(view, {});
  const Lane& task = laneOf(lanes, Lane::Kind::Task);
  ASSERT_EQ(task.levels, 2u);
  EXPECT_NEAR(shownNs(view, task, 0, 25.0 * kMs, 40, 0), 800.0 * kMs, 1000);
  EXPECT_NEAR(shownNs(view, task, 0, 25.0 * kMs, 40, 1), 300.0 * kMs, 1000);
  const auto rows = busyRows(view, task, {view.first_ns(), 0, 25.0 * kMs, 40}, {});
  EXPECT_NEAR(rows[1].share(3, view.event(1)), 0.3, 1e-6);
  EXPECT_NEAR(rows[1].share(3, view.event(0)), 0, 1e-6);
  // Shallow rows only: what is deeper lies in the last one, which is never more than full.
  Lane shallow = task;
  shallow.levels = 1;
  EXPECT_NEAR(shownNs(view, shallow, 0, 25.0 * kMs, 40), 1000.0 * kMs, 30.0 * kMs);
  EXPECT_NEAR(busyShare(view, task, kStart, kStart + 1000 * kMs), 0.8, 1e-6);
}

// Two tasks in it at once make an event no busier than one.
TEST_F(GuiBusy, AnEventIsBusyWhileAnyTaskIsInIt) {
  for (std::uint64_t i = 0; i < 500; ++i) {
    const std::uint64_t begin = kStart + i * kMs;
    at(enter_, begin, 7);
    at(enter_, begin + 100'000, 8);
    at(exit_, begin + 400'000, 7);
    at(exit_, begin + 600'000, 8);
  }
  const record::StoreView view = builder_.view();
  const std::vector<Lane> lanes = lanesOf(view, {});
  const Lane& event = laneOf(lanes, Lane::Kind::Event, view.event(0));
  for (const double ns_per_pixel : {0.05e6, 3e6, 125e6})
    EXPECT_NEAR(shownNs(view, event, 0, ns_per_pixel, static_cast<std::uint32_t>(500e6 / ns_per_pixel) + 1),
                300.0 * kMs, 1000)
        << ns_per_pixel;
  EXPECT_EQ(laneOf(lanes, Lane::Kind::Event, view.event(2)).levels, 0u);  // the return begins nothing
}

TEST_F(GuiBusy, OfAFilterOnlyCallsWithAnEndThatItLeavesAreBusy) {
  for (std::uint64_t i = 0; i < 100; ++i) {
    at(enter_, kStart + i * kMs);
    at(exit_, kStart + i * kMs + 500'000);
  }
  const record::StoreView view = builder_.view();
  const auto every_eighth = [&](record::Row first) {
    std::vector<record::Row> rows;
    for (record::Row row = first; row < view.rows(); row += 8) rows.push_back(row);
    return std::make_shared<record::RowSubset>(view, rows);
  };
  auto kept = every_eighth(0);  // every fourth call, by its entry
  std::vector<Lane> lanes = lanesOf(view, {}, kept);
  EXPECT_NEAR(shownNs(view, laneOf(lanes, Lane::Kind::Task), 0, 10.0 * kMs, 10), 12.5 * kMs, 10);
  EXPECT_NEAR(shownNs(view, laneOf(lanes, Lane::Kind::Event), 0, 10.0 * kMs, 10), 12.5 * kMs, 10);
  kept = every_eighth(1);  // by its return
  lanes = lanesOf(view, {}, kept);
  EXPECT_NEAR(shownNs(view, laneOf(lanes, Lane::Kind::Task), 0, 10.0 * kMs, 10), 12.5 * kMs, 10);
}

TEST_F(GuiBusy, APixelIsAtMostFullAndKeepsTheShortest) {
  BusyPixels pixels({.origin_ns = 1000, .from_ns = 0, .ns_per_pixel = 10, .pixels = 4});
  pixels.add(1000, 1010, 0);
  pixels.add(1000, 1010, 1);
  pixels.add(1015, 1015, 2);  // no time at all by the clock
  pixels.add(0, 900, 3);      // before, behind
  pixels.add(5000, 9000, 3);
  pixels.add(1035, 9000, 9);  // out of sight at its end; the ninth colour is the second one
  EXPECT_EQ(pixels.share(0), 1);
  EXPECT_EQ(pixels.share(0, 0), 0.5);
  EXPECT_GT(pixels.share(1), 0);
  EXPECT_LT(pixels.share(1), 0.001);
  EXPECT_EQ(pixels.share(2), 0);
  EXPECT_EQ(pixels.share(3, 1), 0.5);
}

}  // namespace
}  // namespace kevt::gui
