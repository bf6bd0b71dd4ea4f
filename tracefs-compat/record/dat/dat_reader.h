// DatReader: the records of a trace.dat in the order of time.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/layout/ring_page.h"
#include "tracefs-compat/record/dat/dat_pages.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::record {

class DatReader final : public RecordReader {
 public:
  explicit DatReader(DatFile file);

  const Metadata& metadata() const override { return file_->metadata; }
  bool next(TypedRecord& record) override;
  const std::vector<std::string>& problems() const override { return problems_.texts(); }
  void rewind() override;
  std::optional<PagePlace> page() const override;
  bool begin_at(std::span<const PagePlace> places) override;

 private:
  struct Lane {  // one CPU's records
    Lane(DatFile& file, const DatCpu& from, const DatCpu& of)
        : cpu(of.cpu), instance(of.instance), data(of.offset), is_packed(of.is_compressed), pages(file, from) {}
    std::uint32_t cpu, instance;
    std::uint64_t data;  // byte at which they begin
    bool is_packed;
    DatPages pages;
    std::optional<layout::RingPageReader> page;
    layout::RingEvent event;    // the lane's next one
    std::uint64_t time_ns = 0;  // of it
    std::int64_t order = 0;     // of lanes at one time the smallest comes first
    std::uint64_t lost_before = 0;
    bool at_end = false;
  };

  void step(Lane& lane);
  bool next_page(Lane& lane);
  static bool is_earlier(const Lane& a, const Lane& b);
  void sift_down(std::size_t at);
  bool fill(const Lane& lane, TypedRecord& record);
  bool is_affordable(std::uint64_t steps);

  std::unique_ptr<DatFile> file_;
  std::vector<std::uint64_t> left_out_;  // bytes of each CPU's data, from their begin
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<Lane*> heap_;  // the earliest is the first, and each no later than those at 2i + 1 and 2i + 2
  std::int64_t last_order_ = 0;
  Lane* given_ = nullptr;  // its event was handed out and is to be stepped over
  Problems problems_;
  std::uint64_t unknown_ = 0;
  bool is_stopped_ = false;  // the budget is used up
  std::int32_t last_pid_ = 0;
  const std::string* last_comm_ = nullptr;
};

}  // namespace kevt::record
