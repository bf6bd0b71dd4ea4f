// JsonWriter: NDJSON, one versioned object a line (docs/recordings.md); whole lines at every moment.
#pragma once

#include <string>

#include "tracefs-compat/record/output_file.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::record {

class JsonWriter final : public RecordWriter {
 public:
  JsonWriter(OutputFile file, const Metadata& metadata);
  Result<void> add(const TypedRecord& record) override;
  bool takes_histograms() const override { return true; }
  void add_histograms(const HistogramReading& reading) override;
  void go_on_behind_another() override { file_.buffer() += '\n'; }
  Result<void> flush() override { return file_.flush(); }
  Result<void> finish() override;
  std::uint64_t bytes() const override { return file_.written(); }

 private:
  OutputFile file_;
  const Metadata& metadata_;
  std::uint64_t events_ = 0;
};

// One record as an object, without the line end. Appends.
void append_json_record(const TypedRecord& record, const Metadata& metadata, std::string& out);

}  // namespace kevt::record
