// Two recordings compared: the form, and the page that it asks for.
#include <QDesktopServices>
#include <QDir>
#include <QFileInfo>
#include <QPointer>
#include <QUrl>
#include <algorithm>
#include <utility>
#include <vector>

#include "gui/app/compare_dialog.h"
#include "gui/app/main_window.h"
#include "gui/model/comparison_page.h"
#include "gui/model/job.h"
#include "gui/model/row_text.h"
#include "gui/model/text_forms.h"
#include "gui/model/trace_document.h"
#include "gui/view/timeline_view.h"
#include "tracefs-compat/fleet/address.h"
#include "tracefs-compat/record/beside.h"

namespace kevt::gui {

namespace {

QString rangeText(std::uint64_t from_ns, std::uint64_t to_ns) {
  return absoluteTime(from_ns) + QLatin1Char(',') + absoluteTime(to_ns);
}

// Moments behind the first record as moments of the trace.
record::MomentRange absolute(record::MomentRange range, std::uint64_t first_ns) {
  for (std::optional<record::Moment>* moment : {&range.from, &range.to})
    if (*moment && (*moment)->is_relative)
      *moment = record::Moment{first_ns + std::min((*moment)->ns, ~std::uint64_t{0} - first_ns), false};
  return range;
}

// Between markers that follow one another in time, and from the first one to the last.
std::vector<std::pair<QString, QString>> rangesBetween(std::vector<Marker> markers) {
  std::vector<std::pair<QString, QString>> ranges;
  std::ranges::stable_sort(markers, {}, &Marker::ns);
  const auto add = [&](const Marker& from, const Marker& to) {
    ranges.emplace_back(QObject::tr("%1 to %2").arg(from.name, to.name), rangeText(from.ns, to.ns));
  };
  for (std::size_t i = 1; i < markers.size(); ++i) add(markers[i - 1], markers[i]);
  if (markers.size() > 2) add(markers.front(), markers.back());
  return ranges;
}

bool isRecording(const QString& path) { return QFileInfo(path).isFile() || fleet::is_address(path.toStdString()); }

}  // namespace

CompareDialog* MainWindow::askCompare() {
  if (opened_file_.isEmpty()) {
    report(std::unexpected(Error("open a recording first: an earlier one is compared with it")));
    return nullptr;
  }
  const auto beside = record::beside_names(opened_file_.toStdString());
  CompareOffer offer{.now = opened_file_, .folder = QDir::currentPath()};
  if (beside && beside->files.size() == 2) {
    offer.are_beside = true;
    offer.before = fromUtf8(beside->files[0]);
    offer.now = fromUtf8(beside->files[1]);
  }
  if (QFileInfo(offer.now).isFile() && !unpacked_) offer.folder = QFileInfo(offer.now).absolutePath();
  for (const QString& path : QStringList(offer.now) + recent_) {
    const QString known = QFileInfo(path).isFile() ? QFileInfo(path).absoluteFilePath() : path;
    if (isRecording(known) && !offer.recordings.contains(known)) offer.recordings.append(known);
  }
  for (const auto& event : document_->view().names().events) offer.events.append(fromUtf8(event->name));
  if (const auto range = timeline_->range()) offer.selected = rangeText(range->first, range->second);
  offer.ranges = rangesBetween(timeline_->markers());
  auto* dialog = new CompareDialog(offer, this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &CompareDialog::compareWanted, this, [this, dialog](const CompareChoice& choice) {
    const Cancelled cancelled =
        compare(choice, [this, dialog = QPointer(dialog), page = choice.page](const Result<std::string>& unread) {
          if (!dialog) return;
          if (!unread) return dialog->takeResult(fromUtf8(unread.error().message()));
          dialog->takeResult({});
          if (!unread->empty()) report(std::unexpected(Error("the page is of what could be read: " + *unread)));
          QDesktopServices::openUrl(QUrl::fromLocalFile(page));
        });
    connect(dialog, &QDialog::rejected, this, [cancelled] { *cancelled = true; });
  });
  dialog->open();
  return dialog;
}

Cancelled MainWindow::compare(const CompareChoice& choice, std::function<void(const Result<std::string>&)> done) {
  const auto parsed = [](const QString& range) {
    return record::parse_range(range.toStdString()).value_or(record::MomentRange{});
  };
  ComparisonWish wish{.before = {choice.before.toStdString(), parsed(choice.before_range)},
                      .now = {opened_file_.toStdString(), parsed(choice.range)},
                      .align_on = choice.align_on.toStdString(),
                      .page = choice.page.toStdString()};
  for (const auto& [event, field] : timeline_->wishes().fields)  // "SYSTEM/NAME"
    wish.values.push_back({event.section(QLatin1Char('/'), -1).toStdString(), field.toStdString()});
  const auto beside = record::beside_names(wish.now.path);
  const bool are_beside = beside && beside->files.size() == 2;
  const record::StoreView view = document_->view();
  const record::MomentRange of_both = absolute(wish.now.range, view.rows() == 0 ? 0 : view.time_ns(0));
  return jobs_.start(
      [wish = std::move(wish), are_beside, of_both](const std::atomic<bool>& cancelled) mutable -> Result<std::string> {
        if (are_beside) KEVT_TRY(takeRangeOfBoth(std::string(wish.now.path), of_both, wish));
        return writeComparison(wish, cancelled);
      },
      [done = std::move(done)](const Result<std::string>& unread) { done(unread); });
}

}  // namespace kevt::gui
