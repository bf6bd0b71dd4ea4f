// trace.dat version 7 with zstd, packed from the pages of a version 6 file.
#pragma once

#include <vector>

#include "tracefs-compat/record/dat/dat_head.h"
#include "tracefs-compat/record/output_file.h"

namespace kevt::record {

// `from`: where each CPU's pages lie in `pages`. Returns the bytes written.
Result<std::uint64_t> write_dat7(OutputFile& out, const OutputFile& pages, const std::vector<CpuExtent>& from,
                                 const Metadata& metadata, const FormatText& format);

}  // namespace kevt::record
