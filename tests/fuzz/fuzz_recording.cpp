// The problem: a recording comes from anybody: cut, with bits flipped, made to harm.
//
// The idea: the bytes are the file. Promises: recording_reads.h. What is packed and what lies where:
// fuzz_recording_shape.cpp. What a right file means is not checked here (tracefs-compat/record/dat/dat_test.cpp).
#include "tests/fuzz/fuzz_entry.h"
#include "tests/fuzz/recording_reads.h"
#include "tracefs-compat/record/record_testing.h"

using namespace kevt::record;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  kevt::fuzz::read_recording({reinterpret_cast<const char*>(data), size});
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
      kevt::fuzz::require(
          (*writer)->add(typed(metadata, static_cast<std::uint64_t>(i) * 1000, i % 2, bytes)).has_value());
    }
    kevt::fuzz::require((*writer)->finish().has_value());
    out.push_back(read_file(path));
  }
  return out;
}
