// PerfettoWriter: Perfetto's trace protobuf.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracefs-compat/record/analysis/call_pairs.h"
#include "tracefs-compat/record/formats/protobuf.h"
#include "tracefs-compat/record/output_file.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::record {

class PerfettoWriter final : public RecordWriter {
 public:
  PerfettoWriter(OutputFile file, const Metadata& metadata);
  Result<void> add(const TypedRecord& record) override;
  Result<void> flush() override;
  Result<void> finish() override;
  std::uint64_t bytes() const override { return file_.written(); }

 private:
  struct Bundle {
    Protobuf events;
    std::size_t count = 0;
  };
  void packet(const Protobuf& content);
  void end_bundle(std::uint32_t cpu);
  void describe_process(std::int32_t pid);
  void describe_thread(const TypedRecord& record);
  void add_slice(const TypedRecord& record, const Call& call);
  void add_counters(const TypedRecord& record);

  OutputFile file_;
  const Metadata& metadata_;
  CallPairs calls_;
  std::vector<Bundle> bundles_;                                                // by CPU
  std::unordered_map<std::int32_t, std::string> threads_;                      // described, with their names
  std::unordered_map<const Field*, std::uint64_t> counters_;                   // described; their tracks
  std::set<std::int32_t> processes_;                                           // described
  std::map<std::pair<const Symbols*, std::uint64_t>, std::string> functions_;  // names of addresses
};

}  // namespace kevt::record
