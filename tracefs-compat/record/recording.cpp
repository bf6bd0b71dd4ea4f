// Which format a name, a file name or the first bytes of a file mean, and who reads and writes it.
#include "tracefs-compat/record/recording.h"

#include <algorithm>
#include <array>
#include <ranges>

#include "tracefs-compat/record/beside.h"
#include "tracefs-compat/record/dat/dat_reader.h"
#include "tracefs-compat/record/formats/json_reader.h"
#include "tracefs-compat/record/recording_formats.h"

namespace kevt::record {
namespace {

struct Row {
  FileFormat format;
  std::string_view name;
  std::string_view endings;  // with blanks between them
  Result<std::unique_ptr<RecordWriter>> (*create)(const std::string& path, const Metadata& metadata);
};
constexpr Row kFormats[] = {
#define KEVT_RECORDING_FORMAT(name, text, endings, factory) {FileFormat::name, text, endings, factory},
#include "tracefs-compat/record/recording_formats.def"
#undef KEVT_RECORDING_FORMAT
};

const Row& row_of(FileFormat format) { return *std::ranges::find(kFormats, format, &Row::format); }

std::string_view first_ending(const Row& row) { return row.endings.substr(0, row.endings.find(' ')); }

}  // namespace

std::optional<FileFormat> format_by_name(std::string_view name) {
  const auto* const it = std::ranges::find(kFormats, name, &Row::name);
  return it == std::end(kFormats) ? std::nullopt : std::optional(it->format);
}

std::string_view name_of(FileFormat format) { return row_of(format).name; }

// The longest: `.chrome.json` is no `.json`.
std::optional<FileFormat> format_by_file(std::string_view path) {
  std::optional<FileFormat> found;
  std::size_t longest = 0;
  for (const Row& row : kFormats)
    for (const auto part : std::views::split(row.endings, ' '))
      if (const std::string_view ending(part); path.ends_with(ending) && ending.size() > longest)
        found = row.format, longest = ending.size();
  return found;
}

std::string format_names() {
  std::string all;
  for (const Row& row : kFormats) all += (all.empty() ? "" : ", ") + std::string(row.name);
  return all;
}

std::string format_endings() {
  std::string all;
  for (const Row& row : kFormats) all += (all.empty() ? "" : " ") + std::string(first_ending(row));
  return all;
}

Result<std::unique_ptr<RecordReader>> open_recording(const std::string& path) {
  if (const auto several = beside_names(path)) return open_beside(*several);
  auto file = KEVT_TRY(InputFile::open(path));
  std::array<std::uint8_t, 16> head = {};
  const std::size_t got = file.read_at(0, head);
  const std::string_view first(reinterpret_cast<const char*>(head.data()), got);
  if (is_dat(first)) {
    auto dat = KEVT_TRY(read_dat_file(path));
    return std::make_unique<DatReader>(std::move(dat));
  }
  if (is_json_recording(first)) return open_json_recording(path);
  return std::unexpected(Error(path + " is no recording that can be read: neither trace.dat nor NDJSON of kevtrace"));
}

Result<std::unique_ptr<RecordWriter>> create_recording(FileFormat format, const std::string& path,
                                                       const Metadata& metadata) {
  return row_of(format).create(path, metadata);
}

}  // namespace kevt::record
