#include "compiler/target/types/source_index.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "compiler/target/elf/debug_file.h"
#include "compiler/target/types/open_dwarf.h"

namespace kevt::target {
namespace {

namespace fs = std::filesystem;

class SourceIndexTest : public testing::Test {
 protected:
  SourceIndexTest() : dwarf_(*OpenDwarf::of(find_debug_file(KEVT_TYPED_FUNCTIONS))) {
    std::string made = (fs::temp_directory_path() / "kevt_source_index.XXXXXX").string();
    base_ = ::mkdtemp(made.data());
  }
  ~SourceIndexTest() override { fs::remove_all(base_); }

  SourceIndex index(std::uint8_t id = 1, std::uint64_t least = 0) {
    return {dwarf_.get(), {.build_id = {id, 0xab}, .file_bytes = 1000}, {.folder = folder(), .least_bytes = least}};
  }
  std::string folder() const { return (base_ / "kevtrace").string(); }
  fs::path kept(const std::string& kind, const std::string& id = "01ab") const {
    return fs::path(folder()) / (id + "-" + kind + ".kept");
  }
  static std::string text_of(SourceIndex& index) {
    std::string text;
    for (const auto& [file, units] : index.files()) text += file + " " + std::to_string(units.size()) + "\n";
    for (const IndexedFunction& function : index.functions())
      text += function.name + " " + index.file_of(function) + ":" + std::to_string(function.line) + " " +
              std::to_string(function.die) + "\n";
    return text;
  }

  OpenDwarf dwarf_;
  fs::path base_;
};

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(SourceIndexTest, AKeptIndexSaysTheSame) {
  SourceIndex first = index();
  const std::string built = text_of(first);
  EXPECT_THAT(built, testing::HasSubstr("typed_functions.c"));
  ASSERT_FALSE(first.functions().empty());
  ASSERT_TRUE(fs::exists(kept("files")));
  ASSERT_TRUE(fs::exists(kept("functions")));
  const auto written = fs::last_write_time(kept("functions"));
  SourceIndex second = index();
  EXPECT_EQ(text_of(second), built);
  EXPECT_EQ(fs::last_write_time(kept("functions")), written);  // it was read, not built again
}

TEST_F(SourceIndexTest, ADamagedOneIsBuiltAnew) {
  SourceIndex first = index();
  const std::string built = text_of(first);
  for (const char* kind : {"files", "functions"}) {
    const std::string whole = bytes_of(kept(kind));
    for (const std::string& damaged :
         {whole.substr(0, whole.size() / 2), std::string(), std::string(whole.size(), 'x')}) {
      std::ofstream(kept(kind), std::ios::binary | std::ios::trunc) << damaged;
      SourceIndex again = index();
      EXPECT_EQ(text_of(again), built) << kind;
      EXPECT_EQ(bytes_of(kept(kind)), whole) << kind;
    }
  }
}

TEST_F(SourceIndexTest, AnotherFilesIsNotTaken) {
  SourceIndex first = index();
  const std::string built = text_of(first);
  fs::copy_file(kept("files"), kept("files", "02ab"));
  const std::string others = bytes_of(kept("files", "02ab"));
  SourceIndex other = index(2);
  EXPECT_EQ(text_of(other), built);
  EXPECT_NE(bytes_of(kept("files", "02ab")), others);  // written anew, with its own identity
}

TEST_F(SourceIndexTest, SmallOnesAndThoseWithoutABuildIdAreNotKept) {
  SourceIndex small = index(1, 1001);
  text_of(small);
  SourceIndex nameless(dwarf_.get(), {.build_id = {}, .file_bytes = 1000}, {.folder = folder(), .least_bytes = 0});
  text_of(nameless);
  EXPECT_FALSE(fs::exists(folder()));
}

}  // namespace
}  // namespace kevt::target
