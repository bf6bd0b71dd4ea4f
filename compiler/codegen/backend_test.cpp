#include "compiler/codegen/backend.h"

#include <gtest/gtest.h>

namespace kevt::codegen {
namespace {

TEST(Backend, IsLoadedOnce) {
  const auto first = load_backend();
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_EQ((*first)->version, kBackendVersion);
  EXPECT_EQ(*first, *load_backend());
}

// Its functions of the same names are its own, not the ones that forward.
TEST(Backend, DoesNotCallItself) {
  const auto backend = load_backend();
  ASSERT_TRUE(backend);
  EXPECT_NE((*backend)->disassemble, &disassemble);
  EXPECT_NE(disassemble({}, 0), std::string("?"));
}

}  // namespace
}  // namespace kevt::codegen
