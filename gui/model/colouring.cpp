// The colour number of a record; the theme maps numbers to colours and patterns.
#include <QHash>
#include <optional>

#include "gui/model/lanes.h"

namespace kevt::gui {
namespace {

// For a small number the number itself, so that neighbours differ; for a text its hash.
std::optional<std::uint32_t> value_number(const record::StoreView& view, record::Row row, const std::string& name) {
  if (row == record::kNoRow || row >= view.rows()) return std::nullopt;
  const record::Field* field = view.format(row).find(name);
  if (!field) return std::nullopt;
  const record::Value value = record::value_of(*field, view.bytes(row));
  if (value.is_number()) return static_cast<std::uint32_t>(value.number ^ value.number >> 32);
  return static_cast<std::uint32_t>(
      qHash(QByteArrayView(value.text.data(), static_cast<qsizetype>(value.text.size()))));
}

// Finds the call's result: the first signed number in the record of its return.
std::uint32_t outcome(const record::StoreView& view, record::Row end) {
  if (end == record::kNoRow || end >= view.rows()) return kNoOutcome;
  for (const record::Field& field : view.format(end).fields) {
    if (field.kind != record::FieldKind::Number || field.role != record::PlaceRole::None || !field.is_signed ||
        field.is_float)
      continue;
    return static_cast<std::int64_t>(record::value_of(field, view.bytes(end)).number) < 0 ? kFailed : kSucceeded;
  }
  return kNoOutcome;
}

}  // namespace

std::uint32_t colourNumber(const record::StoreView& view, const Colouring& colouring, record::Row row,
                           record::Row end) {
  switch (colouring.by) {
    case ColourBy::Event:
      return view.event(row);
    case ColourBy::Task:
      return view.task(row);
    case ColourBy::Cpu:
      return view.cpu(row);
    case ColourBy::Field: {
      const std::string name = colouring.field.toStdString();
      if (const auto number = value_number(view, row, name)) return *number;
      return value_number(view, end, name).value_or(kNoOutcome);
    }
    case ColourBy::Outcome:
      return outcome(view, end);
  }
  return 0;
}

}  // namespace kevt::gui
