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
  // `command`: "hist:" and what was written behind it.
  explicit HistLog(std::string command) : command_(std::move(command)) {}

  // An entry; the caret stands where `token` first occurs in the command, else under its first byte.
  void add(diag::Kind kind, std::string_view token);
  // An entry, and what write(2) answers.
  std::nullopt_t refuse(diag::Kind kind, std::string_view token);
  std::nullopt_t refuse(diag::Kind kind, std::string_view token, int errno_value);
  // Only an errno: the kernel logs nothing.
  std::nullopt_t refuse_unlogged(diag::Kind kind, std::string_view token, int errno_value);
  // The filter's mistake: its errno counts.
  void refuse(diag::Diagnostic mistake);
  // Help for the last entry.
  void advise(std::string text) { entries_.back().notes.push_back({std::move(text)}); }
  void answer(int errno_value) { errno_value_ = errno_value; }

  // For a write that was refused: the newest first.
  void report(diag::Sink& sink) const;
  // For one that was taken: what is logged all the same, the newest first.
  std::vector<diag::Diagnostic> remarks() const;

 private:
  std::uint32_t column_of(std::string_view token) const;
  diag::Diagnostic diagnostic(diag::Kind kind, std::string_view token) const;

  std::string command_;
  std::vector<diag::Diagnostic> entries_;  // the oldest first
  int errno_value_ = 0;
};

}  // namespace kevt::sema
