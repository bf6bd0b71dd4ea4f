// Which format a name, a file name or the first bytes of a file mean, and who reads and writes it.
#include "tracefs-compat/record/recording.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "tracefs-compat/record/formats/chrome_writer.h"
#include "tracefs-compat/record/formats/csv_writer.h"
#include "tracefs-compat/record/formats/ctf_writer.h"
#include "tracefs-compat/record/dat/dat_reader.h"
#include "tracefs-compat/record/dat/dat_writer.h"
#include "tracefs-compat/record/formats/folded_writer.h"
#include "tracefs-compat/record/formats/json_reader.h"
#include "tracefs-compat/record/formats/json_writer.h"
#include "tracefs-compat/record/formats/perfetto_writer.h"
#include "tracefs-compat/record/formats/text_writer.h"

namespace kevt::record {
namespace {

struct Named {
  FileFormat format;
  std::string_view name;
  std::string_view ending;
};
constexpr std::array kFormats = {
    Named{FileFormat::Dat, "dat", ".dat"},
    Named{FileFormat::Dat7, "dat7", ".dat7"},
    Named{FileFormat::Text, "text", ".txt"},
    Named{FileFormat::Ftrace, "ftrace", ".trace"},
    Named{FileFormat::Json, "json", ".json"},
    Named{FileFormat::Csv, "csv", ".csv"},
    Named{FileFormat::Perfetto, "perfetto", ".pftrace"},
    Named{FileFormat::Chrome, "chrome", ".chrome.json"},
    Named{FileFormat::Ctf, "ctf", ".ctf"},
    Named{FileFormat::Folded, "folded", ".folded"},
};

}  // namespace

std::optional<FileFormat> format_by_name(std::string_view name) {
  const auto it = std::ranges::find(kFormats, name, &Named::name);
  return it == kFormats.end() ? std::nullopt : std::optional(it->format);
}

std::string_view name_of(FileFormat format) { return std::ranges::find(kFormats, format, &Named::format)->name; }

std::optional<FileFormat> format_by_file(std::string_view path) {
  if (path.ends_with(".ndjson") || path.ends_with(".jsonl")) return FileFormat::Json;
  if (path.ends_with(".perfetto") || path.ends_with(".perfetto-trace")) return FileFormat::Perfetto;
  std::optional<FileFormat> found;
  std::size_t longest = 0;
  for (const Named& one : kFormats)
    if (path.ends_with(one.ending) && one.ending.size() > longest) found = one.format, longest = one.ending.size();
  return found;
}

std::string format_names() {
  std::string all;
  for (const Named& one : kFormats) all += (all.empty() ? "" : ", ") + std::string(one.name);
  return all;
}

std::string format_endings() {
  std::string all;
  for (const Named& one : kFormats) all += (all.empty() ? "" : " ") + std::string(one.ending);
  return all;
}

Result<std::unique_ptr<RecordReader>> open_recording(const std::string& path) {
  auto file = InputFile::open(path);
  if (!file) return std::unexpected(std::move(file.error()));
  std::array<std::uint8_t, 16> head = {};
  const std::size_t got = file->read_at(0, head);
  const std::string_view first(reinterpret_cast<const char*>(head.data()), got);
  if (is_dat(first)) {
    auto dat = read_dat_file(path);
    if (!dat) return std::unexpected(std::move(dat.error()));
    return std::make_unique<DatReader>(std::move(*dat));
  }
  if (is_json_recording(first)) return open_json_recording(path);
  return std::unexpected(Error(path + " is no recording that can be read: neither trace.dat nor NDJSON of kevtrace"));
}

Result<std::unique_ptr<RecordWriter>> create_recording(FileFormat format, const std::string& path,
                                                       const Metadata& metadata) {
  if (format == FileFormat::Dat) return DatWriter::create(path, metadata, {});
  if (format == FileFormat::Dat7) return DatWriter::create(path, metadata, {.version = DatVersion::Seven});
  if (format == FileFormat::Csv) return CsvWriter::create(path, metadata);
  if (format == FileFormat::Ctf) return CtfWriter::create(path, metadata);
  auto file = OutputFile::create(path);
  if (!file) return std::unexpected(std::move(file.error()));
  if (format == FileFormat::Perfetto && isatty(file->fd()))
    return std::unexpected(
        Error(file->path() + " is a terminal, and perfetto's format is binary; name a file with -o"));
  switch (format) {
    case FileFormat::Json:
      return std::make_unique<JsonWriter>(std::move(*file), metadata);
    case FileFormat::Perfetto:
      return std::make_unique<PerfettoWriter>(std::move(*file), metadata);
    case FileFormat::Chrome:
      return std::make_unique<ChromeWriter>(std::move(*file), metadata);
    case FileFormat::Folded:
      return std::make_unique<FoldedWriter>(std::move(*file), metadata);
    case FileFormat::Ftrace:
      return std::make_unique<TextWriter>(std::move(*file), metadata, TraceHeader::Shown);
    case FileFormat::Text:
    case FileFormat::Dat:
    case FileFormat::Dat7:
    case FileFormat::Csv:
    case FileFormat::Ctf:
      break;
  }
  return std::make_unique<TextWriter>(std::move(*file), metadata, TraceHeader::None);
}

}  // namespace kevt::record
