#include "compiler/pipeline/file_function.h"

#include <gmock/gmock.h>

#include "compiler/pipeline/shorthand.h"
#include "compiler/target/fixed_target.h"

namespace kevt::pipeline {
namespace {

using testing::HasSubstr;

TEST(FileFunctionTest, IsAPathAndAName) {
  const auto parts = [](std::string_view place) -> std::string {
    const auto name = function_in_file(place);
    return name ? std::string(name->path) + "|" + std::string(name->function) + "|" + std::string(name->offset) + "|" +
                      std::string(name->behind)
                : "none";
  };
  EXPECT_EQ(parts("/bin/app:main"), "/bin/app|main||");
  EXPECT_EQ(parts("/bin/app:main+0x8"), "/bin/app|main|+0x8|");
  EXPECT_EQ(parts("/bin/app:main%return"), "/bin/app|main||%return");
  EXPECT_EQ(parts("/bin/app:ns::Shape<int>::area(int,double)+4"), "/bin/app|ns::Shape<int>::area(int,double)|+4|");
  EXPECT_EQ(parts("/bin/app:Shape::operator+(Shape const&)"), "/bin/app|Shape::operator+(Shape const&)||");
  EXPECT_EQ(parts("./app:main"), "./app|main||");
  EXPECT_EQ(parts("/bin/app:V::operator<%return"), "/bin/app|V::operator<||%return");
  EXPECT_EQ(parts("/bin/app:V::operator->*+0x4"), "/bin/app|V::operator->*|+0x4|");
  EXPECT_EQ(parts("/bin/app:V::operator()(int)+4"), "/bin/app|V::operator()(int)|+4|");
  for (const char* const other : {"/bin/app:0x10", "/bin/app:10(0x20)", "/bin/app",
                                  "/bin/app:", "Shape::operator/(int)", "libc:malloc", "malloc", ""})
    EXPECT_EQ(parts(other), "none") << other;
}

TEST(FileFunctionTest, NamesItsEvent) {
  const auto name = [](const std::string& line) {
    const auto event = shorthand_event(line);
    return event ? event->system + "/" + event->event : "none";
  };
  EXPECT_EQ(name("p /bin/app:main"), "uprobes/main");
  EXPECT_EQ(name("r /bin/app:main"), "uprobes/main__return");
  EXPECT_EQ(name("p /bin/app:ns::Shape::area(int, double) w"), "uprobes/ns_Shape_area");
  EXPECT_EQ(name("p /bin/app:P<int, long>::sum(int) const n"), "uprobes/P_int_long_sum");
  EXPECT_EQ(name("p /bin/app:(anonymous namespace)::hidden"), "uprobes/anonymousnamespace_hidden");
  EXPECT_EQ(name("p /bin/app:main.(*pair).sum"), "uprobes/main_pair_sum");
  EXPECT_EQ(name("p /bin/app:area+0x8"), "uprobes/area_0x8");
  EXPECT_EQ(name("r /bin/app:" + std::string(90, 'x')), "uprobes/" + std::string(55, 'x') + "__return");
  EXPECT_EQ(name("p:ev /bin/app:main"), "none");
  EXPECT_EQ(name("p:ev app:shapes.c:42 width"), "uprobes/ev");
  EXPECT_EQ(name("p:ev app:provider:marker"), "uprobes/ev");
  EXPECT_EQ(name("p:group/ev app:shapes.c:42 width"), "none");
  EXPECT_EQ(name("p /bin/app:0x10"), "none");
}

// A path that is a file, with one function.
class OneFile : public target::FixedTargetEnv {
 public:
  std::expected<target::LinePlaces, target::LookupError> find_line(
      const target::LineQuestion& question) const override {
    if (question.is_glob && question.source == "area*") return three_functions();
    if (question.source != "area") return std::unexpected(target::LookupError{.candidates = {"areas"}});
    target::LinePlaces found;
    found.types = std::make_shared<target::TypeTable>();
    found.places.push_back({.path = "/bin/app", .offset = 0x11b4, .address = 0x4011b4, .function = "area"});
    return found;
  }
  static target::LinePlaces three_functions() {
    target::LinePlaces found;
    found.types = std::make_shared<target::TypeTable>();
    found.places.push_back({.path = "/bin/app", .offset = 0x11b4, .address = 0x4011b4, .function = "area"});
    found.places.push_back({.path = "/bin/app", .offset = 0x1200, .address = 0x401200, .function = "_ZN5Shape4areaEi"});
    found.places.push_back({.path = "/bin/app", .offset = 0x1300, .address = 0x401300, .function = "_ZN5Shape4areaEd"});
    return found;
  }
  target::FileStatus file_status(std::string_view path) const override {
    return path == "/bin/app" || path == "/bin/app:b" ? target::FileStatus::Regular : target::FileStatus::Missing;
  }
};

std::string lines_of(std::string_view line) {
  const auto made = expand_shorthand(line, OneFile());
  if (!made) return "! " + made.error().detail;
  if (!*made) return "as it is";
  std::string text;
  for (const std::string& one : **made) text += one + "\n";
  return text;
}

TEST(FileFunctionTest, StandsForAnOffset) {
  EXPECT_EQ(lines_of("p:ev /bin/app:area n=$arg1 m=$arg3:s32 far=$arg8"),
            "p:ev /bin/app:0x11b4 n=%di m=%dx:s32 far=+16(%sp)\n");
  EXPECT_EQ(lines_of("r:ev /bin/app:area got=$retval:s32"), "r:ev /bin/app:0x11b4 got=$retval:s32\n");
  EXPECT_EQ(lines_of("p /bin/app:area+0x10 %ax"), "p:area_0x10 /bin/app:0x11c4 %ax\n");
  EXPECT_EQ(lines_of("p /bin/app:area%return"), "p:area__return /bin/app:0x11b4%return\n");
  EXPECT_EQ(lines_of("p:ev /bin/app:0x1234"), "as it is");
  EXPECT_EQ(lines_of("p:ev /bin/app:b:0x10"), "as it is") << "the kernel's own PATH:OFFSET of a file `app:b`";
  EXPECT_EQ(lines_of("p:ev /bin/app:area m=\\\"cost-$arg1\" n=$arg2"),
            "p:ev /bin/app:0x11b4 m=\\\"cost-$arg1\" n=%si\n");
}

TEST(FileFunctionTest, AGlobStandsForOneLineEach) {
  EXPECT_EQ(
      lines_of("p /bin/app:area* n=$arg1"),
      "p:area /bin/app:0x11b4 n=%di\np:Shape__area /bin/app:0x1200 n=%di\np:Shape__area_2 /bin/app:0x1300 n=%di\n");
  EXPECT_EQ(lines_of("p:a_* /bin/app:area*"),
            "p:a_area /bin/app:0x11b4\np:a_Shape__area /bin/app:0x1200\np:a_Shape__area_2 /bin/app:0x1300\n");
  EXPECT_EQ(lines_of("r:g/all /bin/app:area*"),
            "r:g/all /bin/app:0x11b4\nr:g/all /bin/app:0x1200\nr:g/all /bin/app:0x1300\n");
  EXPECT_EQ(lines_of("r /bin/app:area*").substr(0, 14), "r:area__return");
  EXPECT_THAT(lines_of("p /bin/app:area* width"), HasSubstr("there is no variable `width`"));
  EXPECT_THAT(lines_of("r /bin/app:area* n=$arg1"), HasSubstr("at the entry"));
  EXPECT_FALSE(shorthand_event("p /bin/app:area*"));
}

// Of a running kernel.
class OneFileOfKernel : public OneFile {
 public:
  bool is_running_kernel() const override { return true; }
};

TEST(FileFunctionTest, AMountOverAKernelAnswersAsTheKernel) {
  for (const char* const line :
       {"p:ev /bin/app:aera", "p:ev /bin/app:b*", "p:ev /bin/other:area", "p:ev /bin/app:x( 1)"}) {
    const auto in_mount = expand_shorthand(line, OneFileOfKernel(), Globs::OfNamedFiles);
    EXPECT_TRUE(in_mount && !*in_mount) << line;
    EXPECT_FALSE(expand_shorthand(line, OneFileOfKernel()).has_value()) << line;
  }
  EXPECT_EQ(expand_shorthand("p:ev /bin/app:area", OneFileOfKernel(), Globs::OfNamedFiles)->value().front(),
            "p:ev /bin/app:0x11b4");
}

TEST(FileFunctionTest, SaysWhatIsWrong) {
  EXPECT_EQ(expand_shorthand("p:ev /bin/other:area", OneFile()).error().kind, diag::Kind::FileNotFound);
  EXPECT_THAT(lines_of("p:ev /bin/app:aera"), HasSubstr("`/bin/app` has no function `aera`; near it: `areas`"));
  EXPECT_THAT(lines_of("p:ev /bin/app:area width"), HasSubstr("there is no variable `width`"));
  EXPECT_THAT(lines_of("r:ev /bin/app:area width"), HasSubstr("at the entry"));
  EXPECT_THAT(lines_of("p:ev /bin/app:area+8 width"), HasSubstr("at the entry"));
  EXPECT_THAT(lines_of("r:ev /bin/app:area n=$arg1"), HasSubstr("at the entry"));
  EXPECT_THAT(lines_of("p:ev /bin/app:area+8 n=$arg1"), HasSubstr("at the entry"));
  for (const char* const offset : {"+0x", "+8x", "+18446744073709551600"})
    EXPECT_THAT(lines_of(std::string("p:ev /bin/app:area") + offset), HasSubstr("is no offset"));
  const auto mistake = expand_shorthand("p:ev /bin/app:b*", OneFile()).error();
  EXPECT_EQ(mistake.kind, diag::Kind::BadUprobeOffs);
  EXPECT_EQ(mistake.column, 14u) << "where the kernel looks for a number";
}

}  // namespace
}  // namespace kevt::pipeline
