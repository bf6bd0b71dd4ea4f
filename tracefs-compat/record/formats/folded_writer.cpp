// What is folded (folded_paths.h) as lines "comm;outer;inner N", and as the flame graph of them (flame_graph.h).
#include "tracefs-compat/record/analysis/folded_paths.h"
#include "tracefs-compat/record/formats/flame_graph.h"
#include "tracefs-compat/record/print/trace_line.h"
#include "tracefs-compat/record/recording_formats.h"

namespace kevt::record {
namespace {

class FoldedWriter final : public RecordWriter {
 public:
  enum class Form : std::uint8_t { Lines, Graph };
  FoldedWriter(OutputFile file, const Metadata& metadata, Form form = Form::Lines)
      : file_(std::move(file)), metadata_(metadata), paths_(metadata), form_(form) {}
  Result<void> add(const TypedRecord& record) override {
    paths_.add(record);
    return {};
  }
  std::vector<CountWish> count_wishes() const override { return FoldedPaths::wishes(metadata_); }
  void take_stacks(std::span<const CountedStack> stacks) override {
    for (const CountedStack& stack : stacks) paths_.add(stack);
  }
  Result<void> flush() override { return {}; }
  Result<void> finish() override;
  std::uint64_t bytes() const override { return file_.written(); }

 private:
  OutputFile file_;
  const Metadata& metadata_;
  FoldedPaths paths_;
  Form form_;
};

Result<void> FoldedWriter::finish() {
  const FoldedPaths::Folded folded = paths_.folded();
  if (form_ == Form::Graph)
    file_.buffer() += flame_graph_svg(CallTree::of(folded.weights, folded.counts));
  else
    file_.buffer() += folded_lines(folded.weights, file_.controls());
  return file_.flush();
}

}  // namespace

Result<std::unique_ptr<RecordWriter>> create_folded(const std::string& path, const Metadata& metadata) {
  return create_in_file<FoldedWriter>(path, metadata);
}

Result<std::unique_ptr<RecordWriter>> create_flame(const std::string& path, const Metadata& metadata) {
  return create_in_file<FoldedWriter>(path, metadata, FoldedWriter::Form::Graph);
}

}  // namespace kevt::record
