#include "compiler/target/types/btf.h"

#include <gmock/gmock.h>

#include <cstring>

#include "tests/golden/small_btf.h"

namespace kevt::target {
namespace {

using golden::small_btf;

TEST(Btf, TellsPrototypesAndMembers) {
  const auto table = read_btf(small_btf());
  ASSERT_TRUE(table) << table.error().message();
  const auto function = table->find_function("work");
  ASSERT_TRUE(function);
  EXPECT_EQ(table->prototype_text(table->type(*function).target, "work"),
            "long work(const struct thing *it, unsigned int count)");
  const auto thing = table->find_struct("thing");
  ASSERT_TRUE(thing);
  const auto flag = table->find_member(*thing, "flag");
  ASSERT_TRUE(flag);
  EXPECT_EQ(flag->bit_offset, 35u);
  EXPECT_EQ(flag->bit_size, 3u);
  const auto inner = table->find_member(*thing, "inner");  // of an anonymous union
  ASSERT_TRUE(inner);
  EXPECT_EQ(inner->bit_offset, 64u);
  EXPECT_FALSE(table->find_member(*thing, "none"));
  EXPECT_FALSE(table->find_function("thing"));
}

TEST(Btf, ACharacterIsTextWhateverItsSign) {
  constexpr std::uint32_t kInt = 1, kSigned = 1u << 24;
  golden::BtfBuilder b;
  const auto old = b.type("char", kInt, 0, 1, {kSigned | 8});
  const auto now = b.type("char", kInt, 0, 1, {8});
  const auto number = b.type("signed char", kInt, 0, 1, {kSigned | 8});
  const auto wide = b.type("char", kInt, 0, 2, {kSigned | 16});
  const auto table = read_btf(b.bytes());
  ASSERT_TRUE(table) << table.error().message();
  EXPECT_TRUE(table->type(old).is_text && table->type(now).is_text);
  EXPECT_FALSE(table->type(number).is_text || table->type(wide).is_text);
}

TEST(Btf, IsFoundInAnElfFile) {
  const auto table = read_btf(golden::small_btf_in_elf());
  ASSERT_TRUE(table) << table.error().message();
  EXPECT_TRUE(table->find_struct("thing"));
}

TEST(Btf, CutOffAnywhereIsRefused) {
  const auto whole = small_btf();
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(read_btf(std::span(whole).first(length))) << length;
}

// Whatever it answers, it answers.
TEST(Btf, EveryDamagedByteIsSurvived) {
  const auto whole = small_btf();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const unsigned flip : {0x01u, 0x80u, 0xffu}) {
      auto bytes = whole;
      bytes[at] ^= static_cast<std::uint8_t>(flip);
      const auto table = read_btf(bytes);
      for (TypeId id = 0; table && id < table->size(); ++id) {
        (void)table->type_text(id);
        (void)table->find_member(id, "inner");
        ASSERT_LT(table->strip(id), table->size());
      }
    }
  }
}

// `NAME(struct thing *it, struct STRUCT *own)`, where struct STRUCT has a field `NAME_size`.
std::vector<std::uint8_t> module_btf(const std::string& function, const std::string& structure) {
  const auto kernel = small_btf();
  std::uint32_t name_bytes = 0;
  std::memcpy(&name_bytes, kernel.data() + 20, sizeof name_bytes);
  const auto table = *read_btf(kernel);
  golden::BtfBuilder b(table.size(), name_bytes);
  const auto own = b.type(structure, 4, 1, 8, {b.name(function + "_size"), 1, 0});
  const auto to_own = b.type("", 2, 0, own);
  const auto to_thing = b.type("", 2, 0, *table.find_struct("thing"));
  b.type(function, 12, 0, b.type("", 13, 2, 0, {b.name("it"), to_thing, b.name("own"), to_own}));
  return b.bytes();
}

TEST(Btf, TypesOfModulesGoOnWhereTheKernelsEnd) {
  const auto kernel = small_btf();
  auto table = read_btf(kernel);
  ASSERT_TRUE(add_module_btf(*table, kernel, module_btf("one", "first")));
  ASSERT_TRUE(add_module_btf(*table, kernel, module_btf("two", "second")));
  const auto prototype = [&](const char* name) {
    return table->prototype_text(table->type(*table->find_function(name)).target, name);
  };
  EXPECT_EQ(prototype("work"), "long work(const struct thing *it, unsigned int count)");
  EXPECT_EQ(prototype("one"), "void one(struct thing *it, struct first *own)");
  EXPECT_EQ(prototype("two"), "void two(struct thing *it, struct second *own)");
  EXPECT_TRUE(table->find_member(*table->find_struct("second"), "two_size"));
  EXPECT_FALSE(table->find_member(*table->find_struct("second"), "one_size"));
}

TEST(Btf, DamagedModulesAreSurvived) {
  const auto kernel = small_btf();
  const auto whole = module_btf("one", "first");
  for (std::size_t at = 0; at < whole.size(); ++at) {
    auto bytes = whole;
    bytes[at] ^= 0x80;
    auto table = read_btf(kernel);
    if (!add_module_btf(*table, kernel, bytes)) continue;
    for (TypeId id = 0; id < table->size(); ++id) (void)table->type_text(id);
  }
  EXPECT_FALSE(read_btf(whole)) << "a module's alone";
}

TEST(Btf, AFileThatIsNoneSaysSo) {
  const auto missing = read_btf_file("/nonexistent/btf");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message(), testing::HasSubstr("cannot be read"));
  const auto other = read_btf_file("/proc/self/status");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message(), testing::HasSubstr("not BTF"));
}

}  // namespace
}  // namespace kevt::target
