// Two recordings compared: the form, and the page that it asks for.
#include <fmt/format.h>

#include <QDesktopServices>
#include <QFileInfo>
#include <QPointer>
#include <QUrl>
#include <utility>

#include "gui/app/compare_dialog.h"
#include "gui/app/main_window.h"
#include "gui/model/comparison_page.h"
#include "gui/model/text_forms.h"
#include "gui/model/trace_document.h"
#include "gui/view/timeline_view.h"
#include "tracefs-compat/record/beside.h"

namespace kevt::gui {

namespace {

QString rangeText(std::uint64_t from_ns, std::uint64_t to_ns) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  return fromUtf8(
      fmt::format("{}.{:09},{}.{:09}", from_ns / kSecond, from_ns % kSecond, to_ns / kSecond, to_ns % kSecond));
}

// Moments behind the first record as moments of the trace.
record::MomentRange absolute(record::MomentRange range, std::uint64_t first_ns) {
  for (std::optional<record::Moment>* moment : {&range.from, &range.to})
    if (*moment && (*moment)->is_relative) *moment = record::Moment{(*moment)->ns + first_ns, false};
  return range;
}

}  // namespace

CompareDialog* MainWindow::askCompare() {
  if (opened_file_.isEmpty()) {
    report(std::unexpected(Error("open a recording first: an earlier one is compared with it")));
    return nullptr;
  }
  const auto beside = record::beside_names(opened_file_.toStdString());
  CompareOffer offer{.now = opened_file_};
  if (beside && beside->files.size() == 2) {
    offer.are_beside = true;
    offer.before = fromUtf8(beside->files[0]);
    offer.now = fromUtf8(beside->files[1]);
  }
  if (QFileInfo(offer.now).isFile()) offer.recordings.append(offer.now);
  for (const QString& path : recent_)
    if (QFileInfo(path).isFile() && !offer.recordings.contains(path)) offer.recordings.append(path);
  for (const auto& event : document_->view().names().events) offer.events.append(fromUtf8(event->name));
  if (const auto range = timeline_->range())
    offer.ranges.emplace_back(tr("selected"), rangeText(range->first, range->second));
  const auto& markers = timeline_->markers();
  for (std::size_t i = 0; i + 1 < markers.size(); ++i) {
    const auto [first, last] = std::minmax(markers[i].ns, markers[i + 1].ns);
    offer.ranges.emplace_back(tr("%1 to %2").arg(markers[i].name, markers[i + 1].name), rangeText(first, last));
  }
  auto* dialog = new CompareDialog(offer, this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &CompareDialog::compareWanted, this, [this, dialog = QPointer(dialog)](const CompareChoice& choice) {
    compare(choice, [this, dialog, page = choice.page](const Result<void>& written) {
      if (written) QDesktopServices::openUrl(QUrl::fromLocalFile(page));
      if (dialog)
        dialog->takeResult(written ? QString() : fromUtf8(written.error().message()));
      else
        report(written);
    });
  });
  dialog->open();
  return dialog;
}

void MainWindow::compare(const CompareChoice& choice, std::function<void(const Result<void>&)> done) {
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
  jobs_.start(
      [wish = std::move(wish), are_beside, of_both](const std::atomic<bool>&) mutable -> Result<void> {
        if (are_beside) KEVT_TRY(takeRangeOfBoth(std::string(wish.now.path), of_both, wish));
        return writeComparison(wish);
      },
      [done = std::move(done)](const Result<void>& written) { done(written); });
}

}  // namespace kevt::gui
