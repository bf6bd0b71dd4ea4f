#include "tracefs-compat/fleet/orders/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <random>

namespace kevt::fleet {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kNow = 1'764'300'000'000'000'000, kSecond = 1'000'000'000;

Order opens() {
  return {.fleet = "kev",
          .serial = kNow,
          .id = "3f2a5b6c",
          .begin_before = kNow + 600 * kSecond,
          .on = "role=web",
          .milliseconds = 60'000,
          .stops = 0,
          .script = "target comm nginx\np:open libc:open64\n"};
}

TEST(OrderTest, IsItsText) {
  EXPECT_EQ(text_of(opens()),
            "kevtrace order 1\nfleet kev\nserial 1764300000000000000\nid 3f2a5b6c\nbegin-before "
            "1764300600000000000\non role=web\nmilliseconds 60000\n\ntarget comm nginx\np:open libc:open64\n");
  EXPECT_EQ(parse_order(text_of(opens())).value(), opens());
  Order stop = opens();
  stop.stops = kNow;
  stop.milliseconds = 0;
  stop.script.clear();
  EXPECT_EQ(parse_order(text_of(stop)).value(), stop);
}

// What can be read is written the same way again: no two texts are one order.
TEST(OrderTest, HasOneTextAlone) {
  std::mt19937 random(7);
  const std::string good = text_of(opens());
  unsigned taken = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = good;
    for (unsigned changes = 1 + random() % 3; changes > 0; --changes) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, 1 + random() % 4);
          break;
        default:
          text.insert(at, std::string(1, " \n0-+x"[random() % 6]));
      }
    }
    const auto order = parse_order(text);
    taken += order.has_value();
    if (order) {
      ASSERT_EQ(text_of(*order), text);
    }
  }
  EXPECT_GT(taken, 100u) << "changes within the script stay";
}

TEST(OrderTest, RefusesWhatIsNone) {
  const auto changed = [](const char* what, const char* to) {
    std::string text = text_of(opens());
    const auto at = text.find(what);
    text.replace(at, std::string_view(what).size(), to);
    return text;
  };
  for (const auto& text :
       {std::string(), std::string("kevtrace order 1\n"), changed("order 1", "order 2"),
        changed("serial 1", "serial -1"), changed("serial 1", "serial 01"), changed("id 3f", "id ../3f"),
        changed("3f2a5b6c", "3F2A5B6C"), changed("milliseconds 60000", "milliseconds 604800001"),
        changed("milliseconds 60000", "milliseconds 0"), changed("milliseconds 60000", "stop 5"),
        changed("on role=web\n", ""), changed("\n\n", "\n"), text_of(opens()).substr(0, 120)})
    EXPECT_FALSE(parse_order(text)) << text;
}

TEST(OrderTest, IsTimelyForAWhile) {
  EXPECT_TRUE(is_timely(opens(), kNow));
  EXPECT_TRUE(is_timely(opens(), kNow - 200 * kSecond));
  EXPECT_THAT(is_timely(opens(), kNow - 400 * kSecond).error().message(), HasSubstr("future"));
  EXPECT_THAT(is_timely(opens(), kNow + 601 * kSecond).error().message(), HasSubstr("too late"));
  Order for_ever = opens();
  for_ever.begin_before = kNow + kLongestToBeginNs + 1;
  EXPECT_FALSE(is_timely(for_ever, kNow));
  for_ever.begin_before = kNow - 1;
  EXPECT_FALSE(is_timely(for_ever, kNow - 2));
}

TEST(OrderTest, TakesScriptsThatTouchNothingElse) {
  const auto why = [](const char* script) {
    const auto checked = check_script(script, Compiled::Accepted);
    return checked ? std::string("it was taken") : checked.error().message();
  };
  EXPECT_EQ(why("target comm nginx\np:open libc:open64\n"), "it was taken");
  EXPECT_EQ(why("target kernel\np:open do_sys_openat2\n  filter common_pid > 1\n"), "it was taken");
  EXPECT_EQ(why("target container 3f2a5b6c7d8e\np:open libc:open64\n"), "it was taken");
  EXPECT_THAT(why("p:open libc:open64\n"), HasSubstr("no target"));
  EXPECT_THAT(why("target program /bin/sh\np:open libc:open64\n"), HasSubstr("line 1 of the script: of many hosts"));
  EXPECT_THAT(why("target pid 1\np:open libc:open64\n"), HasSubstr("line 1"));
  EXPECT_EQ(why("target kernel\noption buffer 64M\np:a vfs_read\n"), "it was taken");
  EXPECT_THAT(why("target kernel\noption buffer 65M\np:a vfs_read\n"), HasSubstr("line 2"));
  EXPECT_THAT(why("target kernel\noption output x.dat\np:a vfs_read\n"), HasSubstr("line 2"));
  EXPECT_THAT(why("target kernel\np:a vfs_read\ninstance b output x.dat\nevent a\n"), HasSubstr("line 3"));
  EXPECT_THAT(why("target comm a\np:o libc:open64\n  inject ret=-1\n"), HasSubstr("injects"));
  EXPECT_THAT(why("tagret kernel\n"), HasSubstr("line 1 of the script"));
}

}  // namespace
}  // namespace kevt::fleet
