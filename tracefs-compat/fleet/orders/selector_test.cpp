#include "tracefs-compat/fleet/orders/selector.h"

#include <gtest/gtest.h>

namespace kevt::fleet {
namespace {

bool chooses(const char* selector, const char* host, std::vector<Label> labels) {
  const auto made = Selector::parse(selector);
  EXPECT_TRUE(made) << selector;
  return made && made->fits(host, labels);
}

TEST(SelectorTest, WantsAllOfItsWords) {
  const std::vector<Label> web = {{"role", "web"}, {"zone", "eu1"}};
  EXPECT_TRUE(chooses("role=web", "web1", web));
  EXPECT_TRUE(chooses("role=web,zone=eu*", "web1", web));
  EXPECT_FALSE(chooses("role=web,zone=us*", "web1", web));
  EXPECT_FALSE(chooses("role=web", "db1", {}));
  EXPECT_TRUE(chooses("*", "db1", {}));
  EXPECT_TRUE(chooses("host=web?", "web1", {}));
  EXPECT_FALSE(chooses("host=web1", "db1", {{"host", "web1"}})) << "a label cannot take another host's name";
  EXPECT_TRUE(chooses("role=db", "x", {{"role", "web"}, {"role", "db"}})) << "a host may have two roles";
}

TEST(SelectorTest, IsRefusedWhereItChoosesNothing) {
  for (const char* text : {"", "web", "role=", "=web", "role=web,", "role=a b", "ro le=a", "role=web\n", "*,*"})
    EXPECT_FALSE(Selector::parse(text)) << text;
}

}  // namespace
}  // namespace kevt::fleet
