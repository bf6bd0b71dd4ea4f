// FoldedWriter: "comm;outer;inner N" lines, as flame graphs take them, or the flame graph itself (flame_graph.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "tracefs-compat/record/analysis/call_pairs.h"
#include "tracefs-compat/record/analysis/key_room.h"
#include "tracefs-compat/record/output_file.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::record {

class FoldedWriter final : public RecordWriter {
 public:
  enum class Form : std::uint8_t { Lines, Graph };
  FoldedWriter(OutputFile file, const Metadata& metadata, Form form = Form::Lines)
      : file_(std::move(file)), metadata_(metadata), form_(form) {}
  Result<void> add(const TypedRecord& record) override;
  Result<void> flush() override { return {}; }
  Result<void> finish() override;
  std::uint64_t bytes() const override { return file_.written(); }

 private:
  using Weights = std::unordered_map<std::string, std::uint64_t>;
  void add_stack(const TypedRecord& record);
  void weigh(Weights& weights, std::string key, std::uint64_t weight);
  void append_line(const std::string& path, std::uint64_t weight);
  const std::string& name_of(std::int32_t pid, std::uint64_t address);

  OutputFile file_;
  const Metadata& metadata_;
  Form form_;
  CallPairs calls_;
  KeyRoom room_;
  Weights stacks_, paths_, events_;
  std::map<std::pair<const Symbols*, std::uint64_t>, std::string> names_;
};

}  // namespace kevt::record
