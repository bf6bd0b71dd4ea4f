// ErrorLog: what the file error_log reads: the last 8 mistakes, oldest first.
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
  // One entry, or with a prelude two; nothing for a mistake that the kernel does not log.
  void add(const diag::Diagnostic& diagnostic, std::uint64_t now_ns);
  // What only we refuse ("kevtrace: error: …"), under the definition it is about. `text` is one line.
  void add(std::string_view text, std::string_view command, std::uint64_t now_ns);
  // Notes the first mistake, and returns what the write to the file answers for it.
  std::unexpected<Error> refuse(std::span<const diag::Diagnostic> mistakes);
  void clear() { entries_.clear(); }
  std::string text() const;
  std::size_t size() const { return entries_.size(); }

 private:
  void push(std::string entry);
  std::deque<std::string> entries_;
};

}  // namespace kevt::engine
