// Triggers between text and parts.
//
//   hist:keys=common_pid:vals=count:sort=hitcount:size=512 if count > 4     traceoff:1 if fd < 0
#include "gui/model/trigger_text.h"

#include <QObject>
#include <QRegularExpression>
#include <QStringList>

#include "compiler/script/check_triggers.h"
#include "compiler/sema/advice.h"
#include "compiler/target/fixed_target.h"
#include "tracefs-compat/record/record_filter.h"

namespace kevt::gui {

QString triggerText(const TriggerParts& parts) {
  QStringList words = {parts.kind};
  if (parts.kind == QLatin1String("hist")) {
    words.append(QStringLiteral("keys=") + parts.keys);
    if (!parts.values.isEmpty()) words.append(QStringLiteral("vals=") + parts.values);
    if (!parts.sort.isEmpty()) words.append(QStringLiteral("sort=") + parts.sort);
    if (!parts.count.isEmpty()) words.append(QStringLiteral("size=") + parts.count);
  } else {
    if (!parts.target.isEmpty()) words.append(parts.target);
    if (!parts.count.isEmpty()) words.append(parts.count);
  }
  QString out = words.join(QLatin1Char(':'));
  if (!parts.filter.isEmpty()) out += QStringLiteral(" if ") + parts.filter;
  return out;
}

std::optional<TriggerParts> triggerParts(const QString& text) {
  static const QRegularExpression kIf(QStringLiteral("\\s+if\\s+"));
  const QString trimmed = text.trimmed();
  const auto condition = kIf.match(trimmed);
  TriggerParts parts;
  if (condition.hasMatch()) parts.filter = trimmed.mid(condition.capturedEnd()).trimmed();
  const QString head = condition.hasMatch() ? trimmed.left(condition.capturedStart()) : trimmed;
  QStringList words = head.split(QLatin1Char(':'));
  parts.kind = words.takeFirst();
  if (parts.kind == QLatin1String("hist")) {
    for (const QString& word : words) {
      const QString name = word.section(QLatin1Char('='), 0, 0), value = word.section(QLatin1Char('='), 1);
      if (name == QLatin1String("keys") || name == QLatin1String("key"))
        parts.keys = value;
      else if (name == QLatin1String("vals") || name == QLatin1String("values") || name == QLatin1String("val"))
        parts.values = value;
      else if (name == QLatin1String("sort"))
        parts.sort = value;
      else if (name == QLatin1String("size"))
        parts.count = value;
      else
        return std::nullopt;
    }
    return parts.keys.isEmpty() ? std::nullopt : std::optional(parts);
  }
  static const QStringList kSimple = {QStringLiteral("traceon"), QStringLiteral("traceoff"), QStringLiteral("snapshot"),
                                      QStringLiteral("stacktrace")};
  if (parts.kind == QLatin1String("enable_event") || parts.kind == QLatin1String("disable_event")) {
    if (words.size() < 2) return std::nullopt;
    parts.target = words.takeFirst() + QLatin1Char(':');
    parts.target += words.takeFirst();
  } else if (!kSimple.contains(parts.kind)) {
    return std::nullopt;
  }
  if (words.size() > 1) return std::nullopt;
  parts.count = words.value(0);
  return parts;
}

std::optional<FilterMistake> judgeTrigger(const QString& text, const record::EventFormat& format) {
  target::FixedCatalog catalog;
  catalog.add({.group = format.system,
               .event = format.name,
               .owner = target::EventOwner::Kprobe,
               .siblings = {},
               .layout = record::layout_of(format)});
  const script::TriggerText trigger{{format.system, format.name}, text.toStdString()};
  auto result = script::check_triggers(std::span(&trigger, 1), catalog, sema::CatalogScope::Partial);
  if (result.mistakes.empty()) return std::nullopt;
  diag::Diagnostic& first = result.mistakes.front().diagnostic;
  sema::advise(first);
  FilterMistake mistake;
  mistake.text = QString::fromStdString(std::string(diag::kernel_text(first.kind)));
  if (!first.detail.empty()) mistake.text += QStringLiteral(": ") + QString::fromStdString(first.detail);
  for (const diag::Note& note : first.notes) mistake.help += QString::fromStdString(note.text) + QLatin1Char('\n');
  if (first.column) mistake.column = static_cast<int>(*first.column);
  return mistake;
}

}  // namespace kevt::gui
