// Entries are kept as the text they read as. Mirrors tracing_log_err() of kernel/trace/trace.c (6.1), which keeps 8.
#include "runtime-user/engine/instances/error_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "common/clock.h"

namespace kevt::engine {

namespace {
constexpr std::size_t kEntries = 8;
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
}  // namespace

void ErrorLog::push(std::string entry) {
  entries_.push_back(std::move(entry));
  if (entries_.size() > kEntries) entries_.pop_front();
}

void ErrorLog::add(const diag::Diagnostic& diagnostic, std::uint64_t now_ns) {
  if (!diagnostic.logged) return;
  const auto render = [&](const diag::Diagnostic& one) {
    return diag::render_kernel(one, now_ns / kNsPerSecond, static_cast<std::uint32_t>(now_ns % kNsPerSecond / 1000));
  };
  diag::Diagnostic newest = diagnostic;
  newest.prelude.reset();
  if (diagnostic.prelude) {
    diag::Diagnostic first = newest;
    first.kind = diagnostic.prelude->kind;
    first.column = diagnostic.prelude->column;
    push(render(first));
  }
  push(render(newest));
}

void ErrorLog::add(std::string_view text, std::string_view command, std::uint64_t now_ns) {
  std::string line(text);
  std::ranges::replace(line, '\n', ' ');
  push(fmt::format("[{:>5}.{:06}] kevtrace: error: {}\n  Command: {}\n           ^\n", now_ns / kNsPerSecond,
                   now_ns % kNsPerSecond / 1000, line, command));
}

std::unexpected<Error> ErrorLog::refuse(std::span<const diag::Diagnostic> mistakes) {
  if (mistakes.empty()) return std::unexpected(Error::of_errno(EINVAL));
  const diag::Diagnostic& first = mistakes.front();
  if (first.kind == diag::Kind::UnsupportedForm) {  // correct, so no kernel has a message
    add(std::string(diag::kernel_text(first.kind)) + ": " + first.detail, first.command, now_ns());
    return std::unexpected(Error::of_errno(EOPNOTSUPP));
  }
  add(first, now_ns());
  return std::unexpected(Error::of_errno(first.errno_value));
}

std::string ErrorLog::text() const {
  std::string all;
  for (const std::string& entry : entries_) all += entry;
  return all;
}

}  // namespace kevt::engine
