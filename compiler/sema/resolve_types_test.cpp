#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/sema/sema.h"
#include "compiler/target/fixed_target.h"
#include "compiler/target/types/btf.h"
#include "grammar/parse.h"
#include "tests/golden/small_btf.h"

namespace kevt::sema {
namespace {

using diag::Kind;
using model::TypeKind;
using testing::ElementsAre;
using testing::HasSubstr;

class TypesSema : public testing::Test {
 protected:
  TypesSema() {
    std::uint64_t address = 0x1000;
    for (const char* name : {"work", "nothing", "many", "untyped"})
      env_.add_function({.name = name, .module = "", .address = address += 0x100, .size = 0x100});
    env_.set_types(std::make_shared<const target::TypeTable>(*target::read_btf(golden::small_btf())));
  }

  std::optional<CheckedDefinition> check(std::string_view line) {
    sink_ = {};
    auto statement = grammar::parse_line_leniently(line, grammar::EventsFile::Dynamic, sink_, request_.dialect);
    if (!statement) return std::nullopt;
    return check_definition(std::get<model::Definition>(std::move(*statement)), env_, catalog_, sink_, request_);
  }
  // "NAME=TEXT kind+bytes", one for each argument.
  std::vector<std::string> arguments(std::string_view line) {
    const auto checked = check(line);
    if (!checked) return {sink_.empty() ? "?" : std::string(diag::kernel_id(sink_.diagnostics().front().kind))};
    std::vector<std::string> out;
    for (const model::FetchArg& arg : checked->definition.args) {
      EXPECT_FALSE(arg.needs_types) << line;
      out.push_back(arg.name + "=" + arg.text + " " + kind(arg.type.kind) + std::to_string(arg.type.bytes));
    }
    return out;
  }
  static std::string kind(TypeKind kind) {
    return kind == TypeKind::Unsigned ? "u" : kind == TypeKind::Signed ? "s" : kind == TypeKind::Hex ? "x" : "t";
  }
  // "ID COLUMN" of the first mistake.
  std::string mistake(std::string_view line) {
    EXPECT_FALSE(check(line)) << line;
    if (sink_.empty()) return "";
    const diag::Diagnostic& first = sink_.diagnostics().front();
    const auto column = first.log ? first.log->column : first.column;
    return std::string(diag::kernel_id(first.kind)) + " " + std::to_string(column.value_or(999));
  }
  std::vector<std::int64_t> offsets(std::string_view line) {
    const auto checked = check(line);
    std::vector<std::int64_t> out;
    if (checked)
      for (const auto& dereference : checked->definition.args[0].expr.dereferences) out.push_back(dereference.offset);
    return out;
  }

