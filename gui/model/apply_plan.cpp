// What Apply would do.
//
//   + added      ~ changed (removed and added again)      - removed      = there already      . somebody else's, left
//   alone
#include "gui/model/apply_plan.h"

#include <QRegularExpression>
#include <QStringList>
#include <algorithm>
#include <map>

namespace kevt::gui {

QString nameOfListing(const QString& line) {
  static const QRegularExpression kHead(QStringLiteral("^\\S*?:(\\S+)"));
  const auto match = kHead.match(line.trimmed());
  if (!match.hasMatch()) return {};
  QString name = match.captured(1);
  name.replace(QLatin1Char('.'), QLatin1Char('/'));
  const bool has_group = name.contains(QLatin1Char('/'));
  return has_group || !line.startsWith(QLatin1String("s:")) ? name : QStringLiteral("synthetic/") + name;
}

namespace {

// Whether these lines are there, and no others: an event may have several probes.
bool are(const QStringList& there, const QString& lines) {
  QStringList wanted = lines.split(QLatin1Char('\n')), present = there;
  wanted.sort();
  present.sort();
  return wanted == present;
}

}  // namespace

std::vector<PlanStep> planApply(const QString& text, const CheckedText& checked, const QString& present,
                                const std::set<QString>& owned, bool writes_out) {
  const QStringList lines = text.split(QLatin1Char('\n'));
  std::map<QString, QStringList> there;
  std::vector<QString> order;
  for (const QString& line : present.split(QLatin1Char('\n'), Qt::SkipEmptyParts)) {
    const QString name = nameOfListing(line);
    if (!there.contains(name)) order.push_back(name);
    there[name].append(line.trimmed());
  }
  std::vector<PlanStep> plan;
  std::set<QString> wanted;
  for (const RightLine& right : checked.right) {
    const QString name = right.group + QLatin1Char('/') + right.event;
    wanted.insert(name);
    PlanStep step{PlanStep::Kind::Add, name, {}, lines.value(right.line).trimmed()};
    if (const qsizetype comment = step.wanted.indexOf(QLatin1String(" #")); comment > 0) step.wanted.truncate(comment);
    const bool is_written_out = writes_out && !right.written_out.isEmpty();
    if (is_written_out) step.wanted = right.written_out;
    if (const auto found = there.find(name); found != there.end()) {
      step.present = found->second.join(QLatin1Char('\n'));
      // The directory may list an event with names that only types resolve, if it was written before the window knew
      // the types.
      const bool is_same =
          are(found->second, right.listing.trimmed()) || (is_written_out && are(found->second, right.written_out));
      step.kind = is_same                ? PlanStep::Kind::Keep
                  : owned.contains(name) ? PlanStep::Kind::Change
                                         : PlanStep::Kind::Conflict;
    }
    plan.push_back(std::move(step));
  }
  for (const QString& name : order) {
    if (wanted.contains(name)) continue;
    plan.push_back({owned.contains(name) ? PlanStep::Kind::Remove : PlanStep::Kind::Foreign,
                    name,
                    there[name].join(QLatin1Char('\n')),
                    {}});
  }
  return plan;
}

bool changesAnything(const std::vector<PlanStep>& plan) {
  return std::ranges::any_of(plan, [](const PlanStep& step) {
    return step.kind == PlanStep::Kind::Add || step.kind == PlanStep::Kind::Change ||
           step.kind == PlanStep::Kind::Remove;
  });
}

bool hasConflict(const std::vector<PlanStep>& plan) {
  return std::ranges::any_of(plan, [](const PlanStep& step) { return step.kind == PlanStep::Kind::Conflict; });
}

QString planText(const std::vector<PlanStep>& plan) {
  QStringList out;
  for (const PlanStep& step : plan) {
    switch (step.kind) {
      case PlanStep::Kind::Add:
        out.append(QStringLiteral("+ ") + step.wanted);
        break;
      case PlanStep::Kind::Change:
        out.append(QStringLiteral("~ ") + step.wanted + QStringLiteral("\n  was ") + step.present);
        break;
      case PlanStep::Kind::Remove:
        out.append(QStringLiteral("- ") + step.present);
        break;
      case PlanStep::Kind::Keep:
        out.append(QStringLiteral("= ") + step.present);
        break;
      case PlanStep::Kind::Foreign:
        out.append(QStringLiteral(". ") + step.present + QStringLiteral("   (not from this editor: left alone)"));
        break;
      case PlanStep::Kind::Conflict:
        out.append(QStringLiteral("! ") + step.wanted + QStringLiteral("\n  another tool has made ") + step.present);
        break;
    }
  }
  return out.join(QLatin1Char('\n'));
}

}  // namespace kevt::gui
