// A few functions that tests probe, and events for them written as fetch IR text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/differential/arm_site.h"
#include "tests/differential/native_batch.h"

namespace kevt::test {

class ProbedText {
 public:
  static Result<std::unique_ptr<ProbedText>> create(const inproc::SessionOptions& options);

  LocalSession& session() { return *session_; }
  // Events in the order of `programs` (ir::parse); ids 1, 2, ….
  Result<std::vector<NativeEvent>> install(const std::vector<std::string>& programs);

  // x → 2 x
  RemoteAddr twice() const { return text_->address(0); }
  // n → 1 + … + n, by n calls of itself
  RemoteAddr sum() const { return text_->address(256); }
  // x → twice(x + 1), by a jump
  RemoteAddr tail() const { return text_->address(512); }
  // calls its argument
  RemoteAddr caller() const { return text_->address(768); }

  static std::uint64_t call(RemoteAddr function, std::uint64_t argument, std::uint64_t second = 0) {
    return reinterpret_cast<std::uint64_t (*)(std::uint64_t, std::uint64_t)>(function.value)(argument, second);
  }

 private:
  ProbedText(std::unique_ptr<LocalSession> session, std::unique_ptr<TestText> text);

  std::unique_ptr<TestText> text_;
  std::unique_ptr<LocalSession> session_;
};

// hits == recorded + filtered + lost + missed.
bool adds_up(const kevt_counts& counts);

// Number of `bytes` little-endian bytes of a record.
std::uint64_t number_at(const std::vector<std::uint8_t>& record, std::size_t offset, std::size_t bytes);

}  // namespace kevt::test
