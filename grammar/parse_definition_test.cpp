#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "grammar/parse.h"

namespace kevt::grammar {
namespace {

using diag::Kind;

const dialect::Dialect kLinux61 = dialect::Dialect::of(dialect::Kernel::Linux6_1);

model::Definition parse_good(std::string_view line, EventsFile file = EventsFile::Dynamic) {
  diag::Sink sink;
  const auto statement = parse_line(line, file, sink, kLinux61);
  for (const auto& diagnostic : sink.diagnostics()) ADD_FAILURE() << render_text(diagnostic, "-", 1, diag::Color::Off);
  if (!statement || !std::holds_alternative<model::Definition>(*statement)) {
    ADD_FAILURE() << "no definition: " << line;
    return {};
  }
  return std::get<model::Definition>(*statement);
}

model::FetchArg parse_argument(const std::string& argument) { return parse_good("p:e f " + argument).args.at(0); }

// `text` holds a '^' in front of the byte the kernel's caret stands under.
void expect_mistake(std::string text, Kind kind, EventsFile file = EventsFile::Dynamic) {
  const std::size_t caret = text.find('^');
  ASSERT_NE(caret, std::string::npos) << text;
  text.erase(caret, 1);
  diag::Sink sink;
  EXPECT_FALSE(parse_line(text, file, sink, kLinux61)) << text;
  ASSERT_FALSE(sink.empty()) << text;
  const diag::Diagnostic& first = sink.diagnostics().front();
  EXPECT_EQ(diag::kind_name(first.kind), diag::kind_name(kind)) << text;
  EXPECT_EQ(first.column, caret) << text;
}

TEST(DefinitionParser, ReadsAKprobe) {
  const auto definition = parse_good("r4:io/opened libc:openat+0 path=+0(%si):string[2]");
  EXPECT_EQ(definition.kind, model::EventKind::Kprobe);
  EXPECT_EQ(definition.probe_kind, model::ProbeKind::Return);
  EXPECT_EQ(definition.group, "io");
  EXPECT_EQ(definition.event, "opened");
  EXPECT_EQ(definition.maxactive, 4u);
  const auto& place = std::get<model::SymbolPlace>(definition.place);
  EXPECT_EQ(place.module, "libc");
  EXPECT_EQ(place.symbol, "openat");
  ASSERT_EQ(definition.args.size(), 1u);
  const auto& arg = definition.args[0];
  EXPECT_EQ(arg.name, "path");
  EXPECT_EQ(arg.text, "+0(%si):string[2]");
  EXPECT_EQ(arg.type.kind, model::TypeKind::String);
  EXPECT_EQ(arg.type.array_count, 2u);
  EXPECT_EQ(std::get<model::RegisterBase>(arg.expr.base).name, "si");
  EXPECT_EQ(definition.command.substr(arg.expr.base_span.begin, 3), "%si");
}

TEST(DefinitionParser, ReadsAUprobe) {
  const auto definition = parse_good("p:g.e /a:b/c:0x10%return(0x20) $retval");
  EXPECT_EQ(definition.kind, model::EventKind::Uprobe);
  EXPECT_EQ(definition.probe_kind, model::ProbeKind::Return);
  EXPECT_EQ(definition.group, "g");
  EXPECT_EQ(definition.event, "e");
  // The suffix stands before the bracket.
  const auto& place = std::get<model::FilePlace>(definition.place);
  EXPECT_EQ(place.path, "/a:b/c");
  EXPECT_EQ(place.offset, 0x10u);
  EXPECT_EQ(place.reference_counter, 0x20u);
  EXPECT_EQ(definition.args.at(0).name, "arg1");
}

TEST(DefinitionParser, ReadsAnEprobeWithItsFilter) {
  const auto definition = parse_good("e sched/sched_switch a=$next_pid if  next_pid >  1");
  EXPECT_EQ(definition.kind, model::EventKind::Eprobe);
  EXPECT_EQ(std::get<model::EventPlace>(definition.place).event, "sched_switch");
  EXPECT_EQ(definition.filter, "next_pid > 1");
  EXPECT_EQ(std::get<model::EventFieldBase>(definition.args.at(0).expr.base).name, "next_pid");
}

TEST(DefinitionParser, OrdersDereferencesInnermostFirst) {
  const auto arg = parse_argument("+8(-0x10(+u3(%di)))");
  ASSERT_EQ(arg.expr.dereferences.size(), 3u);
  EXPECT_EQ(arg.expr.dereferences[0].offset, 3);
  EXPECT_EQ(arg.expr.dereferences[0].space, model::AddressSpace::User);
  EXPECT_EQ(arg.expr.dereferences[1].offset, -16);
  EXPECT_EQ(arg.expr.dereferences[2].offset, 8);
}

TEST(DefinitionParser, DropsWhatFollowsTheLastBrace) {
  const auto arg = parse_argument("+8(%di)junk:u8");
  EXPECT_EQ(std::get<model::RegisterBase>(arg.expr.base).name, "di");
  EXPECT_EQ(arg.text, "+8(%di)junk:u8");
  // The last brace closes; the first belongs to the name.
  EXPECT_EQ(std::get<model::RegisterBase>(parse_argument("+8(%di))").expr.base).name, "di)");
}

TEST(DefinitionParser, ReadsEveryBase) {
  EXPECT_TRUE(std::holds_alternative<model::StackPointerBase>(parse_argument("$stack").expr.base));
  EXPECT_EQ(std::get<model::StackSlotBase>(parse_argument("$stack3").expr.base).index, 3u);
  EXPECT_TRUE(std::holds_alternative<model::ReturnValueBase>(parse_argument("$retval").expr.base));
  EXPECT_EQ(std::get<model::ArgumentBase>(parse_argument("$arg2").expr.base).number, 2u);
  EXPECT_EQ(std::get<model::MemoryBase>(parse_argument("@0x10").expr.base).address, 0x10u);
  EXPECT_EQ(std::get<model::SymbolBase>(parse_argument("@jiffies-8").expr.base).offset, -8);
  EXPECT_EQ(std::get<model::ImmediateBase>(parse_argument("\\-1").expr.base).value, ~0ull);
  EXPECT_EQ(std::get<model::ImmediateStringBase>(parse_argument("\\\"ab\"").expr.base).text, "ab");
  EXPECT_EQ(parse_argument("$comm").type.kind, model::TypeKind::String);
}

TEST(DefinitionParser, ReadsTypes) {
  const auto bits = parse_argument("%di:b3@5/16").type;
  EXPECT_EQ(bits.kind, model::TypeKind::Bitfield);
  EXPECT_EQ(bits.bytes, 2);
  EXPECT_EQ(bits.bit_width, 3);
  EXPECT_EQ(bits.bit_offset, 5);
  EXPECT_EQ(parse_argument("%di:s16").type.kind, model::TypeKind::Signed);
  EXPECT_FALSE(parse_argument("%di").type.written);
}

TEST(DefinitionParser, PutsTheCaretWhereTheSelftestsDo) {
  expect_mistake("p^100 vfs_read", Kind::MaxactNoKprobe);
  expect_mistake("r^1a111 vfs_read", Kind::BadMaxact);
  expect_mistake("r^100000 vfs_read", Kind::MaxactTooBig);
  expect_mistake("p ^hoge-fuga", Kind::BadProbeAddr);
  expect_mistake("p ^hoge+1000-1000", Kind::BadProbeAddr);
  expect_mistake("p vfs_read^%hoge", Kind::BadAddrSuffix);
  expect_mistake("p:^/bar vfs_read", Kind::NoGroupName);
  expect_mistake("p:^foo.1/bar vfs_read", Kind::BadGroupName);
  expect_mistake("p:^ vfs_read", Kind::NoEventName);
  expect_mistake("p:foo/^bar.1 vfs_read", Kind::BadEventName);
  expect_mistake("p vfs_read ^$none_var", Kind::BadVar);
  expect_mistake("p vfs_read ^@12345678abcde", Kind::BadMemAddr);
  expect_mistake("p vfs_read ^@+10", Kind::FileOnKprobe);
  expect_mistake("p vfs_read arg1=\\^x", Kind::BadImm);
  expect_mistake("p vfs_read arg1=\\\"abcd^", Kind::ImmstrNoClose);
  expect_mistake("p vfs_read ^+0@0)", Kind::DerefNeedBrace);
  expect_mistake("p vfs_read ^+0ab1(@0)", Kind::BadDerefOffs);
  expect_mistake("p vfs_read +0(+0(@0^)", Kind::DerefOpenBrace);
  expect_mistake("p vfs_read +0(^$comm)", Kind::CommCantDeref);
  expect_mistake("p vfs_read ^&1", Kind::BadFetchArg);
  expect_mistake("p vfs_read +0(@11):u8[10^", Kind::ArrayNoClose);
  expect_mistake("p vfs_read +0(@11):u8[10]^a", Kind::BadArraySuffix);
  expect_mistake("p vfs_read +0(@11):u8[^10a]", Kind::BadArrayNum);
  expect_mistake("p vfs_read +0(@11):u8[^256]", Kind::ArrayTooBig);
  expect_mistake("p vfs_read @11:^unknown_type", Kind::BadType);
  expect_mistake("p vfs_read @11:^b10@a/16", Kind::BadBitfield);
  expect_mistake("p vfs_read ^=@11", Kind::NoArgName);
  expect_mistake("p vfs_read ^var.1=@11", Kind::BadArgName);
  expect_mistake("p vfs_read var1=@11 ^var1=@12", Kind::UsedArgName);
  expect_mistake("p vfs_read arg1=^", Kind::NoArgBody);
}

TEST(DefinitionParser, PutsTheCaretWhereTheSelftestsDoForUprobes) {
  expect_mistake("p /bin/sh:^10a", Kind::BadUprobeOffs);
  expect_mistake("p /bin/sh:10(^1a)", Kind::BadRefcnt);
  expect_mistake("p /bin/sh:10(10^", Kind::RefcntOpenBrace);
  expect_mistake("p /bin/sh:10(10)^a", Kind::BadRefcntSuffix);
  expect_mistake("p /bin/sh:10^%hoge", Kind::BadAddrSuffix);
  expect_mistake("p /bin/sh:10 ^@+ab", Kind::BadFileOffs);
  expect_mistake("p /bin/sh:10 ^@symbol", Kind::SymOnUprobe);
}

TEST(DefinitionParser, CountsColumnsBehindUserDereferencesAsTheKernel) {
  expect_mistake("p vfs_read +u0^(&1)", Kind::BadFetchArg);  // one too small there, and so here
}

TEST(DefinitionParser, CollectsTheMistakesOfALine) {
  diag::Sink sink;
  EXPECT_FALSE(parse_line("p:1x vfs_read &a b=%di b=%si %di:nope", EventsFile::Kprobe, sink));
  std::vector<Kind> kinds;
  for (const auto& diagnostic : sink.diagnostics()) kinds.push_back(diagnostic.kind);
  EXPECT_THAT(kinds, testing::ElementsAre(Kind::BadEventName, Kind::BadFetchArg, Kind::UsedArgName, Kind::BadType));
}

TEST(DefinitionParser, FilesTakeTheirOwnForms) {
  const auto refused = [](std::string_view line, EventsFile file) {
    diag::Sink sink;
    EXPECT_FALSE(parse_line(line, file, sink, kLinux61)) << line;
    EXPECT_EQ(sink.diagnostics().size(), 1u) << line;
    return !sink.empty() && !sink.diagnostics()[0].logged && sink.diagnostics()[0].errno_value == EINVAL;
  };
  EXPECT_TRUE(refused("p /bin/sh:0x10", EventsFile::Kprobe));
  EXPECT_TRUE(refused("p vfs_read", EventsFile::Uprobe));
  EXPECT_TRUE(refused("e sched/sched_switch", EventsFile::Kprobe));
  EXPECT_TRUE(refused("x vfs_read", EventsFile::Dynamic));
  EXPECT_TRUE(refused("f:e vfs_read $arg*", EventsFile::Dynamic));
  EXPECT_TRUE(refused("w:e rw@jiffies:8", EventsFile::Dynamic));
  EXPECT_TRUE(refused("p", EventsFile::Kprobe));
  EXPECT_TRUE(refused("-kprobes/e", EventsFile::Kprobe));
  EXPECT_TRUE(refused("-:", EventsFile::Dynamic));
  EXPECT_TRUE(refused(std::string_view("p vfs\0read", 10), EventsFile::Kprobe));
  EXPECT_TRUE(refused(std::string(5000, 'x'), EventsFile::Kprobe));
}

TEST(DefinitionParser, BlankAndCommentLinesAreNothing) {
  diag::Sink sink;
  for (const char* line : {"", "  ", "# p vfs_read", "\t#"}) {
    EXPECT_FALSE(parse_line(line, EventsFile::Dynamic, sink));
    EXPECT_FALSE(parse_line(line, EventsFile::Synthetic, sink));
  }
  EXPECT_TRUE(sink.empty());
}

TEST(DefinitionParser, ReadsDeletions) {
  diag::Sink sink;
  const auto deletion = std::get<model::Deletion>(*parse_line("-:g/e vfs_read a=%di", EventsFile::Kprobe, sink));
  EXPECT_EQ(deletion.group, "g");
  EXPECT_EQ(deletion.event, "e");
  EXPECT_EQ(deletion.location, "vfs_read");
  EXPECT_THAT(deletion.args, testing::ElementsAre("a=%di"));
  const auto group = std::get<model::Deletion>(*parse_line("-:g/", EventsFile::Dynamic, sink));
  EXPECT_FALSE(group.event);
  const auto listing = std::get<model::Deletion>(*parse_line("!r10:g/e vfs_read", EventsFile::Dynamic, sink));
  EXPECT_EQ(listing.event, "e");
  const auto synthetic = std::get<model::Deletion>(*parse_line("!wakeup pid_t pid", EventsFile::Synthetic, sink));
  EXPECT_EQ(synthetic.group, "synthetic");
  EXPECT_EQ(synthetic.event, "wakeup");
  EXPECT_TRUE(sink.empty());
}

TEST(DefinitionParser, ReadsSyntheticEvents) {
  const auto definition = parse_good("wakeup unsigned int a; char comm[16]; char[] s long[] st", EventsFile::Synthetic);
  EXPECT_EQ(definition.kind, model::EventKind::Synthetic);
  ASSERT_EQ(definition.fields.size(), 4u);
  EXPECT_EQ(definition.fields[0].type, "unsigned int");
  EXPECT_EQ(definition.fields[1].type, "char[16]");
  EXPECT_EQ(definition.fields[1].array_count, 16u);
  EXPECT_EQ(definition.fields[2].type, "char[]");
  EXPECT_EQ(definition.fields[3].type, "long[]");
  expect_mistake("ev u64 ^x-y", Kind::SynthBadName, EventsFile::Synthetic);
  expect_mistake("ev ^u8 x[16]", Kind::SynthInvalidType, EventsFile::Synthetic);
  expect_mistake("s:ev u64 lat; char ^x[1000]", Kind::SynthInvalidArraySpec);
  expect_mistake("^s:g/ev u64 x", Kind::SynthInvalidDynCmd);
  expect_mistake("ev u64 x; ^unsigned y", Kind::SynthIncompleteType, EventsFile::Synthetic);
}

TEST(SplitLines, RemovesCommentsAndCountsLines) {
  const auto lines = split_lines("p a # c\n\nr b");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].text, "p a ");
  EXPECT_EQ(lines[2].text, "r b");
  EXPECT_EQ(lines[2].number, 3);
}

