// TextWriter: the lines of the kernel's `trace` file; as `ftrace` with the comment lines above them.
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
  TextWriter(OutputFile file, const Metadata& metadata, TraceHeader header);
  Result<void> add(const TypedRecord& record) override;
  Result<void> flush() override { return file_.flush(); }
  Result<void> finish() override { return file_.flush(); }
  std::uint64_t bytes() const override { return file_.written(); }

 private:
  OutputFile file_;
  TraceLines lines_;
};

}  // namespace kevt::record
