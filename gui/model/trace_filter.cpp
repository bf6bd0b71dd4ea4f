// The kernel's filter language over a trace.
//
// A filter belongs to one event; a trace has many. So the text is bound to each event's fields in turn. Events to which
// it cannot be bound are left out; only if it fits no event, the first event's mistake is reported.
#include "gui/model/trace_filter.h"

#include <QObject>
#include <algorithm>
#include <span>

#include "compiler/sema/advice.h"
#include "compiler/sema/filter.h"
#include "gui/model/job.h"
#include "tracefs-compat/record/store/row_bits.h"
#include "tracefs-compat/record/store/row_blocks.h"

namespace kevt::gui {
namespace {

// The length of NAME in "NAME: EXPR"; 0: there is none.
qsizetype event_prefix(const QString& text) {
  const qsizetype colon = text.indexOf(QLatin1Char(':'));
  if (colon <= 0) return 0;
  for (qsizetype i = 0; i < colon; ++i) {
    const QChar c = text[i];
    if (!c.isLetterOrNumber() && !QStringLiteral("_*?/-").contains(c)) return 0;
  }
  return colon;
}

FilterMistake from(diag::Diagnostic diagnostic, int shift) {
  sema::advise(diagnostic);
  FilterMistake mistake;
  mistake.text = QString::fromUtf8(diag::kernel_text(diagnostic.kind).data(),
                                   static_cast<qsizetype>(diag::kernel_text(diagnostic.kind).size()));
  if (!diagnostic.detail.empty()) mistake.text += QStringLiteral(": ") + QString::fromStdString(diagnostic.detail);
  for (const diag::Note& note : diagnostic.notes) {
    if (!mistake.help.isEmpty()) mistake.help += QLatin1Char('\n');
    mistake.help += QString::fromStdString(note.text);
  }
  if (diagnostic.column) mistake.column = static_cast<int>(*diagnostic.column) + shift;
  return mistake;
}

}  // namespace

std::shared_ptr<const TraceFilter> TraceFilter::compile(const QString& text, const record::StoreNames& names,
                                                        FilterMistake& mistake) {
  auto filter = std::make_shared<TraceFilter>();
  filter->text_ = text;
  filter->by_event_.resize(names.events.size());
  const qsizetype colon = event_prefix(text);
  const std::string event = text.left(colon).trimmed().toStdString();
  qsizetype begin = colon ? colon + 1 : 0;
  while (begin < text.size() && text[begin].isSpace()) ++begin;
  const std::string expression = text.mid(begin).trimmed().toStdString();
  bool fits = false;
  std::optional<FilterMistake> first;
  for (std::size_t i = 0; i < names.events.size(); ++i) {
    const record::EventFormat& format = *names.events[i];
    if (!event.empty() && !record::is_named(format, event)) continue;
    Event& state = filter->by_event_[i];
    if (expression.empty()) {
      state.is_kept = fits = true;
      continue;
    }
    diag::Sink sink;
    const auto bound = sema::compile_filter(expression, record::layout_of(format), sink);
    if (bound) {
      state.filter.emplace(*bound, format);
      state.integers = record::IntegerFilter::of(*bound, format);
      state.is_kept = fits = true;
    } else if (!first && !sink.empty()) {
      first = from(sink.diagnostics().front(), static_cast<int>(begin));
    }
  }
  if (fits || names.events.empty()) return filter;
  mistake = first.value_or(
      FilterMistake{QObject::tr("no event of this trace is called `%1`").arg(QString::fromStdString(event)), {}, 0});
  return nullptr;
}

bool TraceFilter::keeps(const record::StoreView& view, record::Row row) const {
  const std::uint32_t event = view.event(row);
  if (event >= by_event_.size() || !by_event_[event].is_kept) return false;
  return !by_event_[event].filter || by_event_[event].filter->holds(view.typed(row));
}

namespace {

using record::kBlockRows;
using Rows = record::RowList;

// kBlockRows rows of a chunk, as filters of integers are asked about them.
class Block {
 public:
  Block(const record::StoreView& view, const record::StoreChunk& chunk) : view_(view), chunk_(chunk), begins_(chunk) {
    batch_.payload = chunk.payload;
  }
  void move_to(std::uint32_t first) { begins_.move_to(first); }
  // Rows of the block, of one event.
  const record::RecordBatch& batch_of(Rows rows, const record::IntegerFilter& filter) {
    begins_.read();
    batch_.begins.resize(rows.size());
    batch_.sizes.resize(rows.size());
    batch_.least_size = record::kMaxStoredBytes;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      batch_.begins[i] = begins_[rows[i]];
      batch_.sizes[i] = static_cast<std::uint16_t>(chunk_.size_depth[rows[i]] & record::kMaxStoredBytes);
      batch_.least_size = std::min(batch_.least_size, batch_.sizes[i]);
    }
    const auto fill = [rows](auto& list, auto value_of) {
      list.resize(rows.size());
      for (std::size_t i = 0; i < rows.size(); ++i) list[i] = value_of(rows[i]);
    };
    if (filter.asks_for(model::FilterOperand::CommonPid))
      fill(batch_.pids, [&](std::uint16_t row) { return view_.names().tasks[chunk_.task_of(row)].pid; });
    if (filter.asks_for(model::FilterOperand::Cpu))
      fill(batch_.cpus, [&](std::uint16_t row) { return chunk_.cpu_of(row); });
    return batch_;
  }

