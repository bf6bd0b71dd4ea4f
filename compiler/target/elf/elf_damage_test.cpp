// ELF files whose numbers lie, in structures that are whole otherwise: counts, sizes and offsets of every table, on
// files of their true length and on sparse ones of 4 TiB. Reading them ends, in memory that the file's bytes pay for.
#include <elf.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "compiler/target/elf/elf_image.h"
#include "compiler/target/elf/instruction_start.h"

namespace kevt::target {
namespace {

constexpr std::uint64_t kLong = std::uint64_t{4} << 40;

long peak_kib() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

class ElfDamage : public testing::Test {
 protected:
  ElfDamage() {
    char name[] = "/tmp/kevt-damage-XXXXXX";
    folder_ = mkdtemp(name);
    path_ = folder_ + "/lib.so";
    std::ifstream in("/lib/x86_64-linux-gnu/libz.so.1", std::ios::binary);
    whole_.assign(std::istreambuf_iterator<char>(in), {});
    std::memcpy(&header_, whole_.data(), sizeof header_);
  }
  ~ElfDamage() override { std::filesystem::remove_all(folder_); }

  template <class T>
  T get(std::uint64_t at) const {
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }
  template <class T>
  void put(std::uint64_t at, const T& value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  std::uint64_t segment_at(unsigned i) const { return header_.e_phoff + i * sizeof(Elf64_Phdr); }
  std::uint64_t section_at(unsigned i) const { return header_.e_shoff + i * sizeof(Elf64_Shdr); }

  // `length` 0: as long as its bytes are.
  void save(std::uint64_t length) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes_;
    if (length) std::filesystem::resize_file(path_, length);
  }
  // All that an image can be asked; false: it was refused.
  bool ask_everything() const {
    const auto image = ElfImage::open(path_);
    if (!image) return false;
    image->functions();
    image->landing_pads();
    image->code_pointers();
    image->soname();
    image->find_functions("inflate");
    image->find_objects("deflate_copyright");
    image->section_name(image->entry());
    image->symbol_covering({0x4000});
    for (const ImageRange& range : image->executable_ranges()) {
      image->bytes_at(range.begin, ~std::uint64_t{0});
      is_instruction_start(*image, range.begin + 64);
    }
    for (const ElfSymbol& symbol : image->find_functions("inflate")) image->bytes_at(symbol.address, kLong);
    return true;
  }

