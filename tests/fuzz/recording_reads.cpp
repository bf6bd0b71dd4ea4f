// The file is in memory; its path is that of a descriptor.
#include "tests/fuzz/recording_reads.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "common/unique_fd.h"
#include "tracefs-compat/record/formats/json_writer.h"
#include "tracefs-compat/record/print/trace_line.h"
#include "tracefs-compat/record/record_filter.h"

namespace kevt::fuzz {
namespace {

using namespace kevt::record;

// libtraceevent is asked for some: each recording starts a process.
TraceLines::Style style_for(std::size_t bytes) {
  if (bytes % 32) return {};
  using Words = TraceLines::Words;
  return {.words = bytes % 96 ? Words::Plugins : Words::PrintFormat, .is_completed_later = bytes % 64 == 0};
}

std::size_t look_at_all(RecordReader& reader, const RecordFilters& filters, std::size_t limit,
                        const TraceLines::Style& style) {
  TraceLines lines(reader.metadata(), style);
  TypedRecord record;
  std::string out;
  std::size_t count = 0;
  while (reader.next(record)) {
    require(++count <= limit);
    if (count % 16 == 1) out.clear();
    lines.append(record, out);
    if (count % 16 == 0) lines.complete(out);
    append_json_record(record, reader.metadata(), out);
    (void)filters.keeps(record);
  }
  lines.complete(out);
  require(!reader.next(record));
  return count;
}

void look_at_problems(const RecordReader& reader) {
  constexpr std::size_t kLongest = 500;
  require(reader.problems().size() <= kMaxProblems + 1);
  for (const std::string& problem : reader.problems()) require(problem.size() <= kLongest);
}

}  // namespace

void require(bool promise) {
  if (!promise) std::abort();
}

std::size_t read_recording(std::string_view bytes) {
  const UniqueFd file(memfd_create("recording", MFD_CLOEXEC));
  if (!file || write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) return 0;
  auto reader = open_recording("/proc/self/fd/" + std::to_string(file.get()));
  if (!reader) return 0;
  diag::Sink sink;
  std::size_t mistaken = 0;
  const std::vector<FilterRequest> requests = {{"*", "common_pid == 7 || path ~ \"*x*\" || fd > 3"}};
  auto filters = RecordFilters::compile(requests, (*reader)->metadata().formats, sink, mistaken);
  const RecordFilters none;
  const RecordFilters& used = filters && *filters ? **filters : none;
  constexpr std::size_t kUnpacked = 256, kAnyway = 4 << 20, kSmallest = 8;  // of a record in a page
  const std::size_t limit = (kAnyway + kUnpacked * bytes.size()) / kSmallest;
  const std::size_t count = look_at_all(**reader, used, limit, style_for(bytes.size()));
  look_at_problems(**reader);
  (*reader)->rewind();
  require(look_at_all(**reader, used, limit, style_for(bytes.size())) == count);
  look_at_problems(**reader);
  return count;
}

}  // namespace kevt::fuzz
