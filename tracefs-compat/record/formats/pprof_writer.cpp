// A profile as pprof, Pyroscope, speedscope and many services read it: profile.proto (github.com/google/pprof), plain.
//
//   python3;main;open 3    sample  locations open, main   value 3   label thread "python3"
//
// What is folded says what a value counts (folded_paths.h). Each name is a function and a location of its own;
// addresses and lines are not told. The messages' fields are numbered as in profile.proto.
#include <map>
#include <vector>

#include "tracefs-compat/record/analysis/folded_paths.h"
#include "tracefs-compat/record/formats/protobuf.h"
#include "tracefs-compat/record/recording_formats.h"

namespace kevt::record {
namespace {

// Texts of a profile, by number; 0 is "".
class StringTable {
 public:
  std::uint64_t operator[](std::string_view text) {
    const auto [it, is_new] = numbers_.try_emplace(std::string(text), numbers_.size());
    if (is_new) texts_.push_back(it->first);
    return it->second;
  }
  void write(Protobuf& profile) const {
    for (const std::string& text : texts_) profile.text(6, text);
  }

 private:
  std::map<std::string, std::uint64_t, std::less<>> numbers_ = {{"", 0}};
  std::vector<std::string> texts_ = {""};
};

class Profile {
 public:
  // `unit` is what pprof knows: "count", "nanoseconds".
  void set_type(std::string_view type, std::string_view unit) {
    Protobuf value_type;
    value_type.number(1, strings_[type]);
    value_type.number(2, strings_[unit]);
    profile_.message(1, value_type);
  }

  void add(std::string_view path, std::uint64_t weight) {
    const std::size_t end = std::min(path.find(';'), path.size());
    const std::string_view thread = path.substr(0, end);
    std::vector<std::uint64_t> locations;                            // outermost first
    if (end == path.size()) locations.push_back(location_of(path));  // what did not fit into the paths
    for (path.remove_prefix(std::min(end + 1, path.size())); !path.empty();) {
      const std::string_view name = path.substr(0, path.find(';'));
      locations.push_back(location_of(name));
      path.remove_prefix(std::min(name.size() + 1, path.size()));
    }
    Protobuf sample, label;
    for (auto it = locations.rbegin(); it != locations.rend(); ++it) sample.number(1, *it);
    sample.number(2, weight);
    label.number(1, strings_["thread"]);
    label.number(2, strings_[thread]);
    sample.message(3, label);
    profile_.message(2, sample);
  }

  std::string bytes() {
    strings_.write(profile_);
    return profile_.bytes();
  }

 private:
  std::uint64_t location_of(std::string_view name) {
    const auto [it, is_new] = locations_.try_emplace(std::string(name), locations_.size() + 1);
    if (!is_new) return it->second;
    Protobuf line, location, function;
    line.number(1, it->second);
    location.number(1, it->second);
    location.message(4, line);
    profile_.message(4, location);
    function.number(1, it->second);
    function.number(2, strings_[name]);
    function.number(3, strings_[name]);
    profile_.message(5, function);
    return it->second;
  }

  Protobuf profile_;
  StringTable strings_;
  std::map<std::string, std::uint64_t, std::less<>> locations_;  // a function and a location have one number
};

class PprofWriter final : public RecordWriter {
 public:
  PprofWriter(OutputFile file, const Metadata& metadata)
      : file_(std::move(file)), metadata_(metadata), paths_(metadata) {}
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
  Result<void> finish() override {
    const FoldedPaths::Folded folded = paths_.folded();
    Profile profile;
    const bool is_time = folded.counts == "ns";
    profile.set_type(is_time ? "time" : folded.counts, is_time ? "nanoseconds" : "count");
    for (const auto& [path, weight] : folded.weights) profile.add(path, weight);
    file_.buffer() += profile.bytes();
    return file_.flush();
  }
  std::uint64_t bytes() const override { return file_.written(); }

 private:
  OutputFile file_;
  const Metadata& metadata_;
  FoldedPaths paths_;
};

}  // namespace

Result<std::unique_ptr<RecordWriter>> create_pprof(const std::string& path, const Metadata& metadata) {
  return create_in_file<PprofWriter>(path, metadata);
}

}  // namespace kevt::record
