// A recording named on the command line, and a reader of the part that was asked for.
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
  // nullopt: that failed; the reason has been reported, and `status` is kevtrace's exit status.
  static std::optional<RecordingInput> open(const InputOptions& options, const Reporter& report, int& status);

  record::QueriedReader& reader() { return *queried_; }
  const record::Metadata& metadata() const { return reader_->metadata(); }
  bool is_of_one_instance() const { return queried_->is_of_one_instance(); }
  std::uint64_t scanned() const { return queried_->scanned(); }
  // To be called after the last record: reports what could not be read. Returns the exit status: 1 if something could
  // not.
  int finish(const Reporter& report) const;

 private:
  RecordingInput() = default;
  std::string file_;
  std::unique_ptr<record::RecordReader> reader_;
  std::unique_ptr<record::QueriedReader> queried_;
};

// Sets the moments to those of FROM,TO; of an empty text to none.
void take_range(const std::string& range, InputOptions& input);

// "EVENT", "SYSTEM:EVENT", "EVENT: EXPRESSION", "SYSTEM/EVENT: EXPRESSION"; globs are allowed in names.
record::FilterRequest split_filter(const std::string& word);

}  // namespace kevt::cli
