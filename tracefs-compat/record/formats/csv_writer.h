// CsvWriter: RFC 4180 with a line of names. One file with the fields of all events, or a folder with a file per event.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tracefs-compat/record/output_file.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::record {

class CsvWriter final : public RecordWriter {
 public:
  // A path that ends with '/' is a folder, made when it is not there.
  static Result<std::unique_ptr<CsvWriter>> create(const std::string& path, const Metadata& metadata);
  Result<void> add(const TypedRecord& record) override;
  Result<void> flush() override;
  Result<void> finish() override { return flush(); }
  std::uint64_t bytes() const override;

 private:
  struct Sheet {
    OutputFile file;
    std::vector<const Field*> columns;  // of its event
    std::vector<std::string> names;     // of all events
  };
  explicit CsvWriter(const Metadata& metadata)
      : metadata_(metadata), has_containers_(metadata.has_containers()), is_of_several_(!metadata.origins.empty()) {}
  std::string head() const;
  Result<Sheet*> sheet_of(const EventFormat& event);
  void append_row(Sheet& sheet, const TypedRecord& record) const;

  UniqueFd folder_;  // none: one sheet for all
  const Metadata& metadata_;
  bool has_containers_;  // of the processes that are known at the start
  bool is_of_several_;   // recordings, or machines: a column says of which
  std::vector<std::unique_ptr<Sheet>> by_id_;
  std::unique_ptr<Sheet> all_;
};

}  // namespace kevt::record
