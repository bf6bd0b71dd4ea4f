// Where an answer goes and in which format: that of -f, else by the file's ending, else text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/reporter.h"
#include "common/error.h"
#include "tracefs-compat/record/analysis/analysis.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::cli {

// `format`: the word of -f, or empty. An unknown ending means text, and is reported.
record::FileFormat output_format(const std::string& format, const std::string& output, const Reporter& report);
// The same for the answer of `stat` or `diff`. nullopt: the ending is that of a recording; this has been reported.
std::optional<record::AnswerForm> answer_form(const std::string& format, const std::string& output,
                                              const Reporter& report);
// Writes an answer that is complete to the file, or to standard output ("" or "-"), escaped where a terminal reads. The
// file is opened now, so that a mistake before empties none.
Result<void> write_answer(const std::string& output, std::string_view text);

}  // namespace kevt::cli
