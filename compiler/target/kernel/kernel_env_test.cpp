#include "compiler/target/kernel/kernel_env.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "compiler/target/elf/core_file_testing.h"
#include "compiler/target/elf/instruction_start.h"
#include "compiler/target/kernel/kernel_of_types.h"
#include "compiler/target/types/btf.h"
#include "tests/golden/small_btf.h"

namespace kevt::target {
namespace {

constexpr const char* kKallsyms =
    "0000000000001000 A cpu_debug_store\n"
    "ffffffff81000000 T _stext\n"
    "ffffffff81000000 T _text\n"
    "ffffffff81000100 T vfs_read\n"
    "ffffffff81000180 t twice\n"
    "ffffffff810001a0 t twice\n"
    "ffffffff810001c0 T __x64_sys_read\n"
    "ffffffff81000200 T _etext\n"
    "ffffffff81400000 D jiffies\n"
    "ffffffff81400008 B _end\n"
    "ffffffffc0001000 t v9fs_mount\t[9p]\n"
    "ffffffffc0001040 T v9fs_last\t[9p]\n"
    "ffffffffc0003000 d v9fs_data\t[9p]\n"
    "ffffffffc0005000 t vfs_read\t[other]\n";

KernelEnv env() {
  auto made = KernelEnv::of_facts({.kallsyms = kKallsyms,
                                   .blacklist = "0xffffffff810001c0-0xffffffff810001d0\t__x64_sys_read\nrubbish\n",
                                   .possible_cpus = 4});
  EXPECT_TRUE(made) << made.error().message();
  return std::move(*made);
}

std::string text_of(const std::optional<Symbol>& symbol) {
  return symbol ? symbol->name + "/" + std::to_string(symbol->size) + "[" + symbol->module + "]" : "none";
}

TEST(KernelEnv, FindsFunctionsOfKernelAndModules) {
  const KernelEnv kernel = env();
  EXPECT_EQ(kernel.find_function({}, "v9fs_mount")->address, 0xffffffffc0001000u);
  EXPECT_EQ(kernel.find_function("other", "vfs_read")->address, 0xffffffffc0005000u);
  EXPECT_EQ(kernel.find_function({}, "twice").error().failure, LookupFailure::NotUnique);
  EXPECT_THAT(kernel.find_function({}, "vfs_read").error().candidates,
              testing::UnorderedElementsAre("vfs_read", "other:vfs_read"));
  EXPECT_EQ(kernel.find_function("absent", "x").error().failure, LookupFailure::ModuleMissing);
  EXPECT_THAT(kernel.find_function({}, "v9fs_muont").error().candidates, testing::ElementsAre("9p:v9fs_mount"));
  EXPECT_THAT(kernel.find_function({}, "__x64_sys_raed").error().candidates, testing::ElementsAre("__x64_sys_read"));
}

TEST(KernelEnv, TracepointsStandWhereTheirCallbacksAreCalled) {
  const KernelEnv kernel = *KernelEnv::of_facts({.kallsyms = "ffffffff81000000 T _stext\n"
                                                             "ffffffff810001d0 T __traceiter_old\n"
                                                             "ffffffff810001e0 T __traceiter_new\n"
                                                             "ffffffff810001f0 T __probestub_new\n"
                                                             "ffffffff81000200 T _etext\n"
                                                             "ffffffff81400008 D __tracepoint_old\n"
                                                             "ffffffff81400010 D __tracepoint_new\n"
                                                             "ffffffff81400018 B _end\n"
                                                             "ffffffffc0001080 T __traceiter_9p_fid\t[9p]\n"
                                                             "ffffffffc0003008 d __tracepoint_9p_fid\t[9p]\n",
                                                 .blacklist = ""});
  EXPECT_EQ(text_of(*kernel.find_tracepoint("old")), "__traceiter_old/16[]");
  EXPECT_EQ(text_of(*kernel.find_tracepoint("new")), "__probestub_new/16[]");
  EXPECT_EQ(kernel.find_tracepoint("9p_fid")->module, "9p");
  EXPECT_EQ(kernel.find_tracepoint("absent").error().failure, LookupFailure::NotFound);
  EXPECT_EQ(kernel.tracepoint_types("old").error().failure, TypesFailure::NotChecked) << "there is no BTF";
}

TEST(KernelEnv, DataIsTheKernelsFirst) {
  const KernelEnv kernel = env();
  EXPECT_EQ(kernel.find_data("vfs_read")->address, 0xffffffff81000100u);
  EXPECT_EQ(kernel.find_data("other:vfs_read")->address, 0xffffffffc0005000u);
  EXPECT_FALSE(kernel.find_data("nothing"));
}

TEST(KernelEnv, SymbolsReachToTheNextOne) {
  const KernelEnv kernel = env();
  EXPECT_EQ(text_of(kernel.symbolize(0xffffffff81000000)), "_stext/256[]");
  EXPECT_EQ(text_of(kernel.symbolize(0xffffffff8100017f)), "vfs_read/128[]");
  EXPECT_EQ(text_of(kernel.symbolize(0xffffffff81400007)), "jiffies/8[]");
  EXPECT_EQ(text_of(kernel.symbolize(0xffffffff81400008)), "none");
  EXPECT_EQ(text_of(kernel.symbolize(0x1000)), "none");
  EXPECT_EQ(text_of(kernel.symbolize(0xffffffffc0001048)), "v9fs_last/4032[9p]");
  EXPECT_EQ(text_of(kernel.symbolize(0xffffffffc0002000)), "none");
  EXPECT_EQ(text_of(kernel.symbolize(~0ull)), "none");
}

// A function that is traced already calls a trampoline, whatever else kallsyms says of its address.
TEST(KernelEnv, ACallOfATrampolineIsFtraces) {
  const auto probeability = [](const std::string& called) {
    std::string memory(0x200, '\0');
    const std::int32_t distance = static_cast<std::int32_t>(0xffffffffc0422000 - (0xffffffff81000100 + 5));
    memory[0x100] = static_cast<char>(0xe8);
    std::memcpy(memory.data() + 0x101, &distance, sizeof distance);
    const CoreFile core(memory);
    return KernelEnv::of_facts({.kallsyms = std::string(kKallsyms) + called, .blacklist = "", .core_file = core.name()})
        ->probeability(0xffffffff81000100);
  };
  const std::string init = "ffffffffc0422000 T some_init\t[some]\n";  // freed long ago
  const std::string trampoline = "ffffffffc0422000 t ftrace_trampoline\t[__builtin__ftrace]\n";
  EXPECT_EQ(probeability(""), Probeability::Ok) << "nobody says what is there";
  EXPECT_EQ(probeability(init), Probeability::Blacklisted) << "a function without tracing that begins with a call";
  EXPECT_EQ(probeability(trampoline), Probeability::Ok);
  EXPECT_EQ(probeability(init + trampoline), Probeability::Ok);
  EXPECT_EQ(probeability(trampoline + init), Probeability::Ok);
}

TEST(KernelEnv, WhereProbesMayBe) {
  const KernelEnv kernel = env();
  EXPECT_EQ(kernel.probeability(0xffffffff81000100), Probeability::Ok);
  EXPECT_EQ(kernel.probeability(0xffffffff81000101), Probeability::NotChecked);  // its instructions are not known
  EXPECT_EQ(kernel.probeability(0xffffffff810001c8), Probeability::Blacklisted);
  EXPECT_EQ(kernel.probeability(0xffffffff81400000), Probeability::NotExecutable);
  EXPECT_EQ(kernel.probeability(0xffffffffc0001000), Probeability::Ok);
  EXPECT_EQ(kernel.probeability(0xffffffffc0003000), Probeability::NotExecutable);
  EXPECT_EQ(kernel.probeability(0), Probeability::NotExecutable);
}

TEST(KernelEnv, RefusesHiddenAddressesAndOtherText) {
  EXPECT_THAT(KernelEnv::of_facts({.kallsyms = "0000000000000000 T a\n0000000000000000 T b\n"}).error().message(),
              testing::HasSubstr("CAP_SYSLOG"));
  for (const char* text : {"x", "12 T", "12 T ", "12 T a\tb", "12 T a\t[]", "T a", "12Ta b", "12 T \t[m]"})
    EXPECT_FALSE(KernelEnv::of_facts({.kallsyms = text})) << text;
  EXPECT_TRUE(KernelEnv::of_facts({.kallsyms = ""}));
}

// A folder as /sys/kernel/btf, gone with this.
class BtfFolder {
 public:
  explicit BtfFolder(const char* name) : path_(std::filesystem::path(testing::TempDir()) / name) {
    std::filesystem::create_directories(path_);
  }
  ~BtfFolder() { std::filesystem::remove_all(path_); }
  void write(const char* file, const std::vector<std::uint8_t>& bytes) const {
    std::ofstream(path_ / file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  std::string path(const std::string& file) const { return (path_ / file).string(); }
  KernelEnv env() const {
    auto made = KernelEnv::of_facts({.kallsyms = "ffffffff81000000 T _stext\n"
                                                 "ffffffff81000100 T work\n"
                                                 "ffffffff81000180 T untyped\n"
                                                 "ffffffff81000200 T _etext\n"
                                                 "ffffffffc0001000 t own\t[ext]\n"
                                                 "ffffffffc0001100 t untyped\t[ext]\n"
                                                 "ffffffffc0001200 t extra\t[ext]\n"
                                                 "ffffffffc0002000 t other\t[bare]\n"
                                                 "ffffffffc0003000 t far\t[../ext]\n",
                                     .blacklist = "",
                                     .btf_folder = path_.string(),
                                     .types = TypeSource::DebugInformation});
    EXPECT_TRUE(made) << made.error().message();
    return std::move(*made);
  }

 private:
  std::filesystem::path path_;
};

std::vector<std::uint8_t> btf_of_module() {
  const auto kernel = golden::small_btf();
  std::uint32_t name_bytes = 0;
  std::memcpy(&name_bytes, kernel.data() + 20, sizeof name_bytes);
  const auto table = *read_btf(kernel);
  golden::BtfBuilder b(table.size(), name_bytes);
  const auto to_thing = b.type("", 2, 0, *table.find_struct("thing"));
  b.type("own", 12, 0, b.type("", 13, 1, 0, {b.name("it"), to_thing}));
  return b.bytes();
}

std::string prototype_of(const KernelEnv& kernel, std::optional<std::string_view> module, std::string_view name) {
  const auto found = kernel.function_types(module, name);
  return found ? found->table->prototype_text(found->prototype, name) : found.error().why;
}

TEST(KernelEnv, TypesAreOfTheKernelAndItsModules) {
  const BtfFolder folder("kevt_btf_types");
  folder.write("vmlinux", golden::small_btf());
  folder.write("ext", btf_of_module());
  const KernelEnv kernel = folder.env();
  EXPECT_EQ(kernel.type_source(), TypeSource::DebugInformation);
  EXPECT_EQ(prototype_of(kernel, {}, "work"), "long work(const struct thing *it, unsigned int count)");
  EXPECT_EQ(prototype_of(kernel, {}, "own"), "void own(struct thing *it)");
  EXPECT_EQ(prototype_of(kernel, "ext", "own"), "void own(struct thing *it)");
  EXPECT_THAT(prototype_of(kernel, {}, "extra"), testing::HasSubstr("/ext` does not tell of `extra`"));
  ASSERT_NE(kernel.named_types(), nullptr);
  EXPECT_TRUE(kernel.named_types()->find_struct("dentry"));
}

TEST(KernelEnv, SaysWhyTypesAreMissing) {
  using testing::HasSubstr;
  const BtfFolder folder("kevt_btf_missing");
  folder.write("vmlinux", golden::small_btf());
  const KernelEnv kernel = folder.env();
  EXPECT_THAT(prototype_of(kernel, {}, "_etext"), HasSubstr("vmlinux` does not tell of `_etext`"));
  EXPECT_THAT(prototype_of(kernel, {}, "other"), HasSubstr("/bare` cannot be read"));
  EXPECT_THAT(prototype_of(kernel, "ext", "untyped"), HasSubstr("the kernel and the module"));
  EXPECT_THAT(prototype_of(kernel, {}, "far"), HasSubstr("is no module's name"));
  EXPECT_FALSE(kernel.function_types({}, "nowhere"));
}

TEST(KernelEnv, DamagedTypesAreAnErrorAndKernelsWithoutAnyKnowNone) {
  auto bytes = golden::small_btf();
  bytes.resize(bytes.size() / 2);
  const BtfFolder folder("kevt_btf_damaged");
  folder.write("vmlinux", bytes);
  const KernelEnv kernel = folder.env();
  EXPECT_EQ(kernel.named_types(), nullptr);
  EXPECT_THAT(prototype_of(kernel, {}, "work"), testing::HasSubstr("cut off"));
  EXPECT_EQ(env().type_source(), TypeSource::None);
  EXPECT_EQ(env().function_types("", "vfs_read").error().failure, TypesFailure::NotChecked);
}

TEST(KernelOfTypes, IsAFolderOrTheKernelsFileAlone) {
  using testing::HasSubstr;
  const BtfFolder folder("kevt_btf_elsewhere");
  folder.write("vmlinux", golden::small_btf());
  folder.write("ext", btf_of_module());
  const auto of = [&](const std::string& name, std::optional<std::string_view> module, std::string_view function) {
    const KernelOfTypes kernel(folder.path(name), 4);
    EXPECT_TRUE(kernel.read());
    const auto found = kernel.function_types(module, function);
    return found ? found->table->prototype_text(found->prototype, function) : found.error().why;
  };
  EXPECT_EQ(of("", {}, "work"), "long work(const struct thing *it, unsigned int count)");
  EXPECT_EQ(of("vmlinux", {}, "work"), "long work(const struct thing *it, unsigned int count)");
  EXPECT_EQ(of("", "ext", "own"), "void own(struct thing *it)");
  EXPECT_THAT(of("vmlinux", "ext", "own"), HasSubstr("cannot be read"));
  EXPECT_THAT(of("vmlinux", {}, "own"), HasSubstr("vmlinux` does not tell of `own`"));
  EXPECT_TRUE(KernelOfTypes(folder.path("vmlinux"), 4).tracepoint_types("tick"));
}

TEST(KernelOfTypes, WithoutTypesKnowsNothingAndFails) {
  const KernelOfTypes nothing("", 4);
  EXPECT_TRUE(nothing.read());
  EXPECT_EQ(nothing.type_source(), TypeSource::None);
  EXPECT_EQ(nothing.find_function({}, "vfs_read").error().failure, LookupFailure::NotChecked);
  EXPECT_FALSE(KernelOfTypes("/nowhere/btf", 4).read());
}

TEST(KernelEnv, CpuLists) {
  EXPECT_EQ(parse_cpu_list("0-3\n"), 4u);
  EXPECT_EQ(parse_cpu_list("0\n"), 1u);
  EXPECT_EQ(parse_cpu_list("0-3,8-11\n"), 12u);
  EXPECT_EQ(parse_cpu_list("x"), 1u);
}

TEST(InstructionStart, DecodesFromTheStart) {
  const std::uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0xc3};  // push %rbp; mov %rsp,%rbp; ret
  EXPECT_TRUE(starts_instruction(code, 0) && starts_instruction(code, 1) && starts_instruction(code, 4));
  EXPECT_FALSE(starts_instruction(code, 2) || starts_instruction(code, 3) || starts_instruction(code, 5));
}

}  // namespace
}  // namespace kevt::target
