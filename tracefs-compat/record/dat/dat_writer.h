// DatWriter: trace.dat, written while records come.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/layout/ring_page.h"
#include "tracefs-compat/record/dat/dat_head.h"
#include "tracefs-compat/record/output_file.h"
#include "tracefs-compat/record/print/symbolic_format.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::record {

// 7: zstd; it is written as 6 and packed at the end.
enum class DatVersion : std::uint8_t { Six, Seven };

struct DatOptions {
  DatVersion version = DatVersion::Six;
  // Bytes of each CPU's newest records that are kept, 256 KiB at least; 0: all of them.
  std::uint64_t window = 0;
};

class DatWriter final : public RecordWriter {
 public:
  static Result<std::unique_ptr<DatWriter>> create(const std::string& path, const Metadata& metadata,
                                                   const DatOptions& options);
  static Result<std::unique_ptr<DatWriter>> create(OutputFile file, const Metadata& metadata,
                                                   const DatOptions& options);

  Result<void> add(const TypedRecord& record) override;
  Result<void> flush() override;
  Result<void> finish() override;
  Result<bool> finish_as_it_is() override;
  std::uint64_t bytes() const override { return bytes_; }
  bool wants_order() const override { return false; }
  std::uint64_t overwritten(std::uint16_t id) const override;

 private:
  static constexpr std::size_t kPagesAtOnce = 64;
  struct Lane {                                  // one CPU's pages
    std::vector<std::uint8_t> buffer;            // kPagesAtOnce pages
    std::size_t full = 0;                        // pages in the buffer that are complete
    std::size_t stored = 0;                      // of these, how many the file has already
    std::optional<layout::RingPageWriter> page;  // the one behind them
    std::uint64_t written = 0;                   // bytes in the area before the buffer
    std::uint64_t first = 0;                     // of these, how many were given up
    std::uint64_t punched = 0;                   // of these, how many the file system has back
    // With a window: what the kept pages hold, by event; the last one is being filled.
    std::deque<std::vector<std::pair<std::uint16_t, std::uint32_t>>> counts;
    bool is_fresh = false;  // has more than the file
  };

  DatWriter(OutputFile file, const Metadata& metadata, const DatOptions& options);
  Result<void> join(OutputFile& whole, const FormatText& format);
  Result<void> start();
  Result<void> size_areas();
  Result<void> reserve_head();
  std::span<std::uint8_t, layout::kRingPageBytes> page_bytes(Lane& lane, std::size_t index);
  Result<void> store(std::uint32_t cpu);
  Result<void> end_page(std::uint32_t cpu);
  Result<void> begin_page(std::uint32_t cpu, std::uint64_t time_ns);
  void give_up_oldest(Lane& lane);
  static void note_kept(Lane& lane, std::uint16_t id);
  void punch(std::uint32_t cpu);
  Result<void> move_to_start(std::uint32_t cpu);
  CpuExtent extent(std::uint32_t cpu) const;
  Result<void> write_texts();
  std::string noted_text() const;
  Result<void> write_table(std::uint32_t cpu);
  std::uint64_t area(std::uint32_t cpu) const { return head_bytes_ + cpu * area_bytes_; }

  OutputFile file_;
  const Metadata& metadata_;
  DatVersion version_;
  std::uint64_t window_pages_;                                    // 0: all are kept
  std::unordered_map<std::uint16_t, std::uint64_t> overwritten_;  // by event
  SymbolicFormats names_;
  DatHeadBytes head_;
  DatRoom room_;
  std::uint64_t head_bytes_ = 0, area_bytes_ = 0;
  std::vector<Lane> lanes_;
  std::uint64_t bytes_ = 0;
  std::size_t known_comms_ = 0, known_symbols_ = 0;
  bool has_writer_lock_ = false;
};

}  // namespace kevt::record
