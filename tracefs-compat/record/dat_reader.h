// DatReader: the records of a trace.dat in the order of time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/layout/ring_page.h"
#include "tracefs-compat/record/dat_pages.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::record {

class DatReader final : public RecordReader {
 public:
  explicit DatReader(DatFile file);

  const Metadata& metadata() const override { return file_->metadata; }
  bool next(TypedRecord& record) override;
  const std::vector<std::string>& problems() const override { return problems_; }
  void rewind() override;

 private:
  struct Lane {  // one CPU's records
    Lane(const DatFile& file, const DatCpu& of) : cpu(of.cpu), pages(file, of) {}
    std::uint32_t cpu;
    DatPages pages;
    std::optional<layout::RingPageReader> page;
    layout::RingEvent event;    // the lane's next one
    std::uint64_t time_ns = 0;  // of it
    std::uint64_t lost_before = 0;
    bool at_end = false;
  };

  void step(Lane& lane);
  bool next_page(Lane& lane);
  void sift_down();
  bool fill(const Lane& lane, TypedRecord& record);
  void problem(std::string text);

  std::unique_ptr<DatFile> file_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<Lane*> heap_;  // earliest first
  Lane* given_ = nullptr;    // its event was handed out and is to be stepped over
  std::vector<std::string> problems_;
  std::uint64_t unknown_ = 0;
  std::int32_t last_pid_ = 0;
  const std::string* last_comm_ = nullptr;
};

}  // namespace kevt::record
