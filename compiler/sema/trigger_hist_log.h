// The error_log entries that one write of a histogram leaves.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"

namespace kevt::sema {

class HistLog {
 public:
  // `command`: "hist:" and the text that was written behind it.
  explicit HistLog(std::string command) : command_(std::move(command)) {}

  // Adds an entry; the caret stands where `token` first occurs in the command, else under the command's first byte.
  void add(diag::Kind kind, std::string_view token);
  // Adds an entry, and sets the errno that write(2) returns.
  std::nullopt_t refuse(diag::Kind kind, std::string_view token);
  std::nullopt_t refuse(diag::Kind kind, std::string_view token, int errno_value);
  // Sets the errno for a mistake that the kernel does not log.
  std::nullopt_t refuse_unlogged(diag::Kind kind, std::string_view token, int errno_value);
  // Adds a filter's mistake, and sets its errno.
  void refuse(diag::Diagnostic mistake);
  // Adds help to the last entry.
  void advise(std::string text) { entries_.back().notes.push_back({std::move(text)}); }
  void answer(int errno_value) { errno_value_ = errno_value; }

  // After a write that was refused: reports the entries, the newest first.
  void report(diag::Sink& sink) const;
  // After a write that was accepted: the entries that are logged all the same, the newest first.
  std::vector<diag::Diagnostic> remarks() const;

 private:
  std::uint32_t column_of(std::string_view token) const;
  diag::Diagnostic diagnostic(diag::Kind kind, std::string_view token) const;

  std::string command_;
  std::vector<diag::Diagnostic> entries_;  // the oldest first
  int errno_value_ = 0;
};

}  // namespace kevt::sema
