#include "compiler/target/types/late_sections.h"

#include <dwarf.h>
#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "compiler/target/elf/debug_file.h"
#include "compiler/target/types/dwarf_die.h"
#include "compiler/target/types/line_rows.h"
#include "compiler/target/types/open_dwarf.h"
#include "compiler/target/types/source_index.h"

namespace kevt::target {
namespace {

namespace fs = std::filesystem;

constexpr LateLimits kAlways = {.section_bytes = 0, .table_bytes = 0, .unit_bytes = 1};
constexpr LateLimits kNever = {.section_bytes = ~std::uint64_t{0}, .table_bytes = ~std::uint64_t{0}};

// Of all units: the tags, names and types of their DIEs.
std::string tree_of(Dwarf* dwarf) {
  std::string text;
  const std::function<void(Dwarf_Die&, unsigned)> add = [&](Dwarf_Die& die, unsigned depth) {
    auto type = reference(die, DW_AT_type);
    text += std::string(depth, ' ') + std::to_string(dwarf_tag(&die)) + " " + name_of(die) + " " +
            (type ? name_of(*type) : "") + "\n";
    each_child(die, [&](Dwarf_Die& child) { add(child, depth + 1); });
  };
  each_unit(dwarf, [&](Dwarf_Die unit) { add(unit, 0); });
  return text;
}

// Of all units: the rows of their line tables, and how many places each variable has.
std::string tables_of(Dwarf* dwarf) {
  std::string text;
  const std::function<void(Dwarf_Die&)> add = [&](Dwarf_Die& die) {
    Dwarf_Attribute attribute;
    if (dwarf_attr(&die, DW_AT_location, &attribute) != nullptr && read_places_of(attribute)) {
      Dwarf_Addr base = 0, begin = 0, end = 0;
      Dwarf_Op* operations = nullptr;
      std::size_t count = 0;
      text += name_of(die);
      for (std::ptrdiff_t at = 0;
           (at = dwarf_getlocations(&attribute, at, &base, &begin, &end, &operations, &count)) > 0;)
        text += " " + std::to_string(begin) + "-" + std::to_string(end) + ":" + std::to_string(count);
      text += "\n";
    }
    each_child(die, add);
  };
  each_unit(dwarf, [&](Dwarf_Die unit) {
    for (const LineRow& row : read_line_unit(unit).rows)
      text += std::to_string(row.address) + " " + (row.file ? *row.file : "?") + ":" + std::to_string(row.line) + "\n";
    add(unit);
  });
  return text;
}

Result<OpenDwarf> opened(const std::string& path, LateLimits limits) {
  return OpenDwarf::of(find_debug_file(path), DwarfSections::PlacesOfVariables, limits);
}

class LateSectionsOfAFile : public testing::Test {
 protected:
  LateSectionsOfAFile() {
    std::string made = (fs::temp_directory_path() / "kevt_late.XXXXXX").string();
    folder_ = ::mkdtemp(made.data());
    std::ifstream file(KEVT_TYPED_FUNCTIONS, std::ios::binary);
    bytes_ = {std::istreambuf_iterator<char>(file), {}};
  }
  ~LateSectionsOfAFile() override { fs::remove_all(folder_); }

  LateParts parts() {
    const std::string path = folder_ / "changed";
    std::ofstream(path, std::ios::binary) << bytes_;
    contents_ = *FileContents::open(path);
    return late_parts(*contents_, kAlways);
  }
  // Where a section begins in the file, and how long it is.
  std::pair<std::size_t, std::size_t> place_of(std::string_view name) {
    const auto contents = *FileContents::open(KEVT_TYPED_FUNCTIONS);
    const CheckedBytes file(*contents);
    const ElfSections sections = read_sections(file, *read_elf_header(file));
    const Elf64_Shdr* section = sections.find(name);
    return {section->sh_offset, section->sh_size};
  }

