// The problem: a recording comes from anybody: cut, with bits flipped, made to harm.
//
// The idea: the bytes are a file in memory; it is opened as `kevtrace report` opens it, and every record is printed,
// turned into JSON and looked at by a filter, twice, from the beginning. Promises: no crash, the same number of records
// both times, fewer records than the file has bytes, and no time without end.
//
// What a right file means is not checked here (tracefs-compat/record/dat_test.cpp).
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "common/unique_fd.h"
#include "tests/fuzz/fuzz_entry.h"
#include "tracefs-compat/record/json_writer.h"
#include "tracefs-compat/record/record_filter.h"
#include "tracefs-compat/record/record_testing.h"
#include "tracefs-compat/record/trace_line.h"

namespace {

using namespace kevt::record;

void require(bool promise) {
  if (!promise) std::abort();
}

std::size_t look_at_all(RecordReader& reader, const RecordFilters& filters, std::size_t limit) {
  TraceLines lines(reader.metadata());
  TypedRecord record;
  std::string out;
  std::size_t count = 0;
  while (reader.next(record)) {
    require(++count <= limit);
    out.clear();
    lines.append(record, out);
    append_json_record(record, reader.metadata(), out);
    (void)filters.keeps(record);
  }
  require(!reader.next(record));
  return count;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const kevt::UniqueFd file(memfd_create("recording", MFD_CLOEXEC));
  if (!file || write(file.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  auto reader = open_recording("/proc/self/fd/" + std::to_string(file.get()));
  if (!reader) return 0;
  kevt::diag::Sink sink;
  std::size_t mistaken = 0;
  const std::vector<FilterRequest> requests = {{"*", "common_pid == 7 || path ~ \"*x*\" || fd > 3"}};
  auto filters = RecordFilters::compile(requests, (*reader)->metadata().formats, sink, mistaken);
  const RecordFilters none;
  const RecordFilters& used = filters && *filters ? **filters : none;
  constexpr std::size_t kUnpacked = 1 << 12;  // a packed byte may become very many
  const std::size_t limit = (size + 16) * kUnpacked;
  const std::size_t count = look_at_all(**reader, used, limit);
  (*reader)->rewind();
  require(look_at_all(**reader, used, limit) == count);
  return 0;
}

std::vector<std::string> kevt::fuzz::seeds() {
  const TemporaryFolder folder;
  std::vector<std::string> out;
  Metadata metadata;
  fill(metadata);
  for (FileFormat format : {FileFormat::Dat, FileFormat::Dat7, FileFormat::Json}) {
    const std::string path = folder.file("seed");
    auto writer = create_recording(format, path, metadata);
    if (!writer) std::abort();
    for (int i = 0; i < 20; ++i) {
      const Bytes bytes = i % 3 ? opened(7, "/etc/x", i) : closed(8, i);
      require((*writer)->add(typed(metadata, static_cast<std::uint64_t>(i) * 1000, i % 2, bytes)).has_value());
    }
    require((*writer)->finish().has_value());
    out.push_back(read_file(path));
  }
  return out;
}
