// DatWriter: trace.dat, written while records come.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/layout/ring_page.h"
#include "tracefs-compat/record/dat_head.h"
#include "tracefs-compat/record/output_file.h"
#include "tracefs-compat/record/recording.h"
#include "tracefs-compat/record/symbolic_format.h"

namespace kevt::record {

// 7: zstd; it is written as 6 and packed at the end.
enum class DatVersion : std::uint8_t { Six, Seven };

class DatWriter final : public RecordWriter {
 public:
  static Result<std::unique_ptr<DatWriter>> create(const std::string& path, const Metadata& metadata,
                                                   DatVersion version);

  Result<void> add(const TypedRecord& record) override;
  Result<void> flush() override;
  Result<void> finish() override;
  std::uint64_t bytes() const override { return bytes_; }
  bool wants_order() const override { return false; }

 private:
  static constexpr std::size_t kPagesAtOnce = 64;
  struct Lane {                                  // one CPU's pages
    std::vector<std::uint8_t> buffer;            // kPagesAtOnce pages
    std::size_t full = 0;                        // pages in the buffer that are complete
    std::size_t stored = 0;                      // of these, how many the file has already
    std::optional<layout::RingPageWriter> page;  // the one behind them
    std::uint64_t written = 0;                   // bytes in the file before the buffer
    bool is_fresh = false;                       // has more than the file
  };

  DatWriter(OutputFile file, const Metadata& metadata, DatVersion version)
      : file_(std::move(file)), metadata_(metadata), version_(version) {}
  Result<void> join(OutputFile& whole, const FormatText& format);
  Result<void> start();
  Result<void> size_areas();
  std::span<std::uint8_t, layout::kRingPageBytes> page_bytes(Lane& lane, std::size_t index);
  Result<void> store(std::uint32_t cpu);
  Result<void> end_page(std::uint32_t cpu);
  Result<void> write_texts();
  Result<void> write_table();
  std::uint64_t area(std::uint32_t cpu) const { return head_bytes_ + cpu * area_bytes_; }

  OutputFile file_;
  const Metadata& metadata_;
  DatVersion version_;
  SymbolicFormats names_;
  DatHeadBytes head_;
  DatRoom room_;
  std::uint64_t head_bytes_ = 0, area_bytes_ = 0;
  std::vector<Lane> lanes_;
  std::uint64_t bytes_ = 0;
  std::size_t known_comms_ = 0, known_symbols_ = 0;
};

}  // namespace kevt::record