TEST(SplitLines, KeepsRefusedLinesWhole) {
  const std::string text = "#" + std::string(4094, 'c');
  EXPECT_EQ(split_lines(text)[0].text, "");                      // 4095 bytes at the end of a write are taken
  EXPECT_EQ(split_lines(text + "\np a")[0].text.size(), 4096u);  // but not with a '\n'
  EXPECT_EQ(split_lines(std::string_view("p\0 # x", 6))[0].text.size(), 6u);
}

TEST(Tokenize, ClassesByNeighbours) {
  const std::string_view line = "p:w libc:write b=+0(%si):string $comm \\\"a\" # x";
  std::vector<std::pair<TokenClass, std::string_view>> tokens;
  for (const Token& token : tokenize(line)) {
    tokens.emplace_back(token.kind, line.substr(token.span.begin, token.span.end - token.span.begin));
  }
  using T = TokenClass;
  const std::vector<std::pair<TokenClass, std::string_view>> expected = {
      {T::Keyword, "p"},      {T::Operator, ":"},    {T::Name, "w"},     {T::Name, "libc"},  {T::Operator, ":"},
      {T::Name, "write"},     {T::Name, "b"},        {T::Operator, "="}, {T::Operator, "+"}, {T::Number, "0"},
      {T::Operator, "("},     {T::Register, "%si"},  {T::Operator, ")"}, {T::Operator, ":"}, {T::Type, "string"},
      {T::Variable, "$comm"}, {T::String, "\\\"a\""}};
  EXPECT_EQ(tokens, expected);
}

}  // namespace
}  // namespace kevt::grammar
