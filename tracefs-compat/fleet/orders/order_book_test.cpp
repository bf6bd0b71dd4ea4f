#include "tracefs-compat/fleet/orders/order_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

namespace kevt::fleet {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kToday = 1'764'300'000'000'000'000, kDay = 86'400'000'000'000;

class OrderBookTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("kevt_book_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    chmod(folder_.c_str(), 0700);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  Result<OrderBook> open(std::int64_t now = kToday) const { return OrderBook::open(folder_, now); }
  static Order order(std::int64_t serial, std::int64_t stops = 0) {
    return {.fleet = "kev",
            .serial = serial,
            .id = "3f2a5b6c",
            .begin_before = kToday + 1,
            .on = "*",
            .milliseconds = 1,
            .stops = stops,
            .script = "x"};
  }

  std::filesystem::path folder_;
};

TEST_F(OrderBookTest, KnowsAfterARestartWhatWasBegun) {
  {
    auto book = open();
    ASSERT_TRUE(book) << book.error().message();
    EXPECT_FALSE(book->has(1));
    ASSERT_TRUE(book->begin(order(1)));
    ASSERT_TRUE(book->begin(order(2)));
    ASSERT_TRUE(book->begin(order(3, 1)));
    ASSERT_TRUE(book->end(2));
  }
  auto book = open();
  ASSERT_TRUE(book) << book.error().message();
  EXPECT_TRUE(book->has(1) && book->has(2) && book->has(3));
  ASSERT_EQ(book->begun().size(), 1u);
  EXPECT_EQ(book->begun().front().serial, 1);
  EXPECT_EQ(book->begun().front().id, "3f2a5b6c");
}

TEST_F(OrderBookTest, KnowsWhatWasStoppedBeforeItBegan) {
  {
    auto book = open();
    ASSERT_TRUE(book->begin(order(5, 4)));
  }
  const auto book = open();
  EXPECT_TRUE(book->has(4) && book->has(5));
  EXPECT_TRUE(book->begun().empty());
}

TEST_F(OrderBookTest, ForgetsWhatCanNoLongerBegin) {
  {
    auto book = open();
    ASSERT_TRUE(book->begin(order(1)));
    ASSERT_TRUE(book->begin(order(2)));
    ASSERT_TRUE(book->end(2));
  }
  const auto book = open(kToday + kDay + 2);
  EXPECT_TRUE(book->has(1)) << "it was never answered";
  EXPECT_FALSE(book->has(2));
  EXPECT_TRUE(book->may_have_forgotten(order(2))) << "also when the clock is set back";
  Order later = order(3);
  later.begin_before += 1;
  EXPECT_FALSE(book->may_have_forgotten(later));
}

TEST_F(OrderBookTest, KnowsAfterARestartThatItHasForgotten) {
  {
    auto book = open();
    ASSERT_TRUE(book->begin(order(2)));
    ASSERT_TRUE(book->end(2));
  }
  {
    auto ahead = open(kToday + kDay + 2);
    Order later = order(9);
    later.begin_before = kToday + 5 * kDay;
    ASSERT_TRUE(ahead->begin(later));
  }
  const auto book = open();
  EXPECT_TRUE(book->may_have_forgotten(order(2)));
}

TEST_F(OrderBookTest, WantsFoldersAboveItThatOthersCannotWriteTo) {
  const auto inner = folder_ / "inner";
  std::filesystem::create_directories(inner);
  chmod(inner.c_str(), 0700);
  EXPECT_TRUE(OrderBook::open(inner, kToday));
  chmod(folder_.c_str(), 0777);
  EXPECT_EQ(OrderBook::open(inner, kToday).error().errno_value(), EPERM);
  chmod(folder_.c_str(), 01777);
  EXPECT_TRUE(OrderBook::open(inner, kToday)) << "only its owner may remove it, as in /tmp";
  std::filesystem::create_symlink(inner, folder_ / "link");
  EXPECT_EQ(OrderBook::open(folder_ / "link", kToday)->folder(), std::filesystem::canonical(inner));
}

TEST_F(OrderBookTest, IsOfOneProcess) {
  const auto book = open();
  EXPECT_EQ(open().error().errno_value(), EBUSY);
}

TEST_F(OrderBookTest, IsRefusedWhenItIsDamaged) {
  for (const char* text :
       {"", "kevtrace orders 2\n", "kevtrace orders 1\n1 a 2 done", "kevtrace orders 1\n1 a 2 gone\n",
        "kevtrace orders 1\n1 a 2 done more\n", "kevtrace orders 1\n\n"}) {
    std::ofstream(folder_ / "orders") << text;
    const auto book = open();
    ASSERT_FALSE(book) << text;
    EXPECT_THAT(book.error().message(), HasSubstr("damaged"));
  }
}

TEST_F(OrderBookTest, WantsAFolderThatOthersCannotWriteTo) {
  chmod(folder_.c_str(), 0777);
  EXPECT_EQ(open().error().errno_value(), EPERM);
}

}  // namespace
}  // namespace kevt::fleet
