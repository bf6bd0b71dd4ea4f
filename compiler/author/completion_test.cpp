#include "compiler/author/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "compiler/target/fixed_target.h"
#include "compiler/target/process/process_env.h"
#include "compiler/target/types/btf.h"
#include "tests/golden/small_btf.h"

namespace author_names {
[[gnu::noinline, gnu::used]] int once(int x) { return x + 1; }
[[gnu::noinline, gnu::used]] int twice(int x, const char*) { return 2 * x; }
[[gnu::noinline, gnu::used]] double twice(double x) { return 2 * x; }
}  // namespace author_names

struct LinesInner {
  int depth;
};
struct LinesThing {
  LinesInner inner;
};
extern "C" [[gnu::noinline, gnu::used]] int kevt_lines_once(int first, const LinesThing* thing) {
  return first + thing->inner.depth;
}

namespace kevt::author {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using Names = std::vector<std::string>;

class AuthorCompletion : public testing::Test {
 protected:
  AuthorCompletion() {
    std::uint64_t address = 0x1000;
    for (const char* name : {"work", "nothing", "many"})
      env_.add_function({.name = name, .module = "", .address = address += 0x100, .size = 0x100});
    env_.set_types(std::make_shared<const target::TypeTable>(*target::read_btf(golden::small_btf())));
  }
  // "TEXT NOTE" of each suggestion at the end of the line.
  Names suggested(std::string_view line) {
    Names out;
    for (const Suggestion& s : complete_definition(line, line.size(), SymbolIndex(), &env_).suggestions)
      out.push_back(s.text + ' ' + s.note);
    return out;
  }
  static Names texts(std::string_view line, const SymbolIndex& symbols, NameMatch match = NameMatch::Ranked) {
    Names out;
    for (const Suggestion& s : complete_definition(line, line.size(), symbols, nullptr, match).suggestions)
      out.push_back(s.text);
    return out;
  }
  target::FixedTargetEnv env_;
};

TEST_F(AuthorCompletion, ArgumentsByName) {
  const Names all = suggested("p work ");
  ASSERT_GE(all.size(), 2u);
  EXPECT_EQ(all[0], "it const struct thing * in %di");
  EXPECT_EQ(all[1], "count unsigned int in %si");
  EXPECT_THAT(suggested("p work n=co"), ElementsAre("count unsigned int in %si"));
  EXPECT_THAT(suggested("r work n=co"), IsEmpty());  // gone when it returns
  EXPECT_THAT(suggested("p work+4 co"), IsEmpty());  // no longer where they were
  EXPECT_THAT(suggested("p absent co"), IsEmpty());
}

TEST_F(AuthorCompletion, MembersBehindEachArrow) {
  EXPECT_THAT(suggested("p work n=it->si"), ElementsAre("size unsigned int at +0"));
  // Of an anonymous union, too; of a pointer behind a pointer.
  EXPECT_THAT(suggested("p work it->inner->te"), ElementsAre("text char [8] at +8"));
  EXPECT_GE(suggested("p work it->").size(), 6u);
  EXPECT_THAT(suggested("p work count->"), IsEmpty());
  EXPECT_THAT(suggested("p work it->nope->"), IsEmpty());
  const std::string_view line = "p work n=it->inner->te";
  EXPECT_EQ(complete_definition(line, line.size(), SymbolIndex(), &env_).begin, line.size() - 2);
}

TEST_F(AuthorCompletion, FollowsThePlaceInTheLine) {
  const SymbolIndex symbols(std::vector<SymbolName>{{"open64", "libc"}});
  EXPECT_THAT(texts("", symbols), Contains("p:"));
  EXPECT_THAT(texts("p:op libc:op", symbols), Contains("libc:open64"));
  EXPECT_THAT(texts("  p:op   libc:op", symbols), Contains("libc:open64"));
  EXPECT_THAT(texts("p:op libc:open64 a=%d", symbols), Contains("%di"));
  EXPECT_THAT(texts("p:op f a=$re", symbols), ElementsAre("$retval"));
  EXPECT_THAT(texts("p:op f a=+0(%di):str", symbols), Contains("string"));
  EXPECT_THAT(texts("# p:op libc:op", symbols), IsEmpty());
}

TEST_F(AuthorCompletion, AmongAHundredThousandFunctions) {
  std::vector<SymbolName> names;
  for (int i = 0; i < 150'000; ++i) names.push_back({"function_" + std::to_string(i * 7919 % 1'000'003), ""});
  names.push_back({"vfs_read", ""});
  const SymbolIndex symbols(std::move(names));
  EXPECT_THAT(texts("p:x vfs_r", symbols), ElementsAre("vfs_read"));
}

// Names of the source, and markers: of this program and of a library that has some.
TEST_F(AuthorCompletion, NamesOfTheSourceAndMarkers) {
  const auto process = target::ProcessEnv::of_process(getpid(), {});
  ASSERT_TRUE(process);
  const SymbolIndex symbols = SymbolIndex::of_modules(process->modules());
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").filename();
  const std::string own = self + ":author_names::";
  EXPECT_THAT(texts("p:x author_names::twice", symbols),
              ElementsAre(own + "twice(double)", own + "twice(int,charconst*)"));
  EXPECT_THAT(texts("p:x author_names::once", symbols), ElementsAre(own + "once"));
  EXPECT_THAT(texts("p:x " + self + ":author_names::onc", symbols), ElementsAre(own + "once"));
  EXPECT_THAT(texts("p:x libstdc++:libstdcxx:th", symbols), ElementsAre("libstdc++:libstdcxx:throw"));
  EXPECT_THAT(texts("p:x libstdcxx:th", symbols), ElementsAre("libstdc++:libstdcxx:throw"))
      << "what is before the colon is no module";
}

// A shell replaces what is typed by what all suggestions begin with.
TEST_F(AuthorCompletion, ForAShellPlacesBeginWithWhatIsTyped) {
  const SymbolIndex symbols(std::vector<SymbolName>{
      {"open64", "libc"}, {"open", "libc"}, {"fopen", "libc"}, {"open", "libother"}, {"main", ""}, {"lines", ""}});
  const auto places = [&](const std::string& typed) { return texts("p:x " + typed, symbols, NameMatch::Prefix); };
  EXPECT_THAT(places(""), ElementsAre("libc:", "libother:", "lines", "main"));
  EXPECT_THAT(places("li"), ElementsAre("libc:", "libother:", "lines"));
  EXPECT_THAT(places("op"), ElementsAre("open", "open64"));
  EXPECT_THAT(places("libc:op"), ElementsAre("libc:open", "libc:open64"));
  EXPECT_THAT(places("libc:p"), IsEmpty());
  EXPECT_THAT(places("nosuch:op"), IsEmpty());
}

TEST_F(AuthorCompletion, FunctionsAreRankedExactPrefixPartLetters) {
  const SymbolIndex symbols(std::vector<SymbolName>{
      {"open", "libc"}, {"open64", "libc"}, {"fopen", "libc"}, {"o_p_e_n", "libx"}, {"close", "libc"}});
  Names found;
  for (const SymbolName* one : symbols.find("open", 10)) found.push_back(one->name);
  EXPECT_THAT(found, ElementsAre("open", "open64", "fopen", "o_p_e_n"));
  EXPECT_EQ(symbols.find("libx:o", 10).size(), 1u);
}

TEST_F(AuthorCompletion, FieldsOfAFilter) {
  const Names fields = {"path", "flags"};
  const auto found = complete_filter("path ~ \"x\" && (fl", 17, fields);
  EXPECT_EQ(found.begin, 15u);
  ASSERT_EQ(found.suggestions.size(), 1u);
  EXPECT_EQ(found.suggestions[0].text, "flags");
  EXPECT_EQ(complete_filter("common_p", 8, fields).suggestions.size(), 1u);
  EXPECT_EQ(complete_filter("path", 99, fields).begin, 0u);  // hostile cursor
}

TEST_F(AuthorCompletion, AnyTextAndCursor) {
  for (const char* line :
       {"", " ", "p", "p:", "p: :", ":", "p x ->", "p x .", "p x a=->b", "p \xff\xfe \x80->", "r % ("})
    for (std::size_t cursor : {0u, 1u, 2u, 5u, 99u}) complete_definition(line, cursor, SymbolIndex(), &env_);
  EXPECT_THAT(suggested("p work .."), Not(Contains("nothing")));
}

// This very program has debug information: its lines, and what is in sight there.
class AuthorLines : public testing::Test {
 protected:
  static std::vector<Suggestion> at(std::string_view line, NameMatch match = NameMatch::Ranked) {
    static const auto env = target::ProcessEnv::of_process(getpid(), {});
    return complete_definition(line, line.size(), SymbolIndex(), &*env, match).suggestions;
  }
  static Names texts(std::string_view line, NameMatch match = NameMatch::Ranked) {
    Names out;
    for (const Suggestion& one : at(line, match)) out.push_back(one.text);
    return out;
  }
  const std::string program_ = std::filesystem::read_symlink("/proc/self/exe").filename();
};

TEST_F(AuthorLines, OfAFileAndOfAFunctionThatBeginAsTyped) {
  const std::string place = "p:a " + program_ + ":completion_test.cpp:";
  const Names ones = texts(place + "1");
  ASSERT_THAT(ones, Not(IsEmpty()));
  EXPECT_LE(ones.size(), 40u);
  for (const std::string& one : ones) EXPECT_TRUE(one.starts_with(program_ + ":completion_test.cpp:1")) << one;
  EXPECT_THAT(texts(place), Not(IsEmpty()));
  EXPECT_EQ(texts(place + "1", NameMatch::Prefix), ones);
  EXPECT_THAT(texts(place + "99999"), IsEmpty());
  EXPECT_THAT(texts("p:a " + program_ + ":no_such_file.cpp:1"), IsEmpty());
  const Names files = texts("p:a " + program_ + ":completion_te");
  EXPECT_THAT(files, Contains(program_ + ":completion_test.cpp:"));
  EXPECT_THAT(texts("p:a " + program_ + ":completion_test.cpp"), Contains(program_ + ":completion_test.cpp:"));
  const auto of_function = at("p:a " + program_ + ":kevt_lines_once:");
  ASSERT_THAT(of_function, Not(IsEmpty()));
  EXPECT_EQ(of_function[0].text, program_ + ":kevt_lines_once:0");
  EXPECT_THAT(of_function[0].note, testing::HasSubstr("first"));
}

TEST_F(AuthorLines, VariablesAreThoseInSightThere) {
  const std::string place = "p:a " + program_ + ":kevt_lines_once:0 ";
  const auto all = at(place);
  const auto has = [&](const std::vector<Suggestion>& found, std::string_view text, std::string_view note) {
    return std::ranges::any_of(found, [&](const Suggestion& one) { return one.text == text && one.note == note; });
  };
  EXPECT_TRUE(has(all, "first", "int"));
  EXPECT_TRUE(has(all, "$vars", "all variables that can be read"));
  EXPECT_THAT(texts(place + "n=fi"), ElementsAre("first"));
  EXPECT_THAT(texts(place + "thing->"), Contains("inner"));
  EXPECT_THAT(texts(place + "thing->inner."), ElementsAre("depth", "*"));
  EXPECT_THAT(texts(place + "n=thing->inner."), ElementsAre("depth")) << "all members have names of their own";
  EXPECT_THAT(texts(place + "thing->inner.d"), ElementsAre("depth"));
}

}  // namespace
}  // namespace kevt::author
