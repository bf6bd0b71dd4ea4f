#include "compiler/target/elf/debug_file.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "compiler/target/types/debug_types.h"
#include "compiler/target/types/open_dwarf.h"

namespace kevt::target {
namespace {

using testing::HasSubstr;

std::string all_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// An ELF file that is nothing but sections.
std::string file_of(const std::vector<std::pair<std::string, std::string>>& sections) {
  std::string names(1, '\0'), body;
  std::vector<Elf64_Shdr> headers(1);
  const auto add = [&](const std::string& name, const std::string& bytes) {
    Elf64_Shdr header = {};
    header.sh_name = static_cast<Elf64_Word>(names.size());
    header.sh_type = name.starts_with(".note") ? SHT_NOTE : name == ".shstrtab" ? SHT_STRTAB : SHT_PROGBITS;
    header.sh_offset = sizeof(Elf64_Ehdr) + body.size();
    names += name + '\0';
    body += name == ".shstrtab" ? names : bytes;
    header.sh_size = sizeof(Elf64_Ehdr) + body.size() - header.sh_offset;
    body.resize((body.size() + 15) / 16 * 16);
    headers.push_back(header);
  };
  for (const auto& [name, bytes] : sections) add(name, bytes);
  add(".shstrtab", "");
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shoff = sizeof header + body.size();
  header.e_shnum = static_cast<Elf64_Half>(headers.size());
  header.e_shstrndx = static_cast<Elf64_Half>(headers.size() - 1);
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + body +
         std::string(reinterpret_cast<const char*>(headers.data()), headers.size() * sizeof(Elf64_Shdr));
}

std::string note_of(const std::string& id) {
  const Elf64_Nhdr note = {.n_namesz = 4, .n_descsz = static_cast<Elf64_Word>(id.size()), .n_type = NT_GNU_BUILD_ID};
  return std::string(reinterpret_cast<const char*>(&note), sizeof note) + std::string("GNU\0", 4) + id;
}

class DebugFiles : public testing::Test {
 protected:
  DebugFiles() {
    char name[] = "/tmp/kevt-debug-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~DebugFiles() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string make(const std::string& name, const std::vector<std::pair<std::string, std::string>>& sections) const {
    std::ofstream(path(name), std::ios::binary) << file_of(sections);
    return path(name);
  }

  std::string folder_;
  const std::string id_ = "0123456789abcdefKEVT";
  const std::string link_ = std::string("debug\0\0\0crc4", 12);
};

TEST_F(DebugFiles, AreFoundByDebugLinkAndBuildId) {
  const std::string program = make("program", {{".note.gnu.build-id", note_of(id_)}, {".gnu_debuglink", link_}});
  EXPECT_THAT(find_debug_file(program).why, HasSubstr("has no debug information here; install"));
  make("debug", {{".note.gnu.build-id", note_of("another id")}, {".debug_info", "x"}});
  EXPECT_FALSE(find_debug_file(program).contents);
  make("debug", {{".note.gnu.build-id", note_of(id_)}, {".debug_info", "x"}});
  ASSERT_TRUE(find_debug_file(program).contents);
  EXPECT_EQ(find_debug_file(program).contents->name(), path("debug"));
}

TEST_F(DebugFiles, MustBeRegularFiles) {
  const std::string program = make("program", {{".note.gnu.build-id", note_of(id_)}, {".gnu_debuglink", link_}});
  ASSERT_EQ(mkfifo(path("debug").c_str(), 0600), 0);
  EXPECT_THAT(find_debug_file(program).why, HasSubstr("debug` is not a regular file: it is a FIFO); install"));
  ASSERT_EQ(mkfifo(path("program.fifo").c_str(), 0600), 0);
  EXPECT_THAT(find_debug_file(path("program.fifo")).why, HasSubstr("it is a FIFO"));
}

TEST_F(DebugFiles, AlternatesMustBeRegularFilesWithTheBuildId) {
  const auto alternate = [&](const std::string& name) {
    const std::string link = name + '\0' + id_;
    const auto contents = FileContents::open(make("linked", {{".debug_info", "x"}, {".gnu_debugaltlink", link}}));
    const auto found = find_alternate_file(**contents);
    return found ? found->name() : "";
  };
  make("alt", {{".note.gnu.build-id", note_of(id_)}, {".debug_info", "x"}});
  make("other", {{".note.gnu.build-id", note_of("another id")}, {".debug_info", "x"}});
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(alternate("alt"), path("alt"));
  EXPECT_EQ(alternate(path("alt")), path("alt"));
  EXPECT_EQ(alternate("other"), "");
  EXPECT_EQ(alternate("fifo"), "");
  EXPECT_EQ(alternate(path("fifo")), "");
  EXPECT_EQ(alternate("none"), "");
}

// What libdw gets must not be what it believes: sections that unpack to a thousand times their size, sections and
// tables that are holes.
TEST_F(DebugFiles, AreCheckedBeforeLibdwSeesThem) {
  const std::string whole = all_of(KEVT_TYPED_FUNCTIONS);
  std::uint64_t state = 11;
  const auto next = [&] { return (state = state * 6364136223846793005u + 1442695040888963407u) >> 33; };
  Elf64_Ehdr header;
  std::memcpy(&header, whole.data(), sizeof header);
  for (int round = 0; round < 400; ++round) {
    std::string bytes = whole;
    for (int i = 0; i < 3; ++i) {
      const std::size_t at = header.e_shoff + next() % header.e_shnum * sizeof(Elf64_Shdr);
      Elf64_Shdr section;
      std::memcpy(&section, bytes.data() + at, sizeof section);
      const std::uint64_t sizes[] = {0, 1, ~0ull, 1ull << 42, whole.size(), section.sh_size + 1};
      if (next() % 4 == 0) section.sh_size = sizes[next() % std::size(sizes)];
      if (next() % 4 == 0) section.sh_offset = sizes[next() % std::size(sizes)];
      if (next() % 4 == 0) section.sh_flags ^= SHF_COMPRESSED;
      if (next() % 4 == 0) section.sh_type = static_cast<Elf64_Word>(next() % 20);
      if (next() % 4 == 0) section.sh_name = static_cast<Elf64_Word>(next() % 600);
      std::memcpy(bytes.data() + at, &section, sizeof section);
    }
    Elf64_Ehdr changed = header;
    if (next() % 8 == 0) changed.e_shnum = 0;
    if (next() % 8 == 0) changed.e_shstrndx = static_cast<Elf64_Half>(next());
    if (next() % 8 == 0) changed.e_shoff = next();
    if (next() % 8 == 0) changed.e_phnum = static_cast<Elf64_Half>(next());
    std::memcpy(bytes.data(), &changed, sizeof changed);
    std::ofstream(path("damaged"), std::ios::binary | std::ios::trunc) << bytes;
    if (round % 2) std::filesystem::resize_file(path("damaged"), 4ull << 40);
    DebugTypes types(path("damaged"));
    (void)types.function_at({0x1100 + next() % 64}, "x");
  }
}

}  // namespace
}  // namespace kevt::target
