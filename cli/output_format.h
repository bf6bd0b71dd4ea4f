// The format of an output file: that of -f, else by the file's ending, else text.
#pragma once

#include <optional>
#include <string>

#include "cli/reporter.h"
#include "tracefs-compat/record/analysis/analysis.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::cli {

// `format`: the word of -f, or empty. An unknown ending means text, and is reported.
record::FileFormat output_format(const std::string& format, const std::string& output, const Reporter& report);
// The same for the answer of `stat` or `diff`. nullopt: the ending is that of a recording; this has been reported.
std::optional<record::AnswerForm> answer_form(const std::string& format, const std::string& output,
                                              const Reporter& report);

}  // namespace kevt::cli
