// In which format a file is written: by -f, else by its ending, else as text.
#pragma once

#include <optional>
#include <string>

#include "cli/reporter.h"
#include "tracefs-compat/record/analysis/analysis.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::cli {

// `format`: of -f, or empty. An ending that no format has is text, and told.
record::FileFormat output_format(const std::string& format, const std::string& output, const Reporter& report);
// The same of an answer. nullopt: the ending is one of recordings; reported.
std::optional<record::AnswerForm> answer_form(const std::string& format, const std::string& output,
                                              const Reporter& report);

}  // namespace kevt::cli
