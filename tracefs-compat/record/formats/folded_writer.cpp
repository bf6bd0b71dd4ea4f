// What is folded (folded_paths.h) as lines "comm;outer;inner N", as the flame graph of them (flame_graph.h), and as the
// call tree (call_tree.h).
#include "tracefs-compat/record/analysis/folded_paths.h"
#include "tracefs-compat/record/formats/flame_graph.h"
#include "tracefs-compat/record/print/trace_line.h"
#include "tracefs-compat/record/recording_formats.h"

namespace kevt::record {
namespace {

class FoldedWriter final : public RecordWriter {
 public:
  enum class Form : std::uint8_t { Lines, Graph, Tree };
  FoldedWriter(OutputFile file, const Metadata& metadata, Form form = Form::Lines)
      : file_(std::move(file)), metadata_(metadata), paths_(metadata), form_(form) {}
  Result<void> add(const TypedRecord& record) override {
    paths_.add(record);
    return {};
  }
  std::vector<CountWish> count_wishes(CountedBy by) const override {
    return by == CountedBy::Histogram ? FoldedPaths::wishes(metadata_) : std::vector<CountWish>();
  }
  void take_stacks(std::span<const CountedStack> stacks, std::uint64_t dropped) override {
    paths_.add(stacks, dropped);
  }
  std::optional<std::string> take_note() override { return paths_.note(); }
  Result<void> flush() override { return {}; }
  bool is_known_only_at_end() const override { return true; }
  Result<void> finish() override;
  std::uint64_t bytes() const override { return file_.written(); }

 private:
  OutputFile file_;
  const Metadata& metadata_;
  FoldedPaths paths_;
  Form form_;
};

Result<void> FoldedWriter::finish() {
  constexpr double kLeastShown = 0.005;  // of the whole
  const FoldedPaths::Folded folded = paths_.folded();
  switch (form_) {
    case Form::Lines:
      file_.buffer() += folded_lines(folded.weights, file_.controls());
      break;
    case Form::Graph:
      file_.buffer() += flame_graph_svg(CallTree::of(folded.weights, folded.counts));
      break;
    case Form::Tree:
      file_.buffer() += CallTree::of(folded.weights, folded.counts).text(kLeastShown, file_.controls());
      break;
  }
  return file_.flush();
}

}  // namespace

Result<std::unique_ptr<RecordWriter>> create_folded(const std::string& path, const Metadata& metadata) {
  return create_in_file<FoldedWriter>(path, metadata);
}

Result<std::unique_ptr<RecordWriter>> create_tree(const std::string& path, const Metadata& metadata) {
  return create_in_file<FoldedWriter>(path, metadata, FoldedWriter::Form::Tree);
}

Result<std::unique_ptr<RecordWriter>> create_flame(const std::string& path, const Metadata& metadata) {
  return create_in_file<FoldedWriter>(path, metadata, FoldedWriter::Form::Graph);
}

}  // namespace kevt::record
