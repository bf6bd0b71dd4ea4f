// Types of a program's debug information and of a kernel's BTF, as a user meets them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/cli/run_kevtrace.h"
#include "tests/golden/small_btf.h"

namespace kevt::tests {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kProgram = KEVT_TYPED_PROGRAM;

// A folder of this test's own, gone with it.
class Folder {
 public:
  Folder() {
    std::string name = testing::TempDir() + "kevt_types_XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name + "/";
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Types, ArgumentsByNameAreRecorded) {
  const Ran ran = shell(
      "kevtrace run -q -e 'p:w work factor k text:string a=o->in->a low=o->in->low high=o->in->high "
      "name=o->in->name:string p=o->in->text:string second=o->second l' -- " +
      kProgram);
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(
      ran.out,
      HasSubstr("factor=1.5 k=2 text=\"text!\" a=7 low=5 high=99 name=\"hello\" p=\"pointed\" second=-4 l=102\n"));
}

TEST(Types, AShellIsToldFunctionsArgumentsAndFields) {
  const auto told = [](const std::string& typed) {
    return shell("kevtrace completion --before \"kevtrace run -e 'p:w " + typed + "\" --behind \"' -- " + kProgram +
                 "\"");
  };
  EXPECT_EQ(told("work").out, "p:w work\n");
  EXPECT_EQ(told("work tex").out, "p:w work text\tconst char * in %dx\n");
  EXPECT_EQ(told("work n=o->in->na").out, "p:w work n=o->in->name\tchar [8] at +6\n");
  EXPECT_EQ(told("nosuch tex").out, "");
}

TEST(Types, AMistakeShowsThePrototypeOrTheFields) {
  const Ran name = shell("kevtrace explain -e 'p:w work nope' -- " + kProgram);
  EXPECT_EQ(name.status, 3);
  EXPECT_THAT(name.err, HasSubstr("struct outer *o, unsigned char k, const char *text"));
  const Ran field = shell("kevtrace explain -e 'p:w work o->secnd' -- " + kProgram);
  EXPECT_THAT(field.err, HasSubstr("`second`"));
  const Ran vector = shell("kevtrace explain -e 'r:w work factor' -- " + kProgram);
  EXPECT_THAT(vector.err, HasSubstr("`factor` is in %xmm0 at the entry and is not kept for the return"));
}

TEST(Types, WithoutDebugInformationItSaysWhatIsMissing) {
  const Folder folder;
  const std::string stripped = folder.path() + "stripped";
  const Ran ran =
      shell("strip -o " + stripped + " " + kProgram + " -K work && kevtrace run -e 'p:w work k' -- " + stripped);
  EXPECT_EQ(ran.status, 3) << ran.out;
  EXPECT_THAT(ran.err, HasSubstr("has no debug information here"));
  EXPECT_THAT(ran.err, HasSubstr("DEBUGINFOD_URLS"));
}

TEST(Types, AKernelsFilesAreAsked) {
  const auto btf = golden::small_btf();
  const Folder own;
  const std::string& folder = own.path();
  std::ofstream(folder + "kevt_btf", std::ios::binary)
      .write(reinterpret_cast<const char*>(btf.data()), static_cast<std::streamsize>(btf.size()));
  std::ofstream(folder + "kevt_kallsyms")
      << "ffffffff81000000 T _stext\nffffffff81000010 T work\nffffffff81000100 T nothing\n"
         "ffffffff81000200 T _etext\nffffffff81000300 D jiffies\nffffffff81000400 B _end\n";
  const std::string kernel =
      "kevtrace check --kernel 6.12 --strict --btf " + folder + "kevt_btf --kallsyms " + folder + "kevt_kallsyms -e ";
  const Ran right = shell(kernel + "'p:a work $arg* n=it->name:string @jiffies'");
  EXPECT_EQ(right.status, 0) << right.err;
  EXPECT_EQ(right.out, "p:kprobes/a work it=it count=count n=it->name:string arg4=@jiffies\n");
  EXPECT_EQ(shell(kernel + "'p:a wrok'").status, 3);
  EXPECT_THAT(shell(kernel + "'p:a wrok'").err, HasSubstr("near it: `work`"));
  EXPECT_EQ(shell(kernel + "'r:a nothing $retval'").status, 3);
  const Ran types = shell("kevtrace check --kernel 6.12 --strict --btf " + folder + "kevt_btf -e 'p:a work count'");
  EXPECT_EQ(types.status, 4) << types.err;  // functions are not known
  const Ran none = shell("kevtrace check --btf /bin/ls -e 'p:a f'");
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.err, HasSubstr("no .BTF section"));
}

// ---- compiled scripts ----------------------------------------------------------------------------------------------

// A kevtrace without LLVM: the program alone, its code library left behind.
class WithoutLlvm : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(folder_.path() + "typed.kev")
        << "target program " << kProgram << "\np:w work k text:string\n  filter k > 0\nr:x work r=$retval:s32\n";
    const Ran made = shell("kevtrace compile " + folder_.path() + "typed.kev -o " + script_);
    ASSERT_EQ(made.status, 0) << made.err;
    ASSERT_EQ(shell("mkdir " + folder_.path() + "bin && cp $(command -v kevtrace) " + bare_).status, 0);
  }

  const Folder folder_;
  const std::string script_ = folder_.path() + "typed.kevo";
  const std::string bare_ = folder_.path() + "bin/kevtrace";
};

