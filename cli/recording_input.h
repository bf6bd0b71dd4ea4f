// A recording named on the command line, with the part of it that was asked for.
#pragma once

#include <memory>
#include <optional>

#include "cli/options/record_options.h"
#include "cli/reporter.h"
#include "tracefs-compat/record/analysis/query.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::cli {

class RecordingInput {
 public:
  // nullopt: it has been reported why, and `status` is what kevtrace ends with.
  static std::optional<RecordingInput> open(const InputOptions& options, const Reporter& report, int& status);

  record::RecordReader& reader() { return *queried_; }
  const record::Metadata& metadata() const { return reader_->metadata(); }
  bool is_of_one_instance() const { return queried_->is_of_one_instance(); }
  std::uint64_t scanned() const { return queried_->scanned(); }
  // After the last record: says what could not be read. The status: 1 when there was any.
  int finish(const Reporter& report) const;

 private:
  RecordingInput() = default;
  std::string file_;
  std::unique_ptr<record::RecordReader> reader_;
  std::unique_ptr<record::QueriedReader> queried_;
};

// "EVENT", "SYSTEM:EVENT", "EVENT: EXPRESSION", "SYSTEM/EVENT: EXPRESSION"; globs are allowed in names.
record::FilterRequest split_filter(const std::string& word);

}  // namespace kevt::cli
