// Carets and texts of newer kernels; the vectors are those of the ftrace selftests and of the kernels' sources.
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "grammar/parse.h"

namespace kevt::grammar {
namespace {

using diag::Kind;
using dialect::Dialect;
using dialect::Kernel;

struct Vector {
  Kernel kernel;
  const char* text;  // '^' in front of the byte the caret stands under
  Kind kind;
  int errno_value = EINVAL;
};

void expect_mistake_of(const Vector& vector) {
  std::string text = vector.text;
  const std::size_t caret = text.find('^');
  ASSERT_NE(caret, std::string::npos) << text;
  text.erase(caret, 1);
  diag::Sink sink;
  EXPECT_FALSE(parse_line(text, EventsFile::Dynamic, sink, Dialect::of(vector.kernel))) << text;
  ASSERT_FALSE(sink.empty()) << text;
  const diag::Diagnostic& first = sink.diagnostics().front();
  EXPECT_EQ(diag::kind_name(first.kind), diag::kind_name(vector.kind)) << text;
  EXPECT_EQ(first.column, caret) << text;
  EXPECT_EQ(first.errno_value, vector.errno_value) << text;
}

constexpr Kernel k61 = Kernel::Linux6_1;
constexpr Kernel k612 = Kernel::Linux6_12;
constexpr Kernel k72 = Kernel::Linux7_2;
constexpr Kernel k73 = Kernel::Newest;

TEST(Dialects, PutTheCaretWhereTheirKernelDoes) {
  const Vector vectors[] = {
      {k612, "p^100 vfs_read", Kind::BadMaxactType},
      {k612, "f^100 vfs_read", Kind::BadMaxactType},
      {k72, "f^100 vfs_read%return", Kind::BadMaxact},
      {k612, "f^100000 vfs_read%return", Kind::MaxactTooBig},
      {k72, "t^100 kfree", Kind::BadMaxact},
      {k72, "f ^vfs_read+10", Kind::BadProbeAddr},
      {k72, "f vfs_read^%hoge", Kind::BadAddrSuffix},
      {k72, "t kmem^/kfree", Kind::BadTpName},
      {k72, "t kfree ^$retval", Kind::RetvalOnProbe},
      {k72, "f vfs_read ^%REG", Kind::BadFetchArg},
      {k73, "f vfs_read ^%REG", Kind::BadVar},
      {k73, "f:^/bar S", Kind::NoGroupName},
      {k612, "p vfs_read args=^$arg*", Kind::BadVar},
      {k612, "p vfs_read +0(^$arg*)", Kind::BadVar},
      {k612, "p vfs_read $arg* ^$arg*", Kind::DoubleArgs},
      {k612, "p vfs_read+20 ^$arg*", Kind::NofentryArgs},
      {k612, "p vfs_read+20 x=^$arg*", Kind::BadVar},
      {k612, "p vfs_read ^$argx", Kind::BadVar},
      {k61, "p vfs_read ^file", Kind::BadFetchArg},
      {k612, "p vfs_read+20 ^file", Kind::NosupBtfarg},
      {k612, "p /bin/sh:0 ^file", Kind::NosupBtfarg},
      {k612, "p /bin/sh:0 ^$arg1", Kind::NofentryArgs},
      {k612, "p vfs_read file^-.foo", Kind::BadHyphen},
      {k612, "p vfs_read file.^foo", Kind::NosupDatArg, EOPNOTSUPP},
      {k612, "r vfs_read ^$retvalx", Kind::NoBtfarg, ENOENT},
      {k612, "p /bin/sh:0 $stack0:^symstr", Kind::BadType},
      {k72, "p /bin/sh:10 ^$current:u8", Kind::BadVar},
      {k73, "p /bin/sh:10 ^$current:u8", Kind::BadVar},
      {k612, "p vfs_read x=$comm:^u8", Kind::NeedStringType},
      {k73, "p vfs_read +0(+0(+0(+0(+0(+0(+0(+0(^+0(%di)))))))))", Kind::TooManyNested, E2BIG},
      {k73, "p vfs_read ^@+10", Kind::FileOnKernelProbe},
      {k72, "p vfs_read ^@+10", Kind::FileOnKprobe},
      {k73, "p vfs_read ^$stack99999999999999999999", Kind::BadVar, ERANGE},
      {k72, "p vfs_read ^$stack99999999999999999999", Kind::BadVar},
      {k612, "p vfs_read ^(S)file->m", Kind::BadFetchArg},
      {k72, "p vfs_read ^(S)file->m", Kind::TypecastNotEvent},
      {k72, "e s/e (S)file.^m", Kind::NosupDatArg, EOPNOTSUPP},
      {k73, "p vfs_read arg1=(task_struct)file^", Kind::TypecastReqField},
      {k73, "p vfs_read arg1=(task_struct,se^->group_node)file->comm", Kind::TypecastBadArrow},
      {k73, "p vfs_read arg1=(task_struct)^@symbol+10->comm", Kind::TypecastSymOffset},
      {k73, "p vfs_read (S)(+0(file))^.m", Kind::TypecastReqField},
      {k73, "p vfs_read+20 ^(S)file->m", Kind::NosupBtfarg, EOPNOTSUPP},
      {k73, "p vfs_read (S)+0(%zz)->m^-x", Kind::BadHyphen},
      {k73, "e s/e ^this_cpu_read(file)", Kind::NosupPercpu},
      {k72, "p vfs_read ^this_cpu_read(file)", Kind::NoBtfarg, ENOENT},
      {k73, "p vfs_read this_cpu_read(^&1)", Kind::BadFetchArg},
      {k73, "p vfs_read this_cpu_read(@x^", Kind::DerefOpenBrace},
      {k72, "^x  vfs_read", Kind::NoMatch},
  };
  for (const Vector& vector : vectors) expect_mistake_of(vector);
}

TEST(Dialects, TakeWhatTheirKernelTakes) {
  struct Taken {
    Kernel since;
    const char* text;
  };
  const Taken taken[] = {
      {k612, "f:g/e vfs_read $arg* $comm"},
      {k612, "f10 vfs_read%return $retval"},
      {k612, "t sched_switch prev->comm:string next->pid"},
      {k612, "p vfs_read file->f_path.dentry:%pd x=file:%pD"},
      {k612, "r vfs_read $arg1 count ret=$retval->f_mode"},
      {k612, "p vfs_read c=%di:char"},
      {k72, "e sched/sched_switch x=(task_struct)next_comm->pid"},
      {k73, "p vfs_read $current c=$current->comm:string"},
      {k73, "p vfs_read this_cpu_read(+8(@x)) y=+0(this_cpu_ptr(@y))"},
      {k73, "f vfs_read (a,b.c)(+8($arg1))->d.e->f (a)@x->b (a)+0((b)x->y)->z"},
      {k73, "e sched/sched_switch prev_pid"},
  };
  for (const Taken& one : taken) {
    for (const Kernel kernel : dialect::kKernels) {
      diag::Sink sink;
      const bool good = parse_line(one.text, EventsFile::Dynamic, sink, Dialect::of(kernel)).has_value();
      const bool maxactive = std::string_view(one.text).starts_with("f10");
      EXPECT_EQ(good, maxactive ? kernel == k612 : kernel >= one.since) << one.text << kernel_name(kernel);
    }
    diag::Sink sink;
    EXPECT_TRUE(parse_line(one.text, EventsFile::Dynamic, sink)) << one.text;
  }
}

TEST(Dialects, LimitsAreTheirKernels) {
  const std::string many = [] {
    std::string text = "p vfs_read";
    for (int i = 0; i < 129; ++i) text += " \\1";
    return text;
  }();
  const auto first = [&](Kernel kernel) {
    diag::Sink sink;
    const bool good = parse_line(many, EventsFile::Dynamic, sink, Dialect::of(kernel)).has_value();
    return good ? std::string("taken")
                : std::to_string(sink.diagnostics()[0].errno_value) +
                      (sink.diagnostics()[0].logged ? " logged" : " silent");
  };
  EXPECT_EQ(first(k61), "taken");
  EXPECT_EQ(first(k612), "7 silent");
  EXPECT_EQ(first(k72), "7 logged");
  const std::string long_one = "p vfs_read x=@" + std::string(70, 's');
  diag::Sink sink;
  EXPECT_FALSE(parse_line(long_one, EventsFile::Dynamic, sink, Dialect::of(k72)));
  EXPECT_EQ(sink.diagnostics()[0].errno_value, E2BIG);
  EXPECT_TRUE(parse_line(long_one, EventsFile::Dynamic, sink, Dialect::of(k73)));
}

}  // namespace
}  // namespace kevt::grammar
