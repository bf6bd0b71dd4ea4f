#include "tracefs-compat/fleet/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kevt::fleet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(AddressTest, NamesServersDatabaseHostsAndRecording) {
  const auto full = parse_address("ch://a.example:9000,b.example/kev/web*/3f2a");
  ASSERT_TRUE(full);
  EXPECT_THAT(full->servers, ElementsAre("https://a.example:9000", "https://b.example:8443"));
  EXPECT_EQ(full->database, "kev");
  EXPECT_EQ(full->hosts, "web*");
  EXPECT_EQ(full->session, "3f2a");
  EXPECT_THAT(parse_address("ch+http://127.0.0.1/kev/")->servers, ElementsAre("http://127.0.0.1:8123"));
  EXPECT_THAT(parse_address("ch+http://[::1]:81/kev")->servers, ElementsAre("http://[::1]:81"));
  EXPECT_THAT(parse_address("ch://[fe80::1]/kev")->servers, ElementsAre("https://[fe80::1]:8443"));
}

TEST(AddressTest, SaysWhatIsWrong) {
  const auto why = [](const char* text) {
    const auto made = parse_address(text);
    return made ? std::string("it was taken") : made.error().message();
  };
  EXPECT_THAT(why("trace.dat"), HasSubstr("no address of a fleet"));
  EXPECT_THAT(why("ch://host"), HasSubstr("no database"));
  EXPECT_THAT(why("ch://host/"), HasSubstr("no database"));
  EXPECT_THAT(why("ch:///kev"), HasSubstr("names no server"));
  EXPECT_THAT(why("ch://host:0/kev"), HasSubstr("names no server"));
  EXPECT_THAT(why("ch://host:99999/kev"), HasSubstr("names no server"));
  EXPECT_THAT(why("ch://a:s3cret@b/kev"), HasSubstr("names no user"));
  EXPECT_THAT(why("ch://a:s3cret@b/kev"), testing::Not(HasSubstr("s3cret")));
  EXPECT_THAT(why("ch+http://127.0.0.1.5/kev"), HasSubstr("without TLS")) << "it is a name";
  EXPECT_THAT(why("ch://host/kev;DROP"), HasSubstr("letters, digits"));
  EXPECT_THAT(why("ch+http://example.org/kev"), HasSubstr("without TLS"));
  EXPECT_THAT(why("ch+http://127.0.0.1.example.org/kev"), HasSubstr("without TLS"));
}

TEST(ShardTest, IsTheSameForAllPrograms) {
  EXPECT_EQ(shard_of("web1", 1), 0u);
  EXPECT_EQ(shard_of("web1", 64), shard_of("web1", 64));
  EXPECT_EQ(shard_of("a", 1000), 0xaf63dc4c8601ec8cull % 1000) << "FNV-1a of `a`";
}

}  // namespace
}  // namespace kevt::fleet
