// Where the carets of a histogram's mistakes stand.
//
// The problem: 6.1 takes the text apart and forgets where its pieces stood. For a caret it searches the whole
// command for the piece:
//
//   hist:keys=id:d=val-$t0:onmax(d).save(val)      x must be a variable: `d`, first found in `id`, column 11
//
// The idea: do the same. One mistake may leave several entries, each naming what failed because of the one
// before; the last one is what error_log ends with. Mirrors hist_err() and err_pos() of trace_events_hist.c
// and trace.c, 6.1. Not here: what the filter's mistakes say.
#include "compiler/sema/trigger_hist_log.h"

#include <cerrno>

namespace kevt::sema {

namespace {

// Changes `.symXoffset`, as modifiers are read, back to `.sym-offset`, as the user wrote it.
std::string as_written(std::string text) {
  constexpr std::string_view kRead = "symXoffset";
  const std::size_t at = text.find(kRead);
  if (at != std::string::npos) text.replace(at, kRead.size(), "sym-offset");
  return text;
}

}  // namespace

std::uint32_t HistLog::column_of(std::string_view token) const {
  const std::size_t found = command_.find(token);
  return found == std::string::npos ? 0 : static_cast<std::uint32_t>(found);
}

diag::Diagnostic HistLog::diagnostic(diag::Kind kind, std::string_view token) const {
  return {.kind = kind,
          .location = diag::Location::Hist,
          .command = command_,
          .column = column_of(token),
          .errno_value = 0,
          .prelude = {},
          .detail = token.empty() ? std::string() : "`" + as_written(std::string(token)) + "`",
          .notes = {},
          .fixits = {}};
}

void HistLog::add(diag::Kind kind, std::string_view token) { entries_.push_back(diagnostic(kind, token)); }

std::nullopt_t HistLog::refuse(diag::Kind kind, std::string_view token) { return refuse(kind, token, EINVAL); }

std::nullopt_t HistLog::refuse(diag::Kind kind, std::string_view token, int errno_value) {
  add(kind, token);
  errno_value_ = errno_value;
  return std::nullopt;
}

std::nullopt_t HistLog::refuse_unlogged(diag::Kind kind, std::string_view token, int errno_value) {
  refuse(kind, token, errno_value);
  entries_.back().logged = false;
  return std::nullopt;
}

void HistLog::refuse(diag::Diagnostic mistake) {
  errno_value_ = mistake.errno_value;
  entries_.push_back(std::move(mistake));
}

void HistLog::report(diag::Sink& sink) const {
  std::uint32_t order = 0;
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    diag::Diagnostic diagnostic = *entry;
    diagnostic.errno_value = errno_value_;
    diagnostic.order = order++;
    sink.report(std::move(diagnostic));
  }
}

std::vector<diag::Diagnostic> HistLog::remarks() const {
  std::vector<diag::Diagnostic> logged;
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (entry->logged) logged.push_back(*entry);
  }
  return logged;
}

}  // namespace kevt::sema
