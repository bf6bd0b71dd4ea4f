// time_ns,cpu,pid,comm,event,FIELD… (behind comm the container, where processes are in one): numbers plain, texts
// quoted where they need it (csv_text.h), what an event does not have empty.
//
// Recordings of a whole kernel describe hundreds of events: their fields do not belong in one table, so beyond 256
// columns a folder is asked for.
#include "tracefs-compat/record/formats/csv_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/error.h"
#include "tracefs-compat/record/analysis/columns.h"
#include "tracefs-compat/record/formats/csv_text.h"
#include "tracefs-compat/record/recording_formats.h"

namespace kevt::record {
namespace {

constexpr std::size_t kMaxColumns = 256;

void append_cell(std::string_view text, CellKind kind, OutputFile& file) {
  file.buffer() += ',';
  append_csv_cell(text, kind, file.controls(), file.buffer());
}

CellKind kind_of(const Field& field) {
  switch (field.is_hex ? FieldKind::DynamicBytes : field.kind) {
    case FieldKind::Number:
    case FieldKind::Numbers:
    case FieldKind::DynamicNumbers:
      return CellKind::Number;
    case FieldKind::Text:
    case FieldKind::DynamicText:
    case FieldKind::DynamicTexts:
    case FieldKind::DynamicBytes:
      return CellKind::Text;
  }
  return CellKind::Text;
}

std::vector<std::string> all_names(const Metadata& metadata) {
  std::vector<std::string> names;
  for (const EventFormat& event : metadata.formats.all())
    for (const Field& field : event.fields)
      if (names.size() <= kMaxColumns && std::ranges::find(names, field.name) == names.end())
        names.push_back(field.name);
  return names;
}

std::string file_name(const EventFormat& event) {
  std::string name = event.system + "." + event.name + ".csv";
  for (char& c : name)
    if (c == '/' || c == '\0') c = '_';
  return name.starts_with('.') ? "_" + name : name;
}

}  // namespace

Result<std::unique_ptr<CsvWriter>> CsvWriter::create(const std::string& path, const Metadata& metadata) {
  std::unique_ptr<CsvWriter> made(new CsvWriter(metadata));
  if (path.ends_with('/')) {
    made->folder_ = KEVT_TRY(open_output_folder(path));
    return made;
  }
  auto names = all_names(metadata);
  if (names.size() > kMaxColumns)
    return std::unexpected(Error(fmt::format(
        "the events have more than {} fields, too many for one table; name a folder (`csv/`) for a file per "
        "event",
        kMaxColumns)));
  auto file = KEVT_TRY(OutputFile::create(path));
  made->all_ = std::make_unique<Sheet>(Sheet{std::move(file), {}, std::move(names)});
  made->all_->file.append(made->head());
  for (const std::string& name : made->all_->names) append_cell(name, CellKind::Text, made->all_->file);
  made->all_->file.append("\n");
  return made;
}

std::string CsvWriter::head() const {
  return fmt::format("time_ns,cpu,pid,comm{}{},event", has_containers_ ? ",container" : "",
                     is_of_several_ ? ",instance" : "");
}

Result<CsvWriter::Sheet*> CsvWriter::sheet_of(const EventFormat& event) {
  if (all_) return all_.get();
  if (by_id_.size() <= event.id) by_id_.resize(event.id + 1);
  std::unique_ptr<Sheet>& sheet = by_id_[event.id];
  if (sheet) return sheet.get();
  auto file = KEVT_TRY(OutputFile::create_in(folder_, file_name(event)));
  sheet = std::make_unique<Sheet>(Sheet{std::move(file), {}, {}});
  sheet->file.append(head());
  for (const Field& field : event.fields) {
    sheet->columns.push_back(&field);
    append_cell(field.name, CellKind::Text, sheet->file);
  }
  sheet->file.append("\n");
  return sheet.get();
}

void CsvWriter::append_row(Sheet& sheet, const TypedRecord& record) const {
  std::string& out = sheet.file.buffer();
  fmt::format_to(std::back_inserter(out), "{},{},{}", record.time_ns, record.cpu, record.pid);
  append_cell(record.comm, CellKind::Text, sheet.file);
  if (has_containers_) append_cell(metadata_.container_of(record.thread()), CellKind::Text, sheet.file);
  if (is_of_several_) {
    const bool is_of_one = record.instance != 0 && record.instance <= metadata_.instances.size();
    append_cell(is_of_one ? metadata_.instances[record.instance - 1] : "", CellKind::Text, sheet.file);
  }
  append_cell(record.event->name, CellKind::Text, sheet.file);
  std::string cell;
  const auto append = [&](const Field* field) {
    cell.clear();
    if (field) append_value(*field, record.bytes, cell);
    append_cell(cell, field ? kind_of(*field) : CellKind::Text, sheet.file);
  };
  for (const Field* field : sheet.columns) append(field);
  for (const std::string& name : sheet.names) {
    const auto it = std::ranges::find(record.event->fields, name, &Field::name);
    append(it == record.event->fields.end() ? nullptr : &*it);
  }
  out += '\n';
}

Result<void> CsvWriter::add(const TypedRecord& record) {
  auto sheet = KEVT_TRY(sheet_of(*record.event));
  append_row(*sheet, record);
  return sheet->file.flush_if_long();
}

Result<void> CsvWriter::flush() {
  if (all_) return all_->file.flush();
  for (const auto& sheet : by_id_)
    if (sheet) KEVT_TRY(sheet->file.flush());
  return {};
}

std::uint64_t CsvWriter::bytes() const {
  std::uint64_t sum = all_ ? all_->file.written() : 0;
  for (const auto& sheet : by_id_) sum += sheet ? sheet->file.written() : 0;
  return sum;
}

Result<std::unique_ptr<RecordWriter>> create_csv(const std::string& path, const Metadata& metadata) {
  return CsvWriter::create(path, metadata);
}

}  // namespace kevt::record
