// Several recordings read as one, beside one another: `before.dat,after.dat`. Each is an instance that is called as its
// file.
//
//   before.dat,after.dat                 their first records at the same time
//   before.dat,after.dat@serve_begin     their first records of that event
//   before.dat,after.dat@clock           at the times that they have: of one machine, since it was started
//   before.dat,after.dat@+1.5            that many seconds later than their first records; also -1.5
//
// Times are those of the first recording; the others are shifted. Histograms, which would be sums, are left out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::record {

inline constexpr std::size_t kMostBeside = 16;

struct BesideNames {
  std::vector<std::string> files;
  std::string alignment;  // what stands behind the `@`; or empty
};

// nullopt: the path is a file, or names one.
std::optional<BesideNames> beside_names(const std::string& path);

Result<std::unique_ptr<RecordReader>> open_beside(const BesideNames& names);

// How much later, in nanoseconds, the records of each file stand there than in the file itself.
Result<std::vector<std::int64_t>> beside_shifts(const BesideNames& names);

// Of a file among them: the name of its instance.
std::vector<std::string> instance_names(const std::vector<std::string>& files);

}  // namespace kevt::record
