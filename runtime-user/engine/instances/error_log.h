// ErrorLog: what the file error_log reads: the last 8 entries, oldest first.
#pragma once

#include <cstdint>
#include <deque>
#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "common/error.h"
#include "compiler/diag/diagnostic.h"

namespace kevt::engine {

class ErrorLog {
 public:
  // Adds one entry, or two for a diagnostic with a prelude. A mistake that the kernel does not log adds nothing.
  void add(const diag::Diagnostic& diagnostic, std::uint64_t now_ns);
  // Adds a refusal that only kevtrace makes ("kevtrace: error: …"), with the definition `command` that it is about.
  void add(std::string_view text, std::string_view command, std::uint64_t now_ns);
  // Adds the first mistake, and returns the error with which the write to the file fails.
  std::unexpected<Error> refuse(std::span<const diag::Diagnostic> mistakes);
  void clear() { entries_.clear(); }
  std::string text() const;
  std::size_t size() const { return entries_.size(); }

 private:
  void push(std::string entry);
  std::deque<std::string> entries_;
};

}  // namespace kevt::engine
