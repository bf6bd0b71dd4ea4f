// A file name with an unknown ending may be a slip (`trace.jsn`): the file is written as text, and a message says so
// before anything runs. Names without an ending, and usual endings of texts, give no message.
#include "cli/output_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tracefs-compat/record/output_file.h"

namespace kevt::cli {
namespace {

std::string_view ending_of(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const auto dot = name.rfind('.');
  return dot == 0 || dot == std::string_view::npos ? std::string_view{} : name.substr(dot);
}

void tell_odd_ending(const std::string& output, const std::string& known, const Reporter& report) {
  constexpr std::array<std::string_view, 4> kTexts = {"", ".log", ".out", ".txt"};
  const std::string_view ending = ending_of(output);
  if (std::ranges::find(kTexts, ending) != kTexts.end()) return;
  report.status(fmt::format("`{}` is written as text: {} is no format's ending ({}); -f FORMAT chooses one, too",
                            output, ending, known));
}

}  // namespace

record::FileFormat output_format(const std::string& format, const std::string& output, const Reporter& report) {
  if (const auto named = record::format_by_name(format)) return *named;
  if (const auto found = record::format_by_file(output)) return *found;
  tell_odd_ending(output, record::format_endings(), report);
  return record::FileFormat::Text;
}

std::optional<record::AnswerForm> answer_form(const std::string& format, const std::string& output,
                                              const Reporter& report) {
  if (format == "json") return record::AnswerForm::Json;
  if (format == "text") return record::AnswerForm::Text;
  const auto found = record::format_by_file(output);
  if (!found) tell_odd_ending(output, ".txt .json", report);
  if (!found || *found == record::FileFormat::Text) return record::AnswerForm::Text;
  if (*found == record::FileFormat::Json) return record::AnswerForm::Json;
  report.error(fmt::format("`{}`: an answer is written as text or json (-f), not as {}; `kevtrace run` records", output,
                           record::name_of(*found)));
  return std::nullopt;
}

Result<void> write_answer(const std::string& output, std::string_view text) {
  auto file = KEVT_TRY(record::OutputFile::create(output));
  if (file.controls() == Controls::Escaped)
    file.append(escaped_lines(text));
  else
    file.append(text);
  return file.flush();
}

}  // namespace kevt::cli
