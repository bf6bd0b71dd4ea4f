// ChromeWriter: the JSON of chrome://tracing and many viewers, as an array of events.
#pragma once

#include <string>
#include <unordered_map>

#include "tracefs-compat/record/analysis/call_pairs.h"
#include "tracefs-compat/record/output_file.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::record {

class ChromeWriter final : public RecordWriter {
 public:
  ChromeWriter(OutputFile file, const Metadata& metadata);
  Result<void> add(const TypedRecord& record) override;
  Result<void> flush() override { return file_.flush(); }
  Result<void> finish() override;
  std::uint64_t bytes() const override { return file_.written(); }

 private:
  std::int32_t process(std::int32_t pid) const;  // of a thread; the thread itself where that is not known
  void begin(std::string_view name, char phase, std::uint64_t time_ns, std::int32_t pid);

  OutputFile file_;
  const Metadata& metadata_;
  CallPairs calls_;
  std::unordered_map<std::int32_t, std::string> threads_;  // named already
  bool is_first_ = true;
};

}  // namespace kevt::record
