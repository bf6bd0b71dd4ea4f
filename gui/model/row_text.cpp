// Texts of records for people. Details and lines come from the same printer as those of `kevtrace report`.
#include "gui/model/row_text.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>

#include "gui/model/text_forms.h"
#include "tracefs-compat/record/analysis/columns.h"

namespace kevt::gui {

QString absoluteTime(std::uint64_t ns) {
  return QString::fromStdString(fmt::format("{}.{:09}", ns / 1'000'000'000, ns % 1'000'000'000));
}

QString duration(double ns) {
  struct Unit {
    double ns;
    const char* name;
  };
  static constexpr Unit kUnits[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}};
  const double size = std::abs(ns);
  for (const Unit& unit : kUnits) {
    if (size < unit.ns && unit.ns > 1) continue;
    const double value = ns / unit.ns;
    const int digits = unit.ns == 1 ? 0 : std::abs(value) < 10 ? 3 : std::abs(value) < 100 ? 2 : 1;
    return QString::number(value, 'f', digits) + QChar(0x202f) + QString::fromUtf8(unit.name);
  }
  return QStringLiteral("0");
}

QString grouped(std::uint64_t number) {
  QString text = QString::number(number);
  for (qsizetype at = text.size() - 3; at > 0; at -= 3) text.insert(at, QChar(0x202f));
  return text;
}

QString compactNumber(double number) {
  const double size = std::abs(number);
  if (size >= 1e13) return QString::number(number, 'e', 3);
  if (size >= 1e9) return QString::number(number / 1e9, 'f', 2) + QStringLiteral(" G");
  if (size >= 1e6) return QString::number(number / 1e6, 'f', 2) + QStringLiteral(" M");
  if (size >= 1e4) return QString::number(number / 1e3, 'f', 1) + QStringLiteral(" k");
  return number == std::floor(number) || size >= 1000 ? QString::number(number, 'f', 0)
                                                      : QString::number(number, 'f', 2);
}

bool isHex(const record::EventFormat& event, const record::Field& field) {
  const std::string& text = event.print_fmt;
  const auto is_of_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (const char* sign : {"=0x%", ": 0x%"}) {
    const std::string wanted = field.name + sign;
    for (std::size_t at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1))
      if (at == 0 || !is_of_name(text[at - 1])) return true;
  }
  return false;
}

QString taskText(const record::StoreTask& task) {
  const QString comm = QString::fromStdString(task.comm);
  return task.instance ? QString::fromStdString(task.instance_name) + QStringLiteral(": ") + comm : comm;
}

QString fieldText(const record::EventFormat& event, const record::Field& field, const record::TypedRecord& record,
                  const record::Metadata& metadata) {
  const std::span<const std::uint8_t> bytes = record.bytes;
  std::string text;
  if (field.role != record::PlaceRole::None) {
    const auto offset =
        field.role == record::PlaceRole::Function ? record::SymbolOffset::Hidden : record::SymbolOffset::Shown;
    record::append_symbol(metadata.symbols_of(record.thread()), record::value_of(field, bytes).number, offset, text);
  } else if (const record::Value value = record::value_of(field, bytes);
             value.is_integer() && field.kind == record::FieldKind::Number && isHex(event, field)) {
    text = fmt::format("0x{:x}", value.number);
  } else {
    record::append_value(field, bytes, text);
  }
  return fromUtf8(text);
}

std::optional<double> fieldNumber(const record::Field& field, std::span<const std::uint8_t> bytes) {
  const record::Value value = record::value_of(field, bytes);
  if (!value.is_number() || field.kind != record::FieldKind::Number) return std::nullopt;
  return record::as_double(value);
}

// The window does not wait for libtraceevent: a text by the print fmt is better than a window that hangs.
static constexpr std::chrono::milliseconds kTextPatience{500};

RowText::RowText(std::shared_ptr<const record::Metadata> metadata)
    : metadata_(std::move(metadata)), lines_(*metadata_, {.words = record::TraceLines::Words::Plugins}) {
  lines_.set_patience(kTextPatience);
}

void RowText::setMetadata(std::shared_ptr<const record::Metadata> metadata) {
  if (metadata == metadata_) return;
  lines_.set_metadata(*metadata);
  metadata_ = std::move(metadata);
}

QString RowText::details(const record::TypedRecord& record) {
  text_.clear();
  lines_.append_event(record, text_);
  QString text = fromUtf8(text_).trimmed();
  const QString name = QString::fromStdString(record.event->name) + QStringLiteral(": ");
  return text.startsWith(name) ? text.mid(name.size()) : text;
}

QString RowText::line(const record::TypedRecord& record) {
  text_.clear();
  lines_.append(record, text_);
  while (!text_.empty() && text_.back() == '\n') text_.pop_back();
  return fromUtf8(text_);
}

}  // namespace kevt::gui