  std::string folder_, path_, whole_, bytes_;
  Elf64_Ehdr header_{};
};

TEST_F(ElfDamage, EverySectionMayClaimFourTebibytes) {
  bool was_read = false;
  for (unsigned i = 0; i < header_.e_shnum; ++i) {
    bytes_ = whole_;
    auto section = get<Elf64_Shdr>(section_at(i));
    section.sh_size = kLong - section.sh_offset;
    put(section_at(i), section);
    save(kLong);
    const long before = peak_kib();
    was_read |= ask_everything();
    EXPECT_LT(peak_kib() - before, 32 << 10) << "section " << i;
  }
  EXPECT_TRUE(was_read);
}

TEST_F(ElfDamage, EverySegmentMayClaimFourTebibytes) {
  for (unsigned i = 0; i < header_.e_phnum; ++i) {
    bytes_ = whole_;
    auto segment = get<Elf64_Phdr>(segment_at(i));
    segment.p_filesz = segment.p_memsz = kLong - segment.p_offset;
    put(segment_at(i), segment);
    save(kLong);
    const long before = peak_kib();
    EXPECT_TRUE(ask_everything()) << "segment " << i;
    EXPECT_LT(peak_kib() - before, 32 << 10) << "segment " << i;
  }
}

TEST_F(ElfDamage, SectionsMayBeCountedInTheFirstOne) {
  bytes_ = whole_;
  header_.e_shnum = 0;
  put(0, header_);
  auto first = get<Elf64_Shdr>(section_at(0));
  for (const std::uint64_t count : {kLong / sizeof(Elf64_Shdr), ~std::uint64_t{0}, std::uint64_t{1} << 33}) {
    first.sh_size = count;
    put(section_at(0), first);
    save(kLong);
    EXPECT_TRUE(ask_everything());  // as without sections
    EXPECT_EQ(ElfImage::open(path_)->find_functions("inflate").size(), 1u);
  }
}

TEST_F(ElfDamage, EveryDynamicEntryMaySayAnything) {
  std::uint64_t dynamic = 0;
  for (unsigned i = 0; i < header_.e_phnum; ++i) {
    bytes_ = whole_;
    if (const auto segment = get<Elf64_Phdr>(segment_at(i)); segment.p_type == PT_DYNAMIC) dynamic = segment.p_offset;
  }
  ASSERT_NE(dynamic, 0u);
  for (std::uint64_t at = dynamic; get<Elf64_Dyn>(at).d_tag != DT_NULL; at += sizeof(Elf64_Dyn)) {
    for (const std::uint64_t value :
         {std::uint64_t{0}, std::uint64_t{1}, kLong, ~std::uint64_t{0}, ~std::uint64_t{7}}) {
      for (const std::uint64_t length : {std::uint64_t{0}, kLong}) {
        bytes_ = whole_;
        auto entry = get<Elf64_Dyn>(at);
        entry.d_un.d_val = value;
        put(at, entry);
        put(offsetof(Elf64_Ehdr, e_shoff), std::uint64_t{0});  // all by the dynamic section
        // The last segment goes to the end: tables may be anywhere in it.
        for (unsigned i = header_.e_phnum; length && i-- > 0;) {
          auto segment = get<Elf64_Phdr>(segment_at(i));
          if (segment.p_type != PT_LOAD) continue;
          segment.p_filesz = segment.p_memsz = kLong - segment.p_offset;
          put(segment_at(i), segment);
          break;
        }
        save(length);
        const long before = peak_kib();
        ask_everything();
        EXPECT_LT(peak_kib() - before, 32 << 10) << "tag " << entry.d_tag << " value " << value;
      }
    }
  }
}

TEST_F(ElfDamage, NumbersMayLieTogether) {
  std::uint64_t state = 5;
  const auto next = [&] { return (state = state * 6364136223846793005u + 1442695040888963407u) >> 33; };
  int read = 0;
  for (int round = 0; round < 600; ++round) {
    bytes_ = whole_;
    const std::uint64_t length = next() % 2 ? kLong : 0;
    const std::uint64_t values[] = {
        0, 1, 8, next() % whole_.size(), whole_.size(), kLong, kLong / 2, ~std::uint64_t{0}};
    const auto value = [&] { return values[next() % std::size(values)]; };
    for (int changes = 1 + static_cast<int>(next() % 4); changes > 0; --changes) {
      const bool of_section = next() % 2;
      const std::uint64_t begin = of_section ? section_at(static_cast<unsigned>(next() % header_.e_shnum))
                                             : segment_at(static_cast<unsigned>(next() % header_.e_phnum));
      const std::uint64_t fields = (of_section ? sizeof(Elf64_Shdr) : sizeof(Elf64_Phdr)) / 8;
      put(begin + next() % fields * 8, value());
    }
    if (next() % 8 == 0) put(offsetof(Elf64_Ehdr, e_phnum), static_cast<Elf64_Half>(next()));
    if (next() % 8 == 0) put(offsetof(Elf64_Ehdr, e_shnum), static_cast<Elf64_Half>(next()));
    save(length);
    const long before = peak_kib();
    read += ask_everything();
    EXPECT_LT(peak_kib() - before, 32 << 10) << "round " << round;
  }
  EXPECT_GT(read, 100);
}

// Names that lie on each other: 100,000 symbols of up to 64 KiB each.
TEST_F(ElfDamage, NamesMayOverlap) {
  bytes_ = whole_;
  const std::uint64_t table = (bytes_.size() + 15) / 16 * 16;
  constexpr std::uint64_t kSymbols = 100'000, kNames = 120'000;
  bytes_.resize(table + kSymbols * sizeof(Elf64_Sym));
  for (std::uint64_t i = 1; i < kSymbols; ++i) {
    Elf64_Sym symbol = {};
    symbol.st_name = static_cast<Elf64_Word>(kNames - kSymbols + i);
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_shndx = 1;
    symbol.st_value = 0x4000;
    put(table + i * sizeof symbol, symbol);
  }
  const std::uint64_t names = bytes_.size();
  bytes_ += std::string(kNames, 'n') + '\0';
  auto section = get<Elf64_Shdr>(section_at(1));
  section.sh_type = SHT_SYMTAB;
  section.sh_link = 2;
  section.sh_offset = table;
  section.sh_size = kSymbols * sizeof(Elf64_Sym);
  put(section_at(1), section);
  section.sh_type = SHT_STRTAB;
  section.sh_offset = names;
  section.sh_size = kNames + 1;
  put(section_at(2), section);
  save(0);
  const auto image = ElfImage::open(path_);
  ASSERT_TRUE(image);
  EXPECT_TRUE(image->find_functions("nnnn").size() <= 1);
  EXPECT_LT(image->symbols().size(), kSymbols / 2);
  EXPECT_EQ(image->find_functions("inflate").size(), 1u);
}

TEST_F(ElfDamage, AFileThatShrinksIsNotBelieved) {
  std::ifstream libc("/lib/x86_64-linux-gnu/libc.so.6", std::ios::binary);
  bytes_.assign(std::istreambuf_iterator<char>(libc), {});
  save(0);
  const auto image = ElfImage::open(path_);
  ASSERT_TRUE(image);
  EXPECT_FALSE(image->problem());
  std::filesystem::resize_file(path_, 100);
  image->bytes_at(image->executable_ranges()[0].begin, ~std::uint64_t{0});
  image->functions();
  ASSERT_TRUE(image->problem());
  EXPECT_THAT(image->problem()->message(), testing::HasSubstr("lib.so` changed while it was read"));
}

}  // namespace
}  // namespace kevt::target
