// ReadBudget: what reading a recording may cost, by the bytes that its file really has.
//
//   unpacked bytes     4 MiB + 256 for each byte of the file
//   kept metadata     64 MiB + 16 for each byte
//   steps of work    256 Mi  + 4096 for each byte
//   held at one time 512 MiB of trace data
#pragma once

#include <cstdint>
#include <string>

namespace kevt::record {

class ReadBudget {
 public:
  // `data_bytes`: of the file, without its holes.
  explicit ReadBudget(std::uint64_t data_bytes);

  // Each takes so much from what is left; false: so much is not left, and nothing is taken.
  [[nodiscard]] bool unpack(std::uint64_t bytes) { return take(unpack_, bytes); }
  [[nodiscard]] bool keep(std::uint64_t bytes) { return take(keep_, bytes); }
  [[nodiscard]] bool work(std::uint64_t steps) { return take(work_, steps); }
  [[nodiscard]] bool hold(std::uint64_t bytes) { return take(hold_, bytes); }
  void release(std::uint64_t bytes) { hold_ += bytes; }

  // The head is read: reading the records begins, and begins again.
  void end_head();
  void rewind();

  // "the file would unpack to more than 256 times its 9803 bytes", "…".
  std::string unpack_text() const;
  std::string keep_text() const;
  std::string work_text() const;
  static std::string hold_text();

 private:
  static bool take(std::uint64_t& left, std::uint64_t wanted) {
    if (wanted > left) return false;
    left -= wanted;
    return true;
  }

  std::uint64_t data_bytes_;
  std::uint64_t unpack_, keep_, work_, hold_;  // what is left
  std::uint64_t unpack_behind_head_ = 0, work_behind_head_ = 0;
};

}  // namespace kevt::record
