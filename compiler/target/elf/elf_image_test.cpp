#include "compiler/target/elf/elf_image.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>

namespace kevt::target {
namespace {

const char* const kLibc = "/lib/x86_64-linux-gnu/libc.so.6";
const char* const kSelf = "/proc/self/exe";

std::vector<std::uint8_t> file_bytes(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

extern "C" __attribute__((noinline, used)) int kevt_elf_probe_me(int x) { return x * 3 + 1; }

TEST(ElfImage, RefusesWhatIsNotAProgram) {
  EXPECT_THAT(ElfImage::open("/no/such/file").error().message(), testing::HasSubstr("No such file"));
  EXPECT_THAT(ElfImage::open("/proc").error().message(), testing::HasSubstr("not a regular file"));
  EXPECT_THAT(ElfImage::from_bytes({}, "empty").error().message(), testing::HasSubstr("not an ELF file"));
  EXPECT_THAT(ElfImage::from_bytes({'#', '!', '/', 'b', 'i', 'n', '/', 's', 'h', 10, 1, 2, 3, 4, 5, 6, 7}, "script")
                  .error()
                  .message(),
              testing::HasSubstr("not an ELF file, while reading `script`"));
  std::vector<std::uint8_t> other = file_bytes(kLibc);
  other[18] = EM_AARCH64;
  EXPECT_THAT(ElfImage::from_bytes(other, "arm").error().message(), testing::HasSubstr("not x86-64 code"));
}

TEST(ElfImage, SurvivesTruncationAnywhere) {
  const std::vector<std::uint8_t> whole = file_bytes(kLibc);
  for (std::size_t size : {std::size_t{20}, std::size_t{64}, std::size_t{100}, std::size_t{700}, whole.size() / 2}) {
    EXPECT_FALSE(ElfImage::from_bytes({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}, "cut"))
        << size;
  }
}

// Whatever the headers claim, reading everything must neither fault nor hang.
TEST(ElfImage, SurvivesDamage) {
  const std::vector<std::uint8_t> whole = file_bytes("/lib/x86_64-linux-gnu/libz.so.1");
  std::uint64_t state = 1;
  for (int round = 0; round < 300; ++round) {
    std::vector<std::uint8_t> bytes = whole;
    for (int hits = 0; hits < 40; ++hits) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const std::size_t limit = hits % 2 ? 4096 : bytes.size();
      bytes[(state >> 33) % limit] = static_cast<std::uint8_t>(state >> 25);
    }
    std::memcpy(bytes.data(), whole.data(), 20);
    const auto image = ElfImage::from_bytes(std::move(bytes), "damaged");
    if (!image) continue;
    image->functions();
    image->landing_pads();
    image->code_pointers();
    image->soname();
    image->find_functions("inflate");
    image->section_name(image->entry());
  }
}

// A library without .symtab whose .eh_frame_hdr is made the function table of a Go program (runtime/symtab.go).
class GoTable : public testing::Test {
 protected:
  struct Function {
    std::uint32_t start;
    const char* name;
  };

  void SetUp() override {
    std::memcpy(&header_, bytes_.data(), sizeof header_);
    const Elf64_Shdr names = section(header_.e_shstrndx);
    for (unsigned i = 0; i < header_.e_shnum; ++i) {
      char* name = reinterpret_cast<char*>(bytes_.data()) + names.sh_offset + section(i).sh_name;
      if (std::string_view(name) == ".text") text_ = section(i);
      if (std::string_view(name) != ".eh_frame_hdr") continue;
      std::strcpy(name, ".gopclntab");
      table_ = section(i);
    }
    ASSERT_NE(table_.sh_size * text_.sh_size, 0u);
  }
  Elf64_Shdr section(unsigned index) const {
    Elf64_Shdr read;
    std::memcpy(&read, bytes_.data() + header_.e_shoff + index * sizeof read, sizeof read);
    return read;
  }
  template <class T>
  void put(std::size_t at, T value) {
    ASSERT_LE(at + sizeof value, table_.sh_size);
    std::memcpy(bytes_.data() + table_.sh_offset + at, &value, sizeof value);
  }
  void set_entry(std::uint64_t entry) {
    header_.e_entry = entry;
    std::memcpy(bytes_.data(), &header_, sizeof header_);
  }
  // As Go 1.20 writes it; text_start 0: relocated when the program is loaded.
  void write_table(std::vector<Function> functions, std::uint32_t end, std::uint64_t text_start) {
    constexpr std::size_t kNames = 72, kFunctions = 200;
    put(0, std::uint32_t{0xfffffff1});
    put(4, std::uint32_t{0x08010000});
    put(8, std::uint64_t{functions.size()});
    put(24, text_start);
    put(32, std::uint64_t{kNames});
    put(64, std::uint64_t{kFunctions});
    std::size_t name_at = 0, record = 8 * functions.size() + 8;
    for (std::size_t i = 0; i < functions.size(); ++i) {
      put(kFunctions + 8 * i, functions[i].start);
      put(kFunctions + 8 * i + 4, static_cast<std::uint32_t>(record));
      put(kFunctions + record, functions[i].start);
      put(kFunctions + record + 4, static_cast<std::uint32_t>(name_at));
      for (const char* c = functions[i].name;; ++c, ++name_at) {
        put(kNames + name_at, *c);
        if (!*c) break;
      }
      ++name_at;
      record += 16;
    }
    put(kFunctions + 8 * functions.size(), end);
  }