TEST_F(WithoutLlvm, ACompiledScriptRuns) {
  const Ran ran = shell(bare_ + " run -q " + script_);
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("k=2 text=\"text!\"\n"));
  EXPECT_THAT(ran.out, Not(HasSubstr("k=0 text")));
  EXPECT_THAT(ran.out, HasSubstr("r=228\n"));
}

TEST_F(WithoutLlvm, AScriptFromAPipeIsCompiledOnceAndForAll) {
  const std::string piped = folder_.path() + "piped.kevo";
  const Ran made = shell("cat " + folder_.path() + "typed.kev | kevtrace compile - -o " + piped);
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(shell("cmp " + piped + " " + script_).status, 0);
  const Ran again = shell("kevtrace compile " + piped + " -o " + folder_.path() + "again.kevo");
  EXPECT_EQ(again.status, 2);
  EXPECT_THAT(again.err, HasSubstr("compiled already"));
}

TEST_F(WithoutLlvm, ACommandWinsOverTheScriptsOwn) {
  const Ran ran = shell(bare_ + " run -q " + script_ + " -- " + kProgram);
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("k=2 text=\"text!\"\n"));
}

TEST_F(WithoutLlvm, TextsAreChecked) { EXPECT_EQ(shell(bare_ + " check -e 'p:a f x=%di'").status, 0); }

TEST_F(WithoutLlvm, WhatMustBeCompiledSaysWhatIsMissing) {
  const Ran ran = shell(bare_ + " run -e 'p:w work' -- " + kProgram);
  EXPECT_EQ(ran.status, 1) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("LLVM cannot be loaded"));
  const Ran added = shell(bare_ + " run " + script_ + " --filter 'w: k > 1'");
  EXPECT_THAT(added.err, HasSubstr("LLVM cannot be loaded"));
}

TEST_F(WithoutLlvm, ADamagedFileIsRefused) {
  for (const char* change :
       {"printf X | dd of=$F bs=1 seek=300 conv=notrunc 2>/dev/null", "truncate -s 500 $F", "echo >> $F"}) {
    const std::string damaged = folder_.path() + "damaged.kevo";
    const Ran ran = shell("F=" + damaged + "; cp " + script_ + " $F; " + std::string(change) + "; kevtrace run $F");
    EXPECT_NE(ran.status, 0) << change;
    EXPECT_THAT(ran.err, HasSubstr("compiled script")) << change;
  }
}

}  // namespace
}  // namespace kevt::tests
