// How many entries there will be is not known at the head of a stream: `ftrace` says 0/0 there, as an empty trace
// would; readers skip the line.
#include "tracefs-compat/record/formats/text_writer.h"

namespace kevt::record {
namespace {}  // namespace

TextWriter::TextWriter(OutputFile file, const Metadata& metadata, TraceHeader header)
    : file_(std::move(file)), lines_(metadata, {.controls = file_.controls()}) {
  if (header == TraceHeader::Shown) file_.append(trace_header(0, 0, metadata.cpus));
}

Result<void> TextWriter::add(const TypedRecord& record) {
  lines_.append(record, file_.buffer());
  return file_.flush_if_long();
}

}  // namespace kevt::record
