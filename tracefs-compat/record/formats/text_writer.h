// TextWriter: trace lines, as `kevtrace report` prints them; as `ftrace` those of the kernel's `trace` file, with the
// comment lines above them.
#pragma once

#include <memory>
#include <string>

#include "tracefs-compat/record/output_file.h"
#include "tracefs-compat/record/print/trace_line.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::record {

enum class TraceHeader : std::uint8_t { None, Shown };

class TextWriter final : public RecordWriter {
 public:
  TextWriter(OutputFile file, const Metadata& metadata, TraceHeader header, TraceLines::Words words);
  Result<void> add(const TypedRecord& record) override;
  Result<void> flush() override;
  Result<void> finish() override { return flush(); }
  std::optional<std::string> take_note() override { return lines_.take_problem(); }
  std::uint64_t bytes() const override { return file_.written(); }

 private:
  OutputFile file_;
  TraceLines lines_;
};

// A file of lines that are told as the kernel's `trace` tells them.
Result<std::unique_ptr<RecordWriter>> create_kernel_lines(const std::string& path, const Metadata& metadata);

}  // namespace kevt::record
