// Names of source files, as libdw gives them after it has decoded whole tables.
#include "compiler/target/types/line_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "compiler/target/types/dwarf_die.h"

namespace kevt::target {
namespace {

using Names = std::set<std::string>;

Names by_libdw(Dwarf_Die& unit) {
  Names names;
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  if (dwarf_getsrcfiles(&unit, &files, &count) != 0) return names;
  for (std::size_t i = 0; i < count; ++i)
    if (const char* name = dwarf_filesrc(files, i, nullptr, nullptr); name && std::string_view(name) != "???")
      names.insert(whole_path(unit, name));
  return names;
}

// How many units have been compared.
unsigned compare(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  Dwarf* dwarf = file < 0 ? nullptr : dwarf_begin(file, DWARF_C_READ);
  unsigned units = 0;
  if (dwarf != nullptr) {
    const LineFiles files(dwarf);
    each_unit(dwarf, [&](Dwarf_Die unit) {
      const auto found = files.of(unit);
      const Names wanted = by_libdw(unit);
      if (!found) {
        EXPECT_TRUE(wanted.empty()) << path;
        return;
      }
      Names names;
      for (const std::string& name : *found) names.insert(whole_path(unit, name.c_str()));
      EXPECT_EQ(names, wanted) << path;
      ++units;
    });
    dwarf_end(dwarf);
  }
  if (file >= 0) close(file);
  return units;
}

TEST(LineFilesTest, AreThoseOfThisProgram) { EXPECT_GT(compare("/proc/self/exe"), 0u); }

TEST(LineFilesTest, AreThoseOfEachVersion) {
  const auto folder = std::filesystem::temp_directory_path() / ("kevt_line_files_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder / "part");
  std::ofstream(folder / "part" / "inside.h") << "static int inside(int n) { return n + 1; }\n";
  std::ofstream(folder / "one.c") << "#include <stdio.h>\n#include \"part/inside.h\"\nint main(int n, char **v) { "
                                     "puts(v[0]); return inside(n); }\n";
  for (const char* version : {"2", "3", "4", "5"}) {
    const std::string made = (folder / version).string();
    const std::string gcc = std::string("gcc -gstrict-dwarf -gdwarf-") + version;
    const std::string here = "'" + folder.string() + "'";
    // From the sources' folder, from another one, and with a folder that is said to be a relative one (glibc's is).
    for (const auto& [name, command] :
         {std::pair("a", "cd " + here + " && " + gcc + " one.c"),
          {"b", "cd " + here + "/part && " + gcc + " ../one.c -I.."},
          {"c", "cd " + here + "/part && " + gcc + " -fdebug-prefix-map=" + here + "=src ../one.c -I.."}}) {
      if (std::system((command + " -o '" + made + name + "'").c_str()) != 0) GTEST_SKIP() << "no gcc";
      EXPECT_GT(compare(made + name), 0u) << version << name;
    }
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace kevt::target