 private:
  const record::StoreView& view_;
  const record::StoreChunk& chunk_;
  record::BlockBegins begins_;
  record::RecordBatch batch_;
};

// Whether a filter that asks for nothing but the task keeps the records of each task of the chunk.
std::vector<std::uint8_t> tasks_kept(const record::StoreView& view, const record::StoreChunk& chunk,
                                     const record::BoundFilter& filter) {
  std::vector<std::uint8_t> kept;
  for (const std::uint32_t id : chunk.tasks) {
    const record::StoreTask& task = view.names().tasks[id];
    kept.push_back(filter.holds({.pid = task.pid, .comm = task.comm, .bytes = {}, .instance = task.instance}));
  }
  return kept;
}

}  // namespace

// Event by event, so that the records of one do the same one after another; what is kept is a bit each meanwhile.
record::RowBits TraceFilter::rows(const record::StoreView& view, const record::StoreChunk& chunk,
                                  const record::RowSubset::Part* before) const {
  struct Group {
    const Event& event;
    Rows rows;                          // that were not looked at yet
    std::vector<std::uint8_t> of_task;  // of a filter of tasks
    bool is_whole = false;              // all of them are kept
  };
  const std::uint32_t seen = before ? before->seen : 0;
  constexpr auto kAxis = static_cast<std::size_t>(record::Axis::Event);
  std::vector<Group> groups;
  std::size_t whole_rows = 0;
  for (const record::LaneGroup& group : chunk.groups[kAxis]) {
    if (group.id >= by_event_.size() || !by_event_[group.id].is_kept) continue;
    const Event& event = by_event_[group.id];
    Rows rows = chunk.order[kAxis].subspan(group.begin, group.end - group.begin);
    record::take_before(rows, seen);
    if (rows.empty()) continue;
    Group& made = groups.emplace_back(event, rows);
    if (event.filter && event.filter->is_of_task()) made.of_task = tasks_kept(view, chunk, *event.filter);
    const auto keeps_all = [](const auto& kept) { return std::ranges::find(kept, 0) == kept.end(); };
    made.is_whole = !event.filter || (event.filter->is_of_task() && keeps_all(made.of_task));
    if (made.is_whole) whole_rows += rows.size();
  }
  if (whole_rows == chunk.rows()) return record::all_rows(chunk.rows());
  record::RowBits bits;
  if (before) bits = before->is_whole() ? record::all_rows(seen) : before->bits;
  bits.resize((chunk.rows() + 63) / 64);
  Block block(view, chunk);
  for (std::uint32_t first = seen / kBlockRows * kBlockRows; first < chunk.rows(); first += kBlockRows) {
    block.move_to(first);
    for (Group& group : groups) {
      const Rows rows = record::take_before(group.rows, first + kBlockRows);
      const auto keep_if = [&](auto holds) {
        for (const std::uint16_t row : rows)  // without a branch, which could not be foreseen
          bits[row / 64] |= std::uint64_t{holds(row)} << (row % 64);
      };
      if (group.is_whole) {
        keep_if([](std::uint16_t) { return true; });
      } else if (group.event.filter->is_of_task()) {
        keep_if([&](std::uint16_t row) { return group.of_task[chunk.task[row]] != 0; });
      } else if (const auto& integers = group.event.integers; integers && !rows.empty()) {
        const record::RowBits kept = integers->holds(block.batch_of(rows, *integers));
        record::each_bit(kept, [&](std::uint32_t at) { record::set_bit(bits, rows[at]); });
      } else {
        keep_if([&](std::uint16_t row) { return group.event.filter->holds(view.typed(chunk.first_row + row)); });
      }
    }
  }
  return bits;
}

std::vector<std::shared_ptr<const record::RowSubset::Part>> TraceFilter::parts(
    const record::StoreView& view, std::size_t first, const record::RowSubset* before,
    const std::atomic<bool>& cancelled) const {
  const auto& chunks = view.chunks();
  std::vector<std::shared_ptr<const record::RowSubset::Part>> parts(chunks.size() - std::min(first, chunks.size()));
  std::atomic<std::size_t> next = 0;
  onAllCpus(parts.size(), [&](std::size_t) {
    for (std::size_t at = next++; at < parts.size() && !cancelled; at = next++)
      parts[at] = record::RowSubset::part_of(
          *chunks[first + at], rows(view, *chunks[first + at], before ? before->part(first + at) : nullptr));
  });
  parts.erase(std::ranges::find(parts, nullptr), parts.end());
  return parts;
}

}  // namespace kevt::gui
