// What must go is known only when newer records come, and no text format can take back what it has written. So records
// wait in a trace.dat, whose window moves (dat_writer.cpp), and become the format that was asked for at the end:
//
//   records ─► PATH.RANDOM.flight ─► (finish) ─► reader, by time ─► writer of the format ─► PATH
#include "tracefs-compat/record/dat/flight_recorder.h"

#include <unistd.h>

#include <cstdlib>

#include "common/error.h"
#include "tracefs-compat/record/dat/dat_writer.h"

namespace kevt::record {
namespace {

class FlightRecorder final : public RecordWriter {
 public:
  FlightRecorder(FileFormat format, std::string path, std::string waiting, std::unique_ptr<DatWriter> dat)
      : format_(format), path_(std::move(path)), waiting_(std::move(waiting)), dat_(std::move(dat)) {}

  Result<void> add(const TypedRecord& record) override { return dat_->add(record); }
  Result<void> flush() override { return dat_->flush(); }
  Result<void> finish() override;
  std::uint64_t bytes() const override { return written_ ? written_ : dat_->bytes(); }
  bool wants_order() const override { return false; }
  std::uint64_t overwritten(std::uint16_t id) const override { return dat_->overwritten(id); }

 private:
  Result<void> convert();

  FileFormat format_;
  std::string path_, waiting_;
  std::unique_ptr<DatWriter> dat_;
  std::uint64_t written_ = 0;
};

Result<void> FlightRecorder::convert() {
  auto reader = KEVT_TRY(open_recording(waiting_));
  auto writer = KEVT_TRY(create_recording(format_, path_, reader->metadata()));
  TypedRecord record;
  while (reader->next(record)) KEVT_TRY(writer->add(record));
  KEVT_TRY(writer->finish());
  written_ = writer->bytes();
  return {};
}

Result<void> FlightRecorder::finish() {
  KEVT_TRY(dat_->finish());
  if (auto converted = convert(); !converted)
    return std::unexpected(std::move(converted.error()).while_doing("converting " + waiting_ + ", which is kept"));
  unlink(waiting_.c_str());
  return {};
}

// Where records wait: beside what they become, which may be a folder.
std::string waiting_beside(const std::string& path) {
  if (!path.empty() && path != "-") return path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
  const char* folder = std::getenv("TMPDIR");
  return std::string(folder && *folder ? folder : "/tmp") + "/kevtrace";
}

}  // namespace

Result<std::unique_ptr<RecordWriter>> create_flight_recording(FileFormat format, const std::string& path,
                                                              const Metadata& metadata, std::uint64_t window) {
  if (format == FileFormat::Dat) return DatWriter::create(path, metadata, {.window = window});
  if (format == FileFormat::Dat7)
    return DatWriter::create(path, metadata, {.version = DatVersion::Seven, .window = window});
  auto waiting = OutputFile::create_temporary(waiting_beside(path), ".flight");
  if (!waiting) return std::unexpected(std::move(waiting.error()).while_doing("making a file for the newest records"));
  std::string name = waiting->path();
  auto dat = KEVT_TRY(DatWriter::create(std::move(*waiting), metadata, {.window = window}));
  return std::make_unique<FlightRecorder>(format, path, std::move(name), std::move(dat));
}

}  // namespace kevt::record