  fs::path folder_;
  std::string bytes_;
  std::shared_ptr<FileContents> contents_;
};

TEST(LateSections, SayTheSameAsSectionsThatAreReadAtOnce) {
  const auto late = OpenDwarf::of(find_debug_file(KEVT_TYPED_FUNCTIONS), DwarfSections::TypesAndLines, kAlways);
  const auto whole = OpenDwarf::of(find_debug_file(KEVT_TYPED_FUNCTIONS), DwarfSections::TypesAndLines, kNever);
  ASSERT_TRUE(late && whole);
  EXPECT_THAT(tree_of(whole->get()), testing::HasSubstr("typed_work"));
  EXPECT_EQ(tree_of(late->get()), tree_of(whole->get()));
}

TEST(LateSections, OfTablesSaySoToo) {
  const auto late = opened(KEVT_TYPED_FUNCTIONS, kAlways), whole = opened(KEVT_TYPED_FUNCTIONS, kNever);
  ASSERT_TRUE(late && whole);
  const std::string tables = tables_of(late->get());
  EXPECT_THAT(tables, testing::HasSubstr("typed_functions.c:23\n"));
  EXPECT_THAT(tables, testing::ContainsRegex("\nfactor [0-9]+-[0-9]+:1"));
  EXPECT_EQ(tables, tables_of(whole->get()));
}

TEST_F(LateSectionsOfAFile, AreTextsUnitsLinesAndPlaces) {
  const LateParts found = parts();
  ASSERT_TRUE(found.texts && found.units && found.lines && found.places);
  EXPECT_EQ(found.units->size(), place_of(".debug_info").second);
  ASSERT_FALSE(found.heads.empty());
  EXPECT_EQ(found.heads.front(), 0u);
}

TEST_F(LateSectionsOfAFile, SmallOnesAreNotWorthIt) {
  static_cast<void>(parts());
  EXPECT_TRUE(late_parts(*contents_).empty());
}

TEST_F(LateSectionsOfAFile, UnitsThatReferToOthersAreReadAtOnce) {
  const auto [begin, size] = place_of(".debug_abbrev");
  const std::size_t type = bytes_.find("\x49\x13", begin);  // DW_AT_type, DW_FORM_ref4
  ASSERT_LT(type, begin + size);
  for (const char form : {DW_FORM_ref_addr, DW_FORM_ref_sig8, DW_FORM_indirect}) {
    bytes_[type + 1] = form;
    const LateParts found = parts();
    EXPECT_FALSE(found.units) << int{form};
    EXPECT_TRUE(found.texts);
  }
}

TEST_F(LateSectionsOfAFile, UnitsThatDoNotFillTheSectionAreReadAtOnce) {
  const auto [begin, size] = place_of(".debug_info");
  for (const std::size_t at : {0, 3}) {
    const std::string before = bytes_;
    bytes_[begin + at] ^= 0x40;
    EXPECT_FALSE(parts().units) << at;
    bytes_ = before;
  }
  const std::string before = bytes_;
  bytes_.replace(begin, 4, 4, '\0');  // units without a length, without an end
  EXPECT_FALSE(parts().units);
  bytes_ = before;
  const auto [abbreviations, bytes] = place_of(".debug_abbrev");
  bytes_.replace(abbreviations, bytes, bytes, '\x81');  // numbers without an end
  EXPECT_FALSE(parts().units);
}

TEST_F(LateSectionsOfAFile, TextsThatLineTablesNeedAreReadWithThem) {
  const auto [begin, size] = place_of(".debug_line");
  const std::size_t path = bytes_.find("\x01\x1f", begin);  // DW_LNCT_path, DW_FORM_line_strp
  ASSERT_LT(path, begin + size);
  bytes_[path + 1] = DW_FORM_strp;
  EXPECT_TRUE(parts().texts);
  const std::string changed = folder_ / "changed";
  EXPECT_EQ(tables_of(opened(changed, kAlways)->get()), tables_of(opened(changed, kNever)->get()));
  LateLimits lines_at_once = kAlways;
  lines_at_once.table_bytes = ~std::uint64_t{0};
  EXPECT_FALSE(late_parts(*contents_, lines_at_once).texts);
}

TEST_F(LateSectionsOfAFile, LinesAndPlacesThatAreDamagedAreNotThere) {
  for (const char* section : {".debug_line", ".debug_loclists"}) {
    const auto [begin, size] = place_of(section);
    const std::string before = bytes_;
    for (const char byte : {'\x00', '\x7f', '\xff'}) {
      bytes_.replace(begin, size, size, byte);
      static_cast<void>(parts());
      const std::string changed = folder_ / "changed";
      const auto late = opened(changed, kAlways), whole = opened(changed, kNever);
      ASSERT_TRUE(late && whole) << section;
      EXPECT_EQ(tables_of(late->get()), tables_of(whole->get())) << section;
    }
    bytes_ = before;
  }
}

}  // namespace
}  // namespace kevt::target
