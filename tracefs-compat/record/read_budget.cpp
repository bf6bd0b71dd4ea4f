// The problem: a recording comes from anybody, and a few packed bytes may become terabytes, a word of a format millions
// of numbers in a line. Each step by itself is right; together they have no end.
//
// The idea: everything that is not paid for by bytes of the file takes from one budget, which grows with those bytes. A
// reader whose budget is used up ends where it is and says so; what it has read stays.
//
// Why these numbers. A page of 4096 bytes has a time stamp, a fill and at least one record of its own: 16 bytes is the
// least that any packer leaves of it, which is 256 to 1. (A loop of one probe without arguments, the same record again
// and again, packs to 1/11.) The shortest line of names, 6 bytes, becomes an object of 100 to 160. What is added to
// each lets small files be as odd as they like.
#include "tracefs-compat/record/read_budget.h"

#include <fmt/format.h>

#include <limits>

namespace kevt::record {
namespace {

constexpr std::uint64_t kUnpackRatio = 256, kUnpackFloor = 4 << 20;
constexpr std::uint64_t kKeepRatio = 16, kKeepFloor = 64 << 20;
constexpr std::uint64_t kWorkRatio = 4096, kWorkFloor = 256 << 20;
constexpr std::uint64_t kMostHeld = 512 << 20;

std::uint64_t sum(std::uint64_t floor, std::uint64_t ratio, std::uint64_t bytes) {
  constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
  return bytes > (kAll - floor) / ratio ? kAll : floor + ratio * bytes;
}

}  // namespace

ReadBudget::ReadBudget(std::uint64_t data_bytes)
    : data_bytes_(data_bytes),
      unpack_(sum(kUnpackFloor, kUnpackRatio, data_bytes)),
      keep_(sum(kKeepFloor, kKeepRatio, data_bytes)),
      work_(sum(kWorkFloor, kWorkRatio, data_bytes)),
      hold_(kMostHeld),
      unpack_behind_head_(unpack_),
      work_behind_head_(work_) {}

void ReadBudget::end_head() {
  unpack_behind_head_ = unpack_;
  work_behind_head_ = work_;
}

void ReadBudget::rewind() {
  unpack_ = unpack_behind_head_;
  work_ = work_behind_head_;
}

std::string ReadBudget::unpack_text() const {
  return fmt::format("the file would unpack to more than {} times its {} bytes", kUnpackRatio, data_bytes_);
}

std::string ReadBudget::keep_text() const {
  return fmt::format("names and formats are more than a file of {} bytes may have", data_bytes_);
}

std::string ReadBudget::work_text() const {
  return fmt::format("the records are more work than a file of {} bytes may cause", data_bytes_);
}

std::string ReadBudget::hold_text() {
  return fmt::format("more than {} MiB of all CPUs would have to be in memory at once", kMostHeld >> 20);
}

}  // namespace kevt::record
