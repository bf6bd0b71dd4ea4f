// Objects back to records: a record's bytes are made from its fields by the event's own format, so whatever reads a
// trace.dat reads this. A line that is no such object is left out and told; lines longer than a mebibyte are none, but
// for histograms as JsonWriter writes them, of which no object is made.
#include "tracefs-compat/record/formats/json_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "common/error.h"
#include "common/hexadecimal.h"
#include "compiler/model/floating.h"
#include "tracefs-compat/record/histogram_object.h"
#include "tracefs-compat/record/input_file.h"
#include "tracefs-compat/record/metadata_text.h"
#include "tracefs-compat/record/read_budget.h"
#include "tracefs-compat/record/record_builder.h"

namespace kevt::record {
namespace {

constexpr std::size_t kMostOfName = 256;  // bytes of an instance's name

using Json = nlohmann::json;

// How JsonWriter begins the lines of histograms, and of their texts.
constexpr std::string_view kHistogramLine = R"({"v":1,"type":"histogram","histogram":)";
constexpr std::string_view kTextLine = R"({"v":1,"type":"histogram_text","text":)";
constexpr std::size_t kMaxLine = 1 << 20, kMaxHistogramLine = kMostHistogramBytes + kHistogramLine.size() + 1;
constexpr std::size_t kJsonWindow = 256 << 10;
constexpr std::size_t kMaxJsonFormats = 65536;
constexpr std::uint64_t kJsonFormatBytes = 512, kJsonFormatRatio = 6;  // what a format takes in memory

class FileLines final : public LineSource {
 public:
  explicit FileLines(InputFile file) : file_(std::move(file)) {}

  // What is longer than a line may be is cut.
  bool next(std::string_view& line) override {
    for (;;) {
      const auto end = window_.find('\n', at_ + searched_);
      searched_ = 0;
      if (end != std::string::npos) {
        line = std::string_view(window_).substr(at_, end - at_);
        line_at_ = begin_ + at_;
        at_ = end + 1;
        return true;
      }
      searched_ = window_.size() - at_;
      if (!more()) break;
    }
    searched_ = 0;
    line = std::string_view(window_).substr(at_);
    line_at_ = begin_ + at_;
    at_ = window_.size();
    return !line.empty();
  }
  std::uint64_t line_at() const override { return line_at_; }
  void rewind() override {
    window_.clear();
    at_ = searched_ = 0;
    read_ = begin_ = 0;
  }

 private:
  bool more() {
    window_.erase(0, at_);
    begin_ += std::exchange(at_, 0);
    const bool is_histogram = window_.starts_with(kHistogramLine) || window_.starts_with(kTextLine);
    if (window_.size() > (is_histogram ? kMaxHistogramLine : kMaxLine)) {  // no line of ours
      window_.clear();
      searched_ = 0;
    }
    if (const std::uint64_t data = file_.next_data(read_);
        data > read_) {  // a hole: no text, and maybe terabytes of it
      if (!window_.empty()) {
        window_ += '\n';
        return true;
      }
      read_ = data;
    }
    const std::size_t before = window_.size();
    begin_ = read_ - before;
    window_.resize(before + kJsonWindow);
    const std::size_t got =
        file_.read_at(read_, {reinterpret_cast<std::uint8_t*>(window_.data()) + before, kJsonWindow});
    window_.resize(before + got);
    read_ += got;
    return got > 0;
  }

