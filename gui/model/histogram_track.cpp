// The file `hist` has running totals, so two readings of it give what lies between them: nothing is cleared for that,
// and no hit is missed. A total that has become smaller was cleared by somebody: all of it is new.
#include "gui/model/histogram_track.h"

#include <QObject>
#include <QStringList>
#include <algorithm>

#include "gui/model/row_text.h"
#include "tracefs-compat/record/analysis/buckets.h"

namespace kevt::gui {

namespace {

using record::HistFileCell;
using record::HistFileColumn;
using record::HistFileRange;
using record::HistFileRow;

std::string joinedKeys(const HistFileRow& row) {
  std::string keys;
  for (const HistFileCell& cell : row.keys) {
    keys += cell.text;
    keys += '\0';
  }
  return keys;
}

QString keysText(const HistogramTrack& track, std::uint32_t entry, std::optional<std::size_t> without) {
  const HistFileRow& row = track.entries()[entry];
  QStringList texts;
  for (std::size_t i = 0; i < row.keys.size(); ++i)
    if (i != without)
      texts.append(QString::fromStdString(track.head().keys[i].name + ' ' + row.keys[i].text).simplified());
  return texts.join(QStringLiteral(", "));
}

QString rangeText(const HistFileRange& range) {
  if (range.from == range.to) return grouped(range.from);
  return grouped(range.from) + QStringLiteral(" – ") + grouped(range.to);
}

// The value of two spans: `all` has the earlier ones.
double together(const HistFileColumn& column, const HistFileRow& all, std::size_t value, const HistFileRow& row) {
  const double fresh = *row.values[value];
  if (!all.values[value]) return fresh;
  const double had = *all.values[value];
  if (column.modifier == "min") return std::min(had, fresh);
  if (column.modifier == "max") return std::max(had, fresh);
  if (column.modifier != "avg") return had + fresh;
  const auto before = static_cast<double>(all.at_least), now = static_cast<double>(row.at_least);
  return before + now > 0 ? (had * before + fresh * now) / (before + now) : 0;
}

// "fd >= 17 && fd <= 32"; empty: filters cannot ask for it.
QString termOf(const HistFileColumn& column, const HistFileCell& cell, const std::optional<HistFileRange>& range,
               const record::EventFormat* format) {
  QString name = QString::fromStdString(column.name);
  if (name.contains(QLatin1String("stacktrace")) || name == QLatin1String("common_timestamp")) return {};
  const record::Field* const field = format ? format->find(column.name) : nullptr;
  if (!field && (name == QLatin1String("common_comm") || name == QLatin1String("comm"))) name = QStringLiteral("COMM");
  if (!field && (name == QLatin1String("common_cpu") || name == QLatin1String("cpu"))) name = QStringLiteral("CPU");
  if (!range) {
    const QString text = QString::fromStdString(cell.text);
    if (column.is_measuring() || text.contains(QLatin1Char('"')) || text.contains(QLatin1Char('\n'))) return {};
    return QStringLiteral("%1 == \"%2\"").arg(name, text);
  }
  const auto number = [&](std::uint64_t value) {
    return field && field->is_signed ? QString::number(static_cast<qint64>(value)) : QString::number(value);
  };
  if (range->from == range->to) return QStringLiteral("%1 == %2").arg(name, number(range->from));
  return QStringLiteral("%1 >= %2 && %1 <= %3").arg(name, number(range->from), number(range->to));
}

}  // namespace

bool HistogramTrack::goesOn(const record::HistFileTable& table) const {
  return head_.trigger == table.trigger && head_.event == table.event;
}

std::uint32_t HistogramTrack::entryOf(const HistFileRow& row) {
  const auto [at, is_new] = by_keys_.try_emplace(joinedKeys(row), static_cast<std::uint32_t>(entries_.size()));
  if (is_new) entries_.push_back({.keys = row.keys, .values = std::vector<std::optional<double>>(row.values.size())});
  return at->second;
}

void HistogramTrack::addSlice(Slice slice) {
  cells_ += slice.hits.size();
  slices_.push_back(std::move(slice));
  while (slices_.size() > kMostSlices || (cells_ > kMostCells && slices_.size() > 1)) {
    cells_ -= slices_.front().hits.size();
    slices_.pop_front();
  }
}

void HistogramTrack::takeTotals(double at_s, record::HistFileTable table) {
  const bool was_cleared = table.hits < hits_;
  if (was_cleared) std::ranges::fill(seen_, 0);
  for (HistFileRow& entry : entries_) entry.hits = entry.at_least = 0;
  Slice slice{last_s_, at_s, {}};
  order_.clear();
  for (HistFileRow& row : table.rows) {
    const std::uint32_t entry = entryOf(row);
    if (entries_[entry].hits == 0) order_.push_back(entry);
    entries_[entry].hits += row.hits;  // different keys may be shown alike
    entries_[entry].at_least += row.at_least;
    entries_[entry].values = std::move(row.values);
  }
  seen_.resize(entries_.size());
  for (const std::uint32_t entry : order_) {
    const std::uint64_t has = entries_[entry].hits, had = std::exchange(seen_[entry], has);
    // Of `top=N` a count may have grown by hits of the key that made room.
    const std::uint64_t fresh = std::min(has > had ? has - had : has, entries_[entry].at_least);
    if (has != had && fresh != 0) slice.hits.emplace_back(entry, fresh);
  }
  if (has_totals_) addSlice(std::move(slice));
  has_totals_ = true;
  last_s_ = at_s;
  hits_ = table.hits;
  dropped_ = table.dropped;
  table.rows.clear();
  head_ = std::move(table);
}

void HistogramTrack::takeSpan(record::HistFileTable table) {
  Slice slice{table.from_s, table.to_s, {}};
  for (const HistFileRow& row : table.rows) {
    const std::uint32_t entry = entryOf(row);
    HistFileRow& all = entries_[entry];
    if (all.hits == 0) order_.push_back(entry);
    for (std::size_t i = 0; i < all.values.size() && i < row.values.size(); ++i)
      if (row.values[i]) all.values[i] = together(table.values[i], all, i, row);
    all.hits += row.hits;
    all.at_least += row.at_least;
    slice.hits.emplace_back(entry, row.hits);
  }
  addSlice(std::move(slice));
  hits_ += table.hits;
  dropped_ += table.dropped;
  table.rows.clear();
  head_ = std::move(table);
}

QString titleOf(const record::HistFileTable& table) {
  const auto names = [](const std::vector<HistFileColumn>& columns) {
    QStringList all;
    for (const HistFileColumn& one : columns) all.append(titleOf(one));
    return all.join(QStringLiteral(", "));
  };
  return table.values.empty() ? names(table.keys)
                              : QObject::tr("%1; sums of %2").arg(names(table.keys), names(table.values));
}

QString titleOf(const HistFileColumn& column) {
  const QString name = QString::fromStdString(column.name);
  return column.modifier.empty() ? name : name + QLatin1Char('.') + QString::fromStdString(column.modifier);
}

QString groupOf(const HistogramTrack& track, std::uint32_t entry) {
  return keysText(track, entry, track.head().measuring_key());
}

HistogramPicture pictureOf(const HistogramTrack& track, const std::optional<QString>& group, std::size_t most) {
  constexpr std::uint32_t kNoLine = ~0u;
  HistogramPicture picture;
  std::vector<std::uint32_t> shown;
  for (const std::uint32_t entry : track.order())
    if (!group || groupOf(track, entry) == *group) shown.push_back(entry);
  std::vector<std::uint32_t> line_of_entry(track.entries().size(), kNoLine);
  if (const auto measuring = track.head().measuring_key()) {
    picture.is_scale = true;
    std::vector<HistFileRange> buckets;
    for (const std::uint32_t entry : shown)
      if (const auto& range = track.entries()[entry].keys[*measuring].range) buckets.push_back(*range);
    const auto lines = record::bucket_lines(track.head().keys[*measuring].modifier, buckets, most);
    for (const HistFileRange& line : lines) picture.lines.push_back({.label = rangeText(line), .range = line});
    for (const std::uint32_t entry : shown)
      if (const auto& range = track.entries()[entry].keys[*measuring].range)
        if (const auto line = record::line_of(lines, *range)) line_of_entry[entry] = static_cast<std::uint32_t>(*line);
  } else {
    std::ranges::stable_sort(shown, std::greater<>(), [&](std::uint32_t entry) { return track.entries()[entry].hits; });
    if (shown.size() > most) {
      picture.left_out = shown.size() - most;
      shown.resize(most);
    }
    for (const std::uint32_t entry : shown) {
      line_of_entry[entry] = static_cast<std::uint32_t>(picture.lines.size());
      picture.lines.push_back({.label = keysText(track, entry, std::nullopt), .entry = entry});
    }
  }
  for (const std::uint32_t entry : shown)
    if (line_of_entry[entry] != kNoLine) picture.lines[line_of_entry[entry]].hits += track.entries()[entry].hits;
  for (HistogramLine& line : picture.lines) {
    line.over_time.resize(track.slices().size());
    picture.most_in_line = std::max(picture.most_in_line, line.hits);
  }
  for (std::size_t i = 0; i < track.slices().size(); ++i) {
    const HistogramTrack::Slice& slice = track.slices()[i];
    picture.slices.emplace_back(slice.from_s, slice.to_s);
    for (const auto& [entry, hits] : slice.hits)
      if (line_of_entry[entry] != kNoLine) {
        std::uint64_t& cell = picture.lines[line_of_entry[entry]].over_time[i];
        cell += hits;
        picture.most_in_cell = std::max(picture.most_in_cell, cell);
      }
  }
  return picture;
}

std::optional<std::array<std::uint64_t, 4>> percentilesOf(const HistogramTrack& track,
                                                          const std::optional<QString>& group) {
  static constexpr std::array<unsigned, 4> kPercents = {50, 90, 99, 100};
  const auto measuring = track.head().measuring_key();
  if (!measuring) return std::nullopt;
  record::BucketHits buckets;
  for (const std::uint32_t entry : track.order()) {
    const auto& range = track.entries()[entry].keys[*measuring].range;
    if (range && (!group || groupOf(track, entry) == *group)) buckets[*range] += track.entries()[entry].hits;
  }
  if (buckets.empty()) return std::nullopt;
  std::array<std::uint64_t, 4> values{};
  for (std::size_t i = 0; i < kPercents.size(); ++i) values[i] = record::bucket_percentile(buckets, kPercents[i]);
  return values;
}

QString filterOf(const HistogramTrack& track, const HistogramLine& line, const record::EventFormat* format) {
  const auto& columns = track.head().keys;
  QStringList terms;
  if (line.range) {
    const std::size_t measuring = *track.head().measuring_key();
    terms.append(termOf(columns[measuring], {}, line.range, format));
  } else if (line.entry < track.entries().size()) {
    const HistFileRow& row = track.entries()[line.entry];
    for (std::size_t i = 0; i < columns.size(); ++i)
      terms.append(termOf(columns[i], row.keys[i], row.keys[i].range, format));
  }
  terms.removeAll(QString());
  return terms.join(QStringLiteral(" && "));
}

}  // namespace kevt::gui
