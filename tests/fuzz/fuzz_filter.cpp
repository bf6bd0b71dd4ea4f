// The problem: any bytes may be written to a filter file.
//
// The idea: parse and bind them against one event. Either there is a tree and no diagnostic, or diagnostics
// with an errno and a column within the text; of these exactly the first may be logged. A tree that was
// accepted is printed, and the print parses to the same print.
//
// What a filter means is not checked here (filters_test.cpp, corpus_filters_test.cpp).
#include <cstdlib>

#include "compiler/sema/filter.h"
#include "grammar/parse.h"
#include "grammar/parse_filter.h"
#include "tests/fuzz/fuzz_entry.h"
#include "tests/golden/filter_fixtures.h"

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

void check_mistakes(const kevt::diag::Sink& sink) {
  require(!sink.empty());
  bool first = true;
  for (const kevt::diag::Diagnostic& diagnostic : sink.diagnostics()) {
    require(diagnostic.errno_value > 0);
    require(!diagnostic.column || *diagnostic.column <= diagnostic.command.size() + 1);
    require(first || !diagnostic.logged);
    first = false;
  }
  kevt::sema::filter_file_text(sink.diagnostics().front());
}

void check_print(const kevt::model::FilterExpr& filter, const kevt::model::RecordLayout& layout) {
  const std::string printed = kevt::sema::print_filter(filter);
  if (printed.size() > kevt::grammar::kMaxFilterBytes) return;  // it has blanks the text had not
  kevt::diag::Sink sink;
  const auto again = kevt::sema::compile_filter(printed, layout, sink);
  require(again.has_value());
  require(kevt::golden::describe(*again) == kevt::golden::describe(filter));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const kevt::model::RecordLayout* layout = kevt::golden::fixture_layout("kprobes/fs");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  kevt::diag::Sink sink;
  const auto filter = kevt::sema::compile_filter(text, *layout, sink);
  require(filter.has_value() == sink.empty());
  if (!filter) {
    check_mistakes(sink);
    return 0;
  }
  check_print(*filter, *layout);
  require(kevt::grammar::parse_filter(text, sink).has_value());
  return 0;
}

std::vector<std::string> kevt::fuzz::seeds() {
  return {"str == \"abc\" && n > -1",
          "!(who ~ '*x*' || bf & 0x4) && plain != 010",
          "comm != \"a\" || CPU < 4 && common_pid == 1",
          "((sym >= 1))",
          "ustr.ustring ~ \"!/bin/*\"",
          "arr == 1 || sarr ~ \"a?[b]\\\\\"",
          "n == 1 && n == 2 || n == 3 && !n == 4",
          "(((((((((n == 1)))))))))",
          "n<=1||n>=2||n<3||n>4||n!=5",
          "nope == 1",
          "lit == ''"};
}