  InputFile file_;
  std::string window_;
  std::size_t at_ = 0, searched_ = 0;                 // so many bytes from `at_` on have no end of a line
  std::uint64_t read_ = 0, begin_ = 0, line_at_ = 0;  // in the file: what was read, the window, the line
};

template <class Number>
Number number_or(const Json& object, const char* name, Number otherwise) {
  const auto it = object.find(name);
  if (it == object.end() || !it->is_number_integer()) return otherwise;
  if (it->is_number_unsigned()) return static_cast<Number>(it->get<std::uint64_t>());
  return static_cast<Number>(it->get<std::int64_t>());
}

// Of another's file, for a line of its own: to the first control character.
std::string until_control(std::string text) {
  constexpr std::size_t kMost = 64;
  const auto end = std::ranges::find_if(text, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  text.erase(end, text.end());
  return text.substr(0, kMost);
}

std::string text_or(const Json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

std::uint64_t number_of(const Json& value, const Field& field) {
  if (field.is_float) {
    const double read = value.is_string()   ? model::parse_float(value.get<std::string>()).value_or(0)
                        : value.is_number() ? value.get<double>()
                                            : 0;
    return model::bits_of_float(read, field.item_bytes);
  }
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  return value.is_number_integer() ? static_cast<std::uint64_t>(value.get<std::int64_t>()) : 0;
}

std::string text_of(const Json& value, const Json* exact) {
  if (exact && exact->is_string()) return from_hexadecimal(exact->get<std::string>());
  return value.is_string() ? value.get<std::string>() : "";
}

// `exact`: the text as hex, where it is no UTF-8.
void store(const Field& field, const Json& value, const Json* exact, RecordBuilder& out) {
  const auto items =
      static_cast<std::uint32_t>(value.is_array() ? std::min<std::size_t>(value.size(), field.items()) : 0);
  if (field.is_hex)
    return out.store_text(field, value.is_string() ? from_hexadecimal(value.get<std::string>()) : std::string());
  switch (field.kind) {
    case FieldKind::Number:
      return out.store_number(field, number_of(value, field));
    case FieldKind::Numbers:
      for (std::uint32_t i = 0; i < items; ++i) out.store_number(field, number_of(value[i], field), i);
      return;
    case FieldKind::DynamicNumbers: {
      std::string bytes;
      for (const Json& item : value) {
        const std::uint64_t number = number_of(item, field);
        bytes.append(reinterpret_cast<const char*>(&number), field.item_bytes);
      }
      return out.store_dynamic(field, bytes);
    }
    case FieldKind::Text:
      return out.store_text(field, text_of(value, exact));
    case FieldKind::DynamicText:
      return out.store_dynamic(field, value.is_null() ? std::string() : text_of(value, exact) + '\0');
    case FieldKind::DynamicTexts:
      for (std::uint32_t i = 0; i < items; ++i)
        out.store_dynamic(field, value[i].is_string() ? value[i].get<std::string>() + '\0' : std::string(), i);
      return;
    case FieldKind::DynamicBytes:
      return out.store_dynamic(field, value.is_string() ? from_hexadecimal(value.get<std::string>()) : std::string());
  }
}

class JsonReader final : public RecordReader {
 public:
  // `data_bytes`: what there is to read at most. Where histograms are taken, header and formats come among the records.
  JsonReader(std::unique_ptr<LineSource> lines, std::uint64_t data_bytes, TakeHistogram take_histogram = nullptr)
      : budget_(data_bytes), lines_(std::move(lines)), take_histogram_(std::move(take_histogram)) {}

  Result<void> open() {
    Json object;
    if (!next_object(object) || text_or(object, "type") != "header")
      return std::unexpected(Error("the first line is no header of kevtrace's NDJSON"));
    if (number_or<int>(object, "v", 0) != 1)
      return std::unexpected(Error("NDJSON of another version than 1, which is read here"));
    read_header(object);
    while (next_object(object)) {
      if (text_or(object, "type") != "format") break;
      read_format(object);
    }
    budget_.end_head();
    rewind();
    return {};
  }

  const Metadata& metadata() const override { return metadata_; }
  bool adds_metadata() const override { return true; }
  const std::vector<std::string>& problems() const override { return problems_.texts(); }
  void rewind() override {
    lines_->rewind();
    problems_ = {};
    budget_.rewind();
    is_stopped_ = false;
    has_end_ = false;
    metadata_.histograms.clear();
  }

  bool next(TypedRecord& record) override {
    Json object;
    while (!is_stopped_ && next_object(object)) {
      const std::string type = text_or(object, "type");
      if (take_histogram_ && type == "header") read_header(object);
      if (take_histogram_ && type == "format") read_format(object);
      if (type == "end") read_end(object);
      if (type == "histogram" || type == "histogram_text") read_histogram(object);
      if (type != "event") continue;
      if (take(object, record)) {
        if (budget_.work(record.event->steps + record.bytes.size())) return true;
        problem(fmt::format("byte {}: what follows is left out: {}", lines_->line_at(), budget_.work_text()));
        is_stopped_ = true;
        break;
      }
      problem(fmt::format("byte {}: a record of an event that the file does not describe", lines_->line_at()));
    }
    return false;
  }

 private:
  void problem(std::string_view text) { problems_.add(text); }

  bool next_object(Json& object) {
    std::string_view line;
    while (lines_->next(line)) {
      if (line.empty() || take_histogram(line)) continue;
      if (line.size() <= kMaxLine) object = Json::parse(line_ = line, nullptr, false);
      if (line.size() <= kMaxLine && object.is_object()) return true;
      problem(fmt::format("byte {}: a line is no JSON object", lines_->line_at()));
    }
    return false;
  }

  void read_format(const Json& object) {
    const std::string text = text_or(object, "format");
    if (metadata_.formats.all().size() >= kMaxJsonFormats ||
        !budget_.keep(kJsonFormatBytes + kJsonFormatRatio * text.size()))
      return problem(budget_.keep_text());
    auto format = parse_format(text_or(object, "system"), text);
    if (!format) return problem(format.error().message());
    const EventFormat& event = metadata_.formats.add(std::move(*format));
    by_name_[event.system + ":" + event.name] = &event;
  }

  void note_instance(const std::string& name) {
    auto& names = metadata_.instances;
    if (name.empty() || names.size() >= kMostInstances) return;
    if (instances_.emplace(name, static_cast<std::uint32_t>(names.size()) + 1).second) names.push_back(name);
  }

  void read_header(const Json& object) {
    metadata_.clock = text_or(object, "clock");
    metadata_.host = text_or(object, "host");
    metadata_.maker = text_or(object, "maker");
    for (auto [name, id] :
         {std::pair("recording", &metadata_.identity.id), std::pair("rest_of", &metadata_.identity.rest_of)})
      if (std::string text = text_or(object, name); is_identity(text)) *id = std::move(text);
    metadata_.cpus = std::clamp(number_or<std::uint32_t>(object, "cpus", 1), 1u, 8192u);
    if (object.contains("wall_offset_ns"))
      metadata_.wall_offset_ns = number_or<std::int64_t>(object, "wall_offset_ns", 0);
    if (const auto it = object.find("instances"); it != object.end() && it->is_array())
      for (const Json& one : *it)
        if (one.is_string()) note_instance(one.get<std::string>().substr(0, kMostOfName));
    for (auto [name, list] :
         {std::pair("definitions", &metadata_.definitions), std::pair("filters", &metadata_.filters)})
      if (const auto it = object.find(name); it != object.end() && it->is_array())
        for (const Json& one : *it)
          if (one.is_string()) list->push_back(one.get<std::string>());
  }

  // As JsonWriter has written it: megabytes, which no object is made of.
  bool take_histogram(std::string_view line) {
    if (!line.ends_with('}')) return false;
    std::string_view value = line.substr(0, line.size() - 1);
    if (value.starts_with(kHistogramLine)) {
      value.remove_prefix(kHistogramLine.size());
      if (!is_histogram_object(value)) return false;
      keep_histogram(value);
      return true;
    }
    if (!value.starts_with(kTextLine)) return false;
    value.remove_prefix(kTextLine.size());
    if (take_histogram_) return true;
    const Json text = value.starts_with('"') ? Json::parse(value, nullptr, false) : Json();
    if (!text.is_string()) return false;
    keep_histogram_text(text.get_ref<const std::string&>());
    return true;
  }

  // Of a tool that has other blanks, or the members in another order.
  void read_histogram(const Json& object) {
    const auto table = object.find("histogram");
    if (table == object.end()) return keep_histogram_text(text_or(object, "text"));
    if (!is_histogram_object(line_))  // before dump() goes down into it
      return problem(fmt::format("byte {}: a histogram is left out: it has too many levels", lines_->line_at()));
    if (table->is_object()) keep_histogram(table->dump(-1, ' ', false, Json::error_handler_t::replace));
  }

  void keep_histogram(std::string_view object) {
    if (take_histogram_) return take_histogram_(std::string(object));
    if (HistogramReading* reading = reading_for(object)) reading->objects.emplace_back(object);
  }

  // Ends its reading.
  void keep_histogram_text(std::string_view text) {
    if (text.empty() || take_histogram_) return;
    if (HistogramReading* reading = reading_for(text)) reading->text = text;
  }

  // nullptr: there is no room for `text`.
  HistogramReading* reading_for(std::string_view text) {
    auto& all = metadata_.histograms;
    if (!budget_.keep(text.size())) {
      problem(fmt::format("byte {}: a histogram is left out: {}", lines_->line_at(), budget_.keep_text()));
      return nullptr;
    }
    if (all.empty() || !all.back().text.empty()) all.emplace_back();
    return &all.back();
  }

  void read_end(const Json& object) {
    const auto totals = object.find("totals");
    if (has_end_ || totals == object.end() || !totals->is_object()) return;
    has_end_ = true;
    metadata_.totals.clear();
    for (const auto& [event, one] : totals->items()) {
      if (!one.is_object()) continue;
      EventTotals made{.event = event};
      made.attempts = number_or<std::uint64_t>(one, "hits", 0);
      made.recorded = number_or<std::uint64_t>(one, "recorded", 0);
      made.filtered = number_or<std::uint64_t>(one, "filtered", 0);
      made.lost = number_or<std::uint64_t>(one, "lost", 0);
      made.missed = number_or<std::uint64_t>(one, "missed", 0);
      made.faults = number_or<std::uint64_t>(one, "faults", 0);
      made.overwritten = number_or<std::uint64_t>(one, "overwritten", 0);
      made.aggregated = number_or<std::uint64_t>(one, "aggregated", 0);
      made.sees_misses = !(one.contains("missed") && one["missed"].is_null());
      metadata_.totals.push_back(std::move(made));
    }
  }

  // "open+0x4/0x128 [libc.so.6]" at that address, or "libc.so.6+0x2724a", which is no function's.
  void note_symbol(const std::string& text, std::uint64_t address, std::int32_t process) {
    if (text.empty() || text.starts_with("0x") || seen_.size() > 200'000 || !seen_.emplace(process, address).second)
      return;
    const auto plus = text.find("+0x"), slash = text.find("/0x");
    if (plus == std::string::npos) return;
    if (text.find_first_not_of("0123456789abcdef", plus + 3) == std::string::npos)
      return add_symbol(place_symbol(address, text), process);
    if (slash == std::string::npos || slash < plus) return;
    Symbol symbol{.name = text.substr(0, plus)};
    std::uint64_t offset = 0;
    std::from_chars(text.data() + plus + 3, text.data() + slash, offset, 16);
    const auto [end, error] = std::from_chars(text.data() + slash + 3, text.data() + text.size(), symbol.size, 16);
    symbol.address = address - offset;
    if (error == std::errc() && text.ends_with(']') && text.data() + text.size() - end > 3)
      symbol.module = std::string(end + 2, text.data() + text.size() - 1);
    add_symbol(std::move(symbol), process);
  }

  void add_symbol(Symbol symbol, std::int32_t process) {
    if (process) metadata_.processes[process].symbols.add(symbol);
    metadata_.symbols.add(std::move(symbol));
  }

  void note_stack(const Json& object, const Json& fields, std::int32_t process) {
    const auto stack = object.find("stack"), caller = fields.find("caller");
    if (stack == object.end() || caller == fields.end() || !stack->is_array() || !caller->is_array()) return;
    for (std::size_t i = 0; i < std::min(stack->size(), caller->size()); ++i)
      if ((*stack)[i].is_string() && (*caller)[i].is_number_unsigned())
        note_symbol((*stack)[i].get<std::string>(), (*caller)[i].get<std::uint64_t>(), process);
  }

  // Of the record's thread; 0: not told.
  std::int32_t note_process(const Json& object, std::int32_t pid) {
    const auto process = number_or<std::int32_t>(object, "process", 0);
    const bool is_told = process != 0 && metadata_.process_of.size() < 1 << 20 && metadata_.processes.size() < 1 << 16;
    if (is_told) metadata_.process_of.insert_or_assign(pid, process);
    if (is_told && pid == process) metadata_.processes[process].name = until_control(text_or(object, "comm"));
    if (is_told && object.contains("container"))
      metadata_.processes[process].container = until_control(text_or(object, "container"));
    return is_told ? process : 0;
  }

  bool take(const Json& object, TypedRecord& record) {
    const auto event = by_name_.find(text_or(object, "event"));
    const auto fields = object.find("fields");
    if (event == by_name_.end() || fields == object.end() || !fields->is_object()) return false;
    record.event = event->second;
    record.time_ns = number_or<std::uint64_t>(object, "ts", 0);
    record.cpu = std::min(number_or<std::uint32_t>(object, "cpu", 0), metadata_.cpus - 1);
    record.pid = number_or<std::int32_t>(object, "pid", 0);
    const auto instance = instances_.empty() ? instances_.end() : instances_.find(text_or(object, "instance"));
    record.instance = instance == instances_.end() ? 0 : instance->second;
    const std::int64_t lost = number_or<std::int64_t>(object, "lost", 0);
    record.lost_before = static_cast<std::uint64_t>(lost);
    comm_ = text_or(object, "comm").substr(0, 64);
    record.comm = comm_;
    if (metadata_.comms.size() < 1 << 20) metadata_.comms.insert_or_assign(record.pid, comm_);
    const std::int32_t process = note_process(object, record.pid);
    RecordBuilder bytes(*record.event, bytes_);
    bytes.store_common(number_or<std::uint8_t>(object, "flags", 0), number_or<std::uint8_t>(object, "preempt", 0),
                       record.pid);
    const auto exact = object.find("bytes");
    for (const Field& field : record.event->fields) {
      const auto value = fields->find(field.name);
      if (value == fields->end()) continue;
      const bool has_exact = exact != object.end() && exact->is_object() && exact->contains(field.name);
      store(field, *value, has_exact ? &(*exact)[field.name] : nullptr, bytes);
      if (field.role != PlaceRole::None)
        note_symbol(text_or(object, field.role == PlaceRole::Function ? "func" : "ip"),
                    number_or<std::uint64_t>(*fields, field.name.c_str(), 0), process);
      if (value->is_array() && &field == &record.event->fields.back()) bytes.end_at(field, value->size());
    }
    note_stack(object, *fields, process);
    record.bytes = bytes_;
    return true;
  }

  ReadBudget budget_;
  std::unique_ptr<LineSource> lines_;
  std::string_view line_;         // that the last object was made of
  TakeHistogram take_histogram_;  // nullptr: the metadata keeps them
  Metadata metadata_;
  std::unordered_map<std::string, std::uint32_t> instances_;  // as TypedRecord::instance, by name
  std::unordered_map<std::string, const EventFormat*> by_name_;
  std::set<std::pair<std::int32_t, std::uint64_t>> seen_;  // process and address whose symbol is known
  Problems problems_;
  std::string comm_;
  std::vector<std::uint8_t> bytes_;
  bool has_end_ = false;
  bool is_stopped_ = false;  // the budget is used up
};

}  // namespace

bool is_json_recording(std::string_view first_bytes) { return first_bytes.starts_with("{\"v\":"); }

Result<std::unique_ptr<RecordReader>> open_json_recording(const std::string& path) {
  auto file = KEVT_TRY(InputFile::open(path));
  const std::uint64_t bytes = file.data_bytes();
  auto reader = std::make_unique<JsonReader>(std::make_unique<FileLines>(std::move(file)), bytes);
  if (auto opened = reader->open(); !opened)
    return std::unexpected(std::move(opened.error()).while_doing("reading " + path));
  return reader;
}

std::unique_ptr<RecordReader> follow_json(std::unique_ptr<LineSource> lines, TakeHistogram take_histogram) {
  constexpr std::uint64_t kNoEnd = std::uint64_t{1} << 40;
  return std::make_unique<JsonReader>(std::move(lines), kNoEnd, std::move(take_histogram));
}

}  // namespace kevt::record
