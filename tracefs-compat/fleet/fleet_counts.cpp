// Numbers are grouped as record::Histogram has its cells: by their power of two, and 64 parts of it. The smallest and
// the largest of each group come with it, so the answer is that of the records.
#include "tracefs-compat/fleet/fleet_counts.h"

#include <fmt/format.h>

#include <cerrno>

#include "tracefs-compat/fleet/row_binary.h"
#include "tracefs-compat/fleet/rows.h"
#include "tracefs-compat/fleet/shape.h"

namespace kevt::fleet {
namespace {

using record::CountWish;
using record::FieldKind;

struct Column {
  std::string sql;
  bool is_text = false, is_signed = false;
};

// "": no column. nullopt: it is neither a whole number nor a text.
std::optional<Column> column_named(const record::EventFormat& event, const std::string& name) {
  if (name.empty()) return Column{};
  if (name == "common_pid") return Column{.sql = "tid", .is_signed = true};
  if (name == "common_cpu") return Column{.sql = "cpu"};
  if (name == "common_comm") return Column{.sql = "comm", .is_text = true};
  const record::Field* const field = event.find(name);
  if (field == nullptr || field->is_float) return std::nullopt;
  const std::string column = column_of(*field);
  switch (field->kind) {
    case FieldKind::Number:
      return Column{.sql = column, .is_signed = field->is_signed};
    case FieldKind::Text:
      return Column{.sql = column, .is_text = true};
    case FieldKind::DynamicText:
      return Column{.sql = fmt::format("ifNull({}, '(fault)')", column), .is_text = true};
    case FieldKind::Numbers:
    case FieldKind::DynamicBytes:
    case FieldKind::DynamicNumbers:
    case FieldKind::DynamicTexts:
      return std::nullopt;
  }
  return std::nullopt;
}

// The answer's columns: by, by_text, text, from, to, hits, sum.
std::string sql_of_counts(const CountWish& wish, const std::string& which) {
  const auto value = column_named(*wish.event, wish.field), by = column_named(*wish.event, wish.by);
  const auto number_of = [](const Column& one) { return one.sql.empty() || one.is_text ? "0" : one.sql; };
  const auto text_of = [](const Column& one) { return one.is_text ? one.sql : "''"; };
  const std::string number = fmt::format("toUInt64({})", number_of(*value));
  const std::string is_negative = value->is_signed ? number_of(*value) + " < 0" : "0";
  return fmt::format(
      "SELECT by, by_text, text, min(number), max(number), count(), sum(number) FROM (SELECT toInt64({}) AS by, {} AS "
      "by_text, {} AS text, {} AS number, {} AS is_negative, if(number = 0 OR is_negative, toUInt64(0), "
      "roundToExp2(number)) AS power, if(is_negative, toUInt64(0), intDiv(toUInt64(number - power), "
      "greatest(intDiv(power, 64), "
      "toUInt64(1)))) AS part FROM {}) GROUP BY by, by_text, text, is_negative, power, part LIMIT {} FORMAT RowBinary",
      number_of(*by), text_of(*by), text_of(*value), number, is_negative, which, kMostRows + 1);
}

Result<std::uint64_t> count_rows_of(const CountQuestion& question, const std::string& recordings) {
  const std::string where = recordings == "1" ? "" : " WHERE " + recordings;
  const std::string answer =
      KEVT_TRY(question.server->ask(fmt::format("SELECT count() FROM {}{} FORMAT RowBinary", question.table, where)));
  RowReader rows(answer);
  const auto count = rows.number<std::uint64_t>();
  if (!rows.good()) return std::unexpected(no_sense(*question.server));
  return count;
}

}  // namespace

bool can_count(const CountWish& wish) {
  return column_named(*wish.event, wish.field) && column_named(*wish.event, wish.by) && !wish.is_of_stacks;
}

// Of whole recordings it is known how many rows there are: as many as that, and none is there twice. Where all of them
// are asked for, the answer itself says how many. How many rows a whole table has a server knows without reading any;
// rows only come, so as many before and behind the question are the same ones.
Result<std::string> ask_counts(const CountQuestion& question) {
  const bool is_all = question.condition == "1";
  const auto ask = [&](const char* final, const std::string& recordings) {
    return question.server->ask(sql_of_counts(
        *question.wish, fmt::format("{}{} WHERE {} AND {}", question.table, final, recordings, question.condition)));
  };
  if (question.rows && question.is_of_whole_table) {
    const auto is_unchanged = [&]() -> Result<bool> {
      return KEVT_TRY(count_rows_of(question, "1")) == *question.rows;
    };
    if (KEVT_TRY(is_unchanged())) {
      std::string answer = KEVT_TRY(ask("", "1"));
      if (KEVT_TRY(is_unchanged())) return answer;
    }
  }
  if (!question.rows || (!is_all && KEVT_TRY(count_rows_of(question, question.recordings)) != *question.rows))
    return ask(" FINAL", question.recordings);
  std::string answer = KEVT_TRY(ask("", question.recordings));
  if (!is_all) return answer;
  const auto buckets = read_buckets(answer);
  std::uint64_t hits = 0;
  if (buckets)
    for (const record::CountedBucket& one : *buckets) hits += one.hits;
  return hits == *question.rows ? Result<std::string>(std::move(answer)) : ask(" FINAL", question.recordings);
}

Result<std::vector<record::CountedBucket>> read_buckets(std::string_view answer) {
  std::vector<record::CountedBucket> buckets;
  RowReader rows(answer);
  while (!rows.at_end()) {
    if (buckets.size() == kMostRows)
      return std::unexpected(Error(fmt::format("more than {} different numbers, texts and keys", kMostRows), EMSGSIZE));
    record::CountedBucket& one = buckets.emplace_back();
    one.by = rows.number<std::uint64_t>();
    one.by_text = rows.text();
    one.text = rows.text();
    for (std::uint64_t* number : {&one.from, &one.to, &one.hits, &one.sum}) *number = rows.number<std::uint64_t>();
    if (one.hits == 0) buckets.pop_back();  // of a table without such rows
  }
  if (!rows.good()) return std::unexpected(Error("the counts of the server make no sense"));
  return buckets;
}

}  // namespace kevt::fleet
