// DatFile: the head of a trace.dat, version 6 or 7: metadata, and where each CPU's pages lie.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tracefs-compat/record/input_file.h"
#include "tracefs-compat/record/read_budget.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::record {

struct DatCpu {
  std::uint32_t cpu = 0;
  std::uint64_t offset = 0;  // in the file
  std::uint64_t size = 0;    // bytes there
  bool is_compressed = false;
  std::uint32_t page_bytes = 4096;
  std::uint32_t instance = 0;  // as TypedRecord::instance
};

struct DatFile {
  InputFile file;
  ReadBudget budget;
  Metadata metadata;
  int version = 6;
  std::uint32_t page_bytes = 4096;  // as the head says; buffers of version 7 say their own
  std::int64_t time_offset_ns = 0;  // to be added to every time stamp
  std::vector<DatCpu> cpus;         // of all instances, those of the top one first
  Problems problems;
};

bool is_dat(std::string_view first_bytes);
// What stands behind the first thing that makes no sense is left out and named in `problems`; an error when there is
// nothing to show.
Result<DatFile> read_dat_file(const std::string& path);

}  // namespace kevt::record
