// What is said when records do not fit into the memory that is set, or do not fit at all.
#pragma once

#include <QObject>
#include <QString>
#include <optional>

#include "gui/model/text_forms.h"
#include "tracefs-compat/record/store/store.h"

namespace kevt::gui {

// `is_full`: the store has refused a record. nullopt: there is nothing to say.
inline std::optional<QString> roomText(const record::StoreBuilder& builder, bool is_full) {
  const QString why = fromUtf8(builder.file_problem());
  if (is_full)
    return QObject::tr("only the first %1 records are shown: more do not fit").arg(builder.rows()) +
           (why.isEmpty() ? QString() : QStringLiteral(" (%1)").arg(why));
  if (why.isEmpty()) return std::nullopt;
  return QObject::tr("the records take more memory than is set: they cannot be written into a file (%1)").arg(why);
}

}  // namespace kevt::gui