  CheckRequest request_{.dialect = dialect::Dialect::of(dialect::Kernel::Linux6_12), .newer_forms = NewerForms::Judged};
  target::FixedTargetEnv env_;
  target::FixedCatalog catalog_;
  diag::Sink sink_;
};

TEST_F(TypesSema, AllArgumentsAreNamedAndTyped) {
  EXPECT_THAT(arguments("p work $arg*"), ElementsAre("it=it x8", "count=count u4"));
  EXPECT_THAT(arguments("p work $arg* %di"), ElementsAre("it=it x8", "count=count u4", "arg3=%di x8"));
  EXPECT_THAT(arguments("t tick $arg*"), ElementsAre("mood=mood s4"));
}

TEST_F(TypesSema, AnArgumentsNumberTakesItsNameAndType) {
  EXPECT_THAT(arguments("p work $arg2 $arg1:u8 n=$arg2"), ElementsAre("count=count u4", "it=it:u8 u1", "n=$arg2 x8"));
}

TEST_F(TypesSema, ReturnValuesHaveTheFunctionsType) {
  EXPECT_THAT(arguments("r work $retval r=+8($retval)"), ElementsAre("arg1=$retval s8", "r=+8($retval) x8"));
  EXPECT_EQ(mistake("r nothing $retval"), "NO_RETVAL 10");
  EXPECT_THAT(arguments("r work count"), ElementsAre("count=count u4"));
}

TEST_F(TypesSema, FieldsAreReadWhereTheyLie) {
  EXPECT_THAT(arguments("p work a=it->size b=it->mood c=it->name d=it->next->size"),
              ElementsAre("a=it->size u4", "b=it->mood s4", "c=it->name x8", "d=it->next->size u4"));
  EXPECT_THAT(offsets("p work it->inner->next->size"), ElementsAre(8, 28, 0));
  const auto flag = check("p work it->flag");
  ASSERT_TRUE(flag);
  EXPECT_EQ(flag->definition.args[0].type.bit_width, 3);
  EXPECT_EQ(flag->definition.args[0].type.bit_offset, 3);
}

TEST_F(TypesSema, TextIsReadThroughPointersAndInArrays) {
  EXPECT_THAT(offsets("p work it->name:string"), ElementsAre(16, 0));
  EXPECT_THAT(offsets("p work it->text:string"), ElementsAre(8));
  EXPECT_EQ(mistake("p work it:string"), "BAD_TYPE4STR 7");
}

TEST_F(TypesSema, FileNamesAreTheirExpansion) {
  EXPECT_THAT(arguments("p work f=$arg1:%pD"), ElementsAre("f=+0x0(+0x28(+0x18($arg1))):string t4"));
  EXPECT_THAT(offsets("p work it:%pd"), ElementsAre(0x28, 0));
}

TEST_F(TypesSema, MistakesStandWhereTheKernelPutsThem) {
  EXPECT_EQ(mistake("p work nope"), "NO_BTFARG 7");
  EXPECT_EQ(mistake("p work x=it->nope"), "NO_BTF_FIELD 13");
  EXPECT_EQ(mistake("p work x=count->size"), "NO_PTR_STRCT 16");
  EXPECT_EQ(mistake("p work x=it->name->size"), "BAD_BTF_TID 19");
  EXPECT_EQ(mistake("p work $arg3"), "NO_BTFARG 7");
  EXPECT_EQ(mistake("p untyped it"), "NO_BTF_ENTRY 10");
  EXPECT_EQ(mistake("p untyped $arg*"), "NOSUP_BTFARG 10");
  EXPECT_EQ(mistake("p many $arg*"), "NO_ARG_BODY 13");  // `...` is argument 2 of one word: behind the end
  EXPECT_EQ(mistake("p work $arg* count"), "USED_ARG_NAME 19");
}

// What error_log shows is not always where the mistake was written.
TEST_F(TypesSema, TheLogCountsInReplacedWords) {
  EXPECT_EQ(mistake("p work f=$arg1:%pD x=%zz"), "BAD_REG_NAME 44");
  ASSERT_TRUE(sink_.diagnostics().front().log);
  EXPECT_EQ(sink_.diagnostics().front().log->command, "p work f=+0x0(+0x28(+0x18($arg1))):string x=%zz");
  EXPECT_EQ(sink_.diagnostics().front().column, 21u);
  EXPECT_EQ(mistake("p work $arg* x=%zz"), "BAD_REG_NAME 19");
}

TEST_F(TypesSema, HelpShowsThePrototype) {
  mistake("p work nope");
  std::string notes;
  for (const diag::Note& note : sink_.diagnostics().front().notes) notes += note.text;
  EXPECT_THAT(notes, HasSubstr("long work(const struct thing *it, unsigned int count)"));
  mistake("p work x=it->siez");
  EXPECT_THAT(sink_.diagnostics().front().notes.back().text, HasSubstr("`size`"));
}

TEST_F(TypesSema, TypecastsOfTheNewestKernel) {
  request_.dialect = dialect::Dialect::of(dialect::Kernel::Newest);
  EXPECT_THAT(arguments("p work x=(task_struct)it->pid c=$current->pid"),
              ElementsAre("x=(task_struct)it->pid u4", "c=$current->pid u4"));
  EXPECT_THAT(offsets("p work (thing,next)it->size"), ElementsAre(-28));
  EXPECT_EQ(mistake("p work x=(nothing)it->pid"), "NO_PTR_STRCT 10");
  EXPECT_EQ(mistake("p work x=(thing,nope)it->size"), "NO_BTF_FIELD 16");
  EXPECT_EQ(mistake("p work x=(thing,flag)it->size"), "TYPECAST_NOT_ALIGNED 16");
  EXPECT_EQ(mistake("p work x=(thing)nope->size"), "NO_BTFARG 16");
}

// What a live 7.2 answers; the field is written without `$`.
TEST_F(TypesSema, TypecastsOfAnEventsField) {
  request_.dialect = dialect::Dialect::of(dialect::Kernel::Linux7_2);
  target::CatalogEntry attached{.group = "s", .event = "v"};
  attached.layout.fields.push_back(
      {.role = model::FieldRole::Argument, .name = "id", .type = {}, .offset = 8, .size = 8});
  catalog_.add(attached);
  EXPECT_THAT(
      arguments("e s.v a=(thing)id->size b=(thing)id->mood c=(thing)id d=+8((thing)id->name)"),
      ElementsAre("a=(thing)id->size u4", "b=(thing)id->mood s4", "c=(thing)id x8", "d=+8((thing)id->name) x8"));
  EXPECT_THAT(offsets("e s.v (thing)id->inner->next->size"), ElementsAre(8, 28, 0));
  EXPECT_EQ(mistake("e s.v a=(nope)nope->size"), "NO_PTR_STRCT 9");
  EXPECT_EQ(mistake("e s.v a=(thing)$id->size"), "BAD_ATTACH_ARG 15");
  EXPECT_EQ(mistake("e s.v a=(thing)\\9"), "BAD_ATTACH_ARG 15");
  EXPECT_EQ(mistake("e s.v (thing)"), "BAD_ATTACH_ARG 13");
  EXPECT_EQ(mistake("e s.v a=(thing)nope->size-x"), "BAD_ATTACH_ARG 15");
  EXPECT_EQ(mistake("e s.v a=(thing)id-size"), "BAD_HYPHEN 17");
  EXPECT_EQ(mistake("e s.v a=(thing)id->size-x"), "BAD_HYPHEN 23");
  EXPECT_EQ(mistake("e s.v a=(thing)nope.size"), "NOSUP_DAT_ARG 20");
  EXPECT_EQ(mistake("e s.v a=(thing)id->nope"), "NO_BTF_FIELD 19");
  EXPECT_EQ(mistake("e s.v a=(thing)id:string"), "BAD_TYPE4STR 15");
  EXPECT_EQ(mistake("e s.v a=(thing"), "DEREF_OPEN_BRACE 14");
  EXPECT_EQ(mistake("p work a=(thing)it->size"), "TYPECAST_NOT_EVENT 9");
  env_.set_types(nullptr);
  EXPECT_TRUE(check("e s.v a=(anything)id->size"));
  EXPECT_EQ(mistake("e s.v a=(thing)$id->size"), "BAD_ATTACH_ARG 15");
  EXPECT_EQ(mistake("e s.v a=(thing)id->size-x"), "BAD_HYPHEN 23");
}

TEST_F(TypesSema, AllArgumentsOfAFunctionWithoutAnyOn72) {
  request_.dialect = dialect::Dialect::of(dialect::Kernel::Linux7_2);
  EXPECT_EQ(mistake("p nothing $arg*"), "BAD_VAR 10");
  ASSERT_TRUE(sink_.diagnostics().front().prelude);
  EXPECT_EQ(sink_.diagnostics().front().prelude->kind, Kind::NosupBtfarg);
  EXPECT_EQ(mistake("r nothing $retval $arg*"), "NO_RETVAL 10");
  EXPECT_EQ(sink_.diagnostics().front().prelude->column, 18u);
}

TEST_F(TypesSema, WithoutTypesNothingIsClaimed) {
  env_.set_types(nullptr);
  const auto checked = check("p work it->nope $arg*");
  ASSERT_TRUE(checked);
  EXPECT_EQ(checked->unchecked.size(), 2u);
}

}  // namespace
}  // namespace kevt::sema