  std::vector<std::uint8_t> bytes_ = file_bytes("/lib/x86_64-linux-gnu/libz.so.1");
  Elf64_Ehdr header_{};
  Elf64_Shdr text_{}, table_{};
};

TEST_F(GoTable, HasTheFunctionsOfAStrippedProgram) {
  for (const std::uint64_t text_start : {text_.sh_addr, std::uint64_t{0}}) {
    write_table({{0x40, "_rt0_amd64_linux"}, {0x80, "main.work"}, {0xa0, "main.(*T).Get"}}, 0x100, text_start);
    // Without the text's place the entry must be where the table then has it: C's start-up code may lie before.
    set_entry(text_.sh_addr + 0x50);
    EXPECT_EQ(ElfImage::from_bytes(bytes_, "go")->find_functions("main.work").size(), text_start ? 1u : 0u);
    set_entry(text_.sh_addr + 0x40);
    const auto image = ElfImage::from_bytes(bytes_, "go");
    ASSERT_TRUE(image && image->is_go());
    const auto work = image->find_functions("main.work");
    ASSERT_EQ(work.size(), 1u);
    EXPECT_EQ(work[0].address, ImageAddr{text_.sh_addr + 0x80});
    EXPECT_EQ(work[0].size, 0x20u);
    EXPECT_EQ(image->find_functions("main.(*T).Get")[0].size, 0x60u);
    EXPECT_EQ(image->symbol_covering({text_.sh_addr + 0x9f})->name, "main.work");
  }
}

TEST_F(GoTable, MayBeDamaged) {
  std::uint64_t state = 7;
  for (int round = 0; round < 500; ++round) {
    write_table({{0x40, "runtime.text"}, {0x80, "main.work"}}, 0x100, text_.sh_addr);
    for (int hits = 0; hits < 12; ++hits) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      bytes_[table_.sh_offset + 4 + (state >> 33) % 300] = static_cast<std::uint8_t>(state >> 25);
    }
    const auto image = ElfImage::from_bytes(bytes_, "damaged");
    ASSERT_TRUE(image);
    image->functions();
    image->find_functions("main.work");
    image->symbol_covering({text_.sh_addr + 0x81});
  }
}

TEST(ElfImage, LibcFacts) {
  const auto image = ElfImage::open(kLibc);
  ASSERT_TRUE(image) << image.error().message();
  EXPECT_EQ(image->soname(), "libc.so.6");
  EXPECT_THAT(std::string(image->interpreter()), testing::HasSubstr("ld-linux-x86-64"));
  EXPECT_FALSE(image->is_program());
  EXPECT_FALSE(image->is_go());
  const auto open = image->find_functions("open");
  ASSERT_EQ(open.size(), 1u);
  EXPECT_EQ(open[0].kind, SymbolKind::Function);
  EXPECT_EQ(image->find_functions("open64")[0].address, open[0].address);
  EXPECT_EQ(image->function_containing(open[0].address + 3)->start, open[0].address);
  EXPECT_EQ(image->symbol_covering(open[0].address + 3)->name, "open");
  EXPECT_TRUE(image->is_executable(open[0].address));
  EXPECT_EQ(image->section_name(open[0].address), ".text");
  EXPECT_EQ(image->find_objects("stdout").size(), 1u);
  EXPECT_TRUE(image->find_functions("stdout").empty());
  EXPECT_EQ(image->find_functions("strlen")[0].kind, SymbolKind::IFunc);
}

TEST(ElfImage, DefaultVersionWinsAndOthersCanBeNamed) {
  const auto image = ElfImage::open(kLibc);
  const auto chosen = image->find_functions("pthread_cond_wait");
  ASSERT_EQ(chosen.size(), 1u);
  EXPECT_EQ(chosen[0].versioning, SymbolVersion::Default);
  const auto old = image->find_functions("pthread_cond_wait@GLIBC_2.2.5");
  ASSERT_EQ(old.size(), 1u);
  EXPECT_NE(old[0].address, chosen[0].address);
}

TEST(ElfImage, ImportsAreNoDefinitions) {
  const auto image = ElfImage::open(kSelf);
  ASSERT_TRUE(image);
  EXPECT_TRUE(image->find_functions("dlopen").empty());
  EXPECT_TRUE(image->find_functions("abort").empty());
  EXPECT_TRUE(image->is_program());
  const auto own = image->find_functions("kevt_elf_probe_me");
  ASSERT_EQ(own.size(), 1u);
  const auto bytes = image->bytes_at(own[0].address, own[0].size);
  EXPECT_EQ(std::memcmp(bytes.data(), reinterpret_cast<const void*>(&kevt_elf_probe_me), bytes.size()), 0);
}

TEST(ElfImage, OffsetsAndAddressesAreInverse) {
  const auto image = ElfImage::open(kLibc);
  for (const FunctionRange& function : image->functions()) {
    const auto offset = image->file_offset(function.start);
    ASSERT_TRUE(offset);
    ASSERT_EQ(image->image_addr(*offset), function.start);
  }
  EXPECT_FALSE(image->file_offset({~std::uint64_t{0} - 3}));
  std::array<std::uint8_t, 8> out{};
  EXPECT_FALSE(image->read_text({~std::uint64_t{0} - 3}, out));
}

// libc's local functions have no symbols; their frames say where they are.
TEST(ElfImage, FramesKnowNamelessFunctions) {
  const auto image = ElfImage::open(kLibc);
  const auto& all = image->functions();
  const auto nameless = std::ranges::count_if(all, [](const FunctionRange& f) { return f.name.empty(); });
  EXPECT_GT(nameless, 500);
  EXPECT_TRUE(std::ranges::is_sorted(all, {}, &FunctionRange::start));
}

// The same functions are found when the section headers are gone.
TEST(ElfImage, NeedsNoSectionHeaders) {
  std::vector<std::uint8_t> bytes = file_bytes(kLibc);
  const auto whole = ElfImage::from_bytes(bytes, "whole");
  std::memset(bytes.data() + offsetof(Elf64_Ehdr, e_shoff), 0, 8);
  const auto bare = ElfImage::from_bytes(bytes, "bare");
  ASSERT_TRUE(bare) << bare.error().message();
  EXPECT_EQ(bare->symbols().size(), whole->symbols().size());
  EXPECT_EQ(bare->functions().size(), whole->functions().size());
  EXPECT_EQ(bare->find_functions("open")[0].address, whole->find_functions("open")[0].address);
}

__attribute__((noinline)) int catches(void (*function)()) {
  try {
    function();
  } catch (...) {
    return 1;
  }
  return 0;
}

TEST(ElfImage, LandingPadsAreWhereExceptionsGoOn) {
  EXPECT_EQ(catches([] { throw 1; }), 1);
  const auto image = ElfImage::open(kSelf);
  const auto own = std::ranges::find_if(
      image->functions(), [](const FunctionRange& f) { return f.name.find("catches") != std::string_view::npos; });
  ASSERT_NE(own, image->functions().end());
  const auto& pads = image->landing_pads();
  EXPECT_TRUE(std::ranges::is_sorted(pads));
  const auto inside = std::ranges::count_if(pads, [&](ImageAddr a) { return own->start < a && a < own->end(); });
  EXPECT_GE(inside + (own->name.ends_with(".cold") ? 1 : 0), 1);
}

TEST(ElfImage, PointersIncludeRelocatedOnes) {
  const auto image = ElfImage::open(kLibc);
  EXPECT_GT(image->code_pointers().size(), 100u);
  for (const CodePointer& pointer : image->code_pointers()) EXPECT_TRUE(image->is_executable(pointer.target));
}

TEST(ElfImage, OneSymbolOfLibcIsFast) {
  const auto before = std::chrono::steady_clock::now();
  const auto image = ElfImage::open(kLibc);
  EXPECT_EQ(image->find_functions("openat").size(), 1u);
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - before;
  RecordProperty("milliseconds", std::to_string(spent.count()));
  std::printf("open libc and find one symbol: %.2f ms\n", spent.count());
  EXPECT_LT(spent.count(), 2000.0);  // a guard against reading everything; under 1 ms is usual (see the property)
}

}  // namespace
}  // namespace kevt::target
