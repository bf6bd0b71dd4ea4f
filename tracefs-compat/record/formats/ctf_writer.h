// CtfWriter: a CTF 1.8 trace: a folder with `metadata` and a stream per CPU.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tracefs-compat/record/output_file.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::record {

class CtfWriter final : public RecordWriter {
 public:
  // Makes the folder; its metadata file must not be there, unless it is of a CTF trace before.
  static Result<std::unique_ptr<CtfWriter>> create(const std::string& path, const Metadata& metadata);
  Result<void> add(const TypedRecord& record) override;
  Result<void> flush() override;
  Result<void> finish() override { return flush(); }
  std::uint64_t bytes() const override;

 private:
  struct Stream {
    OutputFile file;
    std::string packet;  // its head stands in front
    std::uint64_t begin_ns = 0, end_ns = 0;
    std::uint64_t lost = 0;  // on this CPU so far
  };
  explicit CtfWriter(UniqueFd folder) : folder_(std::move(folder)) {}
  Result<Stream*> stream_of(std::uint32_t cpu);
  Result<void> end_packet(Stream& stream, std::uint32_t cpu);

  UniqueFd folder_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::string event_;  // of the record that is being added
};

// The TSDL text of `metadata`.
std::string ctf_metadata(const Metadata& metadata);

}  // namespace kevt::record
