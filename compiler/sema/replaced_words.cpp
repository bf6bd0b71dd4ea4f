// error_log's view of a definition whose words a kernel replaced before it read them.
//
//   p f x=%di:%pd y=%zz      "p f x=+0x0(+0x28(%di)):string y=%zz", caret in that text
//   p f $arg* y=%zz          `y` is argument 5 of 5: counted in the words as written there is no such word, so the
//                            caret stands behind their end
//   p f $arg2:u8[09]         read as `buf:u8[09]`, its columns counted in the old word
//
// Problem: the kernel's log keeps the words as written while its parser reads others. Idea: leave the diagnostic as
// people need it, and add a second text and column, those of the log. Mirrors trace_probe_log_set_index() and
// __trace_probe_log_err() of kernel/trace/trace_probe.c (6.12). Done only if the dialect is that of one kernel.
#include <algorithm>

#include "compiler/sema/definition_check.h"

namespace kevt::sema {
namespace {

class LoggedWords {
 public:
  explicit LoggedWords(const DefinitionCheck& check) : words_(check.replaced), command_(check.definition.command) {
    begins_ = words_.begins;
    // With `$arg` words the kernel makes a new list of words and logs the old one; without them it writes `%pd`'s text
    // into the old one.
    if (!words_.by_argument_words) replace_file_names();
  }

  bool differs() const { return words_.by_argument_words || !words_.file_names.empty(); }

  diag::LogEntry entry(const diag::Diagnostic& mistake) const {
    diag::LogEntry log{.command = command_, .column = mistake.column, .prelude_column = std::nullopt};
    const bool in_argument = mistake.order >= diag::kStepArguments && mistake.order < diag::kStepCounter;
    const std::size_t argument = in_argument ? (mistake.order - diag::kStepArguments) / diag::kStepsPerArgument : 0;
    if (!in_argument) return log;
    if (mistake.column) log.column = column(argument, *mistake.column);
    if (mistake.prelude) log.prelude_column = column(argument, mistake.prelude->column);
    return log;
  }

 private:
  void replace_file_names() {
    for (const ReplacedWords::FileName& name : words_.file_names) {
      const std::uint32_t begin = begins_[name.word];
      const std::size_t end = std::min(command_.find(' ', begin), command_.size());
      const auto longer = static_cast<std::uint32_t>(name.text.size() - (end - begin));
      command_.replace(begin, end - begin, name.text);
      for (std::size_t i = name.word + 1; i < begins_.size(); ++i) begins_[i] += longer;
    }
  }

  std::uint32_t column(std::size_t argument, std::uint32_t written) const {
    std::size_t word = argument;
    std::int64_t offset = 0;
    if (!words_.arguments.empty()) {
      if (argument >= words_.arguments.size()) return written;
      const ReplacedWords::Argument& replaced = words_.arguments[argument];
      word = replaced.word;
      offset = std::int64_t{written} - words_.begins[word];
      if (offset > 0) offset = std::max<std::int64_t>(0, offset + replaced.longer);
    } else if (word < words_.begins.size()) {
      offset = std::int64_t{written} - words_.begins[word];
    }
    // The kernel takes the argument's number for the number of a word of the log.
    if (argument >= begins_.size()) return static_cast<std::uint32_t>(command_.size() + 1);
    return static_cast<std::uint32_t>(std::max<std::int64_t>(0, begins_[argument] + offset));
  }

  const ReplacedWords& words_;
  std::string command_;
  std::vector<std::uint32_t> begins_;
};

}  // namespace

void log_replaced_words(DefinitionCheck& check) {
  if (!check.request.dialect.version()) return;
  const LoggedWords words(check);
  if (!words.differs()) return;
  for (diag::Diagnostic& mistake : check.sink.take()) {
    // Mistakes before the arguments are logged before the kernel replaces words.
    const bool after = mistake.order >= diag::kStepArguments;
    if (after) mistake.log = words.entry(mistake);
    check.sink.report(std::move(mistake));
  }
}

}  // namespace kevt::sema
