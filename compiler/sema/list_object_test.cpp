// Lists by the names and members of types, those of damaged files among them.
#include "compiler/sema/list_object.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

namespace kevt::sema {
namespace {

using model::TypeKind;
using target::Type;
using target::TypeClass;
using target::TypeId;

class ListObjectTest : public testing::Test {
 protected:
  TypeId integer(std::uint32_t bytes, bool is_signed) {
    return table_.add({.kind = TypeClass::Integer, .is_signed = is_signed, .bytes = bytes});
  }
  TypeId pointer(TypeId to) { return table_.add({.kind = TypeClass::Pointer, .target = to}); }
  TypeId structure(std::string_view name, std::initializer_list<std::pair<const char*, TypeId>> members) {
    std::vector<target::Member> made;
    for (const auto& [member, type] : members)
      made.push_back(
          {.name = table_.add_name(member), .type = type, .bit_offset = static_cast<std::uint32_t>(64 * made.size())});
    return table_.add({.kind = TypeClass::Struct,
                       .count = static_cast<std::uint32_t>(made.size()),
                       .first = table_.add_members(made),
                       .name = table_.add_name(name)});
  }
  TypeId vector_of(TypeId item) {
    const TypeId inner =
        structure("_Vector_impl",
                  {{"_M_start", pointer(item)}, {"_M_finish", pointer(item)}, {"_M_end_of_storage", pointer(item)}});
    return structure("vector<T>", {{"_M_impl", inner}});
  }
  target::TypeTable table_;
};

TEST_F(ListObjectTest, AVectorKeepsItsBeginningAndItsEnd) {
  const auto list = list_object(table_, vector_of(integer(4, true)));
  ASSERT_TRUE(list);
  EXPECT_EQ(list->address, 0u);
  EXPECT_EQ(list->length, 8u);
  EXPECT_TRUE(list->is_end);
  EXPECT_TRUE(list->type.is_counted);
  EXPECT_EQ(list->type.kind, TypeKind::Signed);
  EXPECT_EQ(list->type.bytes, 4);
  EXPECT_EQ(list->type.array_count, 64u);
}

TEST_F(ListObjectTest, ItemsAreNumbers) {
  const TypeId byte = table_.add({.kind = TypeClass::Enum, .is_signed = false, .bytes = 1});
  EXPECT_EQ(list_object(table_, vector_of(byte))->type.kind, TypeKind::Unsigned);
  EXPECT_EQ(list_object(table_, vector_of(table_.add({.kind = TypeClass::Float, .bytes = 8})))->type.kind,
            TypeKind::Float);
  EXPECT_EQ(list_object(table_, vector_of(pointer(byte)))->type.kind, TypeKind::Hex);
  EXPECT_FALSE(list_object(table_, vector_of(integer(16, false))));
  EXPECT_FALSE(list_object(table_, vector_of(structure("item", {{"a", byte}}))));
  EXPECT_FALSE(list_object(table_, vector_of(0)));
}

TEST_F(ListObjectTest, BothNameAndMembersMustFit) {
  const TypeId number = integer(8, false);
  EXPECT_FALSE(list_object(table_, structure("vector<int>", {{"first", number}, {"second", number}})));
  EXPECT_FALSE(list_object(table_, structure("mine", {{"data_ptr", pointer(number)}, {"length", number}})));
  EXPECT_TRUE(list_object(table_, structure("&[u64]", {{"data_ptr", pointer(number)}, {"length", number}})));
  EXPECT_TRUE(list_object(table_, structure("[]uint", {{"array", pointer(number)}, {"len", number}, {"cap", number}})));
  EXPECT_FALSE(list_object(table_, number));
}

// Newer Rust says only in the name what the items are.
TEST_F(ListObjectTest, RustNamesItsItems) {
  const TypeId bytes = pointer(integer(1, false));
  const auto vec = [&](const char* name) {
    const TypeId buffer = structure("RawVec", {{"inner", structure("RawVecInner", {{"ptr", bytes}})}});
    return list_object(table_, structure(name, {{"buf", buffer}, {"len", integer(8, false)}}));
  };
  EXPECT_EQ(vec("Vec<i32, alloc::alloc::Global>")->type.kind, TypeKind::Signed);
  EXPECT_EQ(vec("Vec<i32, alloc::alloc::Global>")->type.bytes, 4);
  EXPECT_EQ(vec("Vec<f64>")->type.kind, TypeKind::Float);
  EXPECT_EQ(vec("Vec<usize>")->type.bytes, 8);
  for (const char* name : {"Vec<u128>", "Vec<String>", "Vec<u7>", "Vec<>", "Vec<", "Vec<i32x"})
    EXPECT_FALSE(vec(name)) << name;
}

TEST_F(ListObjectTest, AnArrayThatIsItsOwnMemberIsNone) {
  const TypeId items = table_.add({.kind = TypeClass::Array, .target = integer(4, true), .count = 3});
  EXPECT_EQ(array_in(table_, structure("array<int, 3>", {{"_M_elems", items}})), items);
  EXPECT_FALSE(array_in(table_, structure("array<int, 3>", {{"_M_elems", table_.size()}})));  // the structure itself
  EXPECT_FALSE(array_in(table_, structure("array<int, 0>", {{"_M_elems", structure("_Type", {})}})));
  EXPECT_FALSE(array_in(table_, structure("other", {{"_M_elems", items}})));
}

}  // namespace
}  // namespace kevt::sema
