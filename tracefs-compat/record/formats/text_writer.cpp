// How many entries there will be is not known at the head of a stream: `ftrace` says 0/0 there, as an empty trace
// would; readers skip the line.
#include "tracefs-compat/record/formats/text_writer.h"

#include "tracefs-compat/record/recording_formats.h"

namespace kevt::record {
TextWriter::TextWriter(OutputFile file, const Metadata& metadata, TraceHeader header, TraceLines::Words words)
    : file_(std::move(file)),
      lines_(metadata, {.controls = file_.controls(), .words = words, .is_completed_later = true}) {
  if (header == TraceHeader::Shown) file_.append(trace_header(0, 0, metadata.cpus));
}

Result<void> TextWriter::add(const TypedRecord& record) {
  lines_.append(record, file_.buffer());
  return file_.is_long() ? flush() : Result<void>();
}

Result<void> TextWriter::flush() {
  lines_.complete(file_.buffer());
  return file_.flush();
}

Result<std::unique_ptr<RecordWriter>> create_text(const std::string& path, const Metadata& metadata) {
  return create_in_file<TextWriter>(path, metadata, TraceHeader::None, TraceLines::Words::Plugins);
}

Result<std::unique_ptr<RecordWriter>> create_kernel_lines(const std::string& path, const Metadata& metadata) {
  return create_in_file<TextWriter>(path, metadata, TraceHeader::None, TraceLines::Words::OwnPrintFormat);
}

Result<std::unique_ptr<RecordWriter>> create_ftrace(const std::string& path, const Metadata& metadata) {
  return create_in_file<TextWriter>(path, metadata, TraceHeader::Shown, TraceLines::Words::OwnPrintFormat);
}

}  // namespace kevt::record
