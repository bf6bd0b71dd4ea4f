// A row ends where the next one begins: its keys may be stacks of many lines, and its texts hold anything a program
// says. So a row is cut from both ends: keys from the front, each behind its name; hits and values behind the last
// brace.
#include "tracefs-compat/record/analysis/hist_file.h"

#include <algorithm>
#include <charconv>

namespace kevt::record {

namespace {

constexpr std::string_view kBlanks = " \n";

std::string_view without_padding(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

std::optional<std::uint64_t> hist_number(std::string_view text, int base = 10) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// A value: a sum, or with sign and decimals.
std::optional<double> value_of(const HistFileColumn& column, std::string_view text) {
  if (column.modifier == "hex") return hist_number(text, 16);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The same in 64 bits; 0: it is no whole number.
std::uint64_t whole_of(const HistFileColumn& column, std::string_view text) {
  if (text.starts_with('-')) return ~hist_number(text.substr(1)).value_or(0) + 1;
  return hist_number(text, column.modifier == "hex" ? 16 : 10).value_or(0);
}

// Takes the text up to `separator` off the front; all of it if there is none.
std::string_view take(std::string_view& text, std::string_view separator) {
  const std::size_t end = text.find(separator);
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + separator.size());
  return taken;
}

std::vector<HistFileColumn> columns(std::string_view names) {
  std::vector<HistFileColumn> made;
  while (!names.empty()) {
    const std::string_view one = take(names, ",");
    const std::size_t dot = one.find('.');
    made.push_back({std::string(one.substr(0, dot)),
                    dot == std::string_view::npos ? std::string() : std::string(one.substr(dot + 1))});
  }
  return made;
}

// "hist:keys=…:vals=…:sort=… if … [active]"
void read_trigger(std::string_view text, HistFileTable& table) {
  const std::size_t state = text.rfind(" [");
  table.is_paused = state != std::string_view::npos && text.substr(state) == " [paused]";
  table.trigger = text.substr(0, state);
  for (std::string_view rest = table.trigger; !rest.empty();) {
    const std::string_view part = take(rest, ":");
    if (part.starts_with("keys=") && table.keys.empty()) table.keys = columns(part.substr(5));
    if (part.starts_with("vals=") && table.values.empty()) table.values = columns(part.substr(5));
  }
  std::erase_if(table.values, [](const HistFileColumn& one) { return one.name == "hitcount"; });
}

// "kprobes:read, 1.000 s to 2.000 s"
void read_heading(std::string_view text, HistFileTable& table) {
  table.event = take(text, ", ");
  const std::string_view from = take(text, " s to ");
  const std::string_view to = take(text, " s");
  std::from_chars(from.data(), from.data() + from.size(), table.from_s);
  std::from_chars(to.data(), to.data() + to.size(), table.to_s);
}

// "~ 2^5": over 16, up to 32; the kernel puts 0 and 1 into 2^0.
std::optional<HistFileRange> power_range(std::string_view text) {
  if (!text.starts_with("~ 2^")) return std::nullopt;
  const auto exponent = hist_number(text.substr(4));
  if (!exponent || *exponent > 64) return std::nullopt;
  if (*exponent == 0) return HistFileRange{0, 1};
  const std::uint64_t from = (std::uint64_t{1} << (*exponent - 1)) + 1;
  return HistFileRange{from, *exponent == 64 ? ~std::uint64_t{0} : std::uint64_t{1} << *exponent};
}

// "~ 16-31"
std::optional<HistFileRange> bucket_range(std::string_view text) {
  if (!text.starts_with("~ ")) return std::nullopt;
  text.remove_prefix(2);
  const auto from = hist_number(take(text, "-")), to = hist_number(text);
  if (!from || !to || *to < *from) return std::nullopt;
  return HistFileRange{*from, *to};
}

// The number in the last brackets: "cat   [  4711]", "sys_read [  0]".
std::optional<std::uint64_t> bracketed(std::string_view text) {
  const std::size_t begin = text.rfind('[');
  if (begin == std::string_view::npos || !text.ends_with(']')) return std::nullopt;
  return hist_number(without_padding(text.substr(begin + 1, text.size() - begin - 2)));
}

std::optional<HistFileRange> range_of(std::string_view modifier, std::string_view text) {
  if (modifier == "log2") return power_range(text);
  if (modifier == "loglinear" || modifier.starts_with("buckets")) return bucket_range(text);
  std::optional<std::uint64_t> one;
  if (modifier == "hex")
    one = hist_number(text, 16);
  else if (modifier == "sym" || modifier == "sym-offset")
    one = text.starts_with('[') ? hist_number(text.substr(1, text.find(']') - 1), 16) : std::nullopt;
  else if (modifier == "execname" || modifier == "syscall")
    one = bracketed(text);
  else
    one = hist_number(text);
  if (!one) return std::nullopt;
  return HistFileRange{*one, *one};
}

// A line for each frame becomes one line.
std::string frames_in_a_line(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const std::string_view frame = without_padding(take(text, "\n"));
    if (frame.empty()) continue;
    if (!line.empty()) line += " ← ";
    line += frame;
  }
  return line;
}

// What stands behind a key's name: nothing but blanks is cut, since a text may be anything.
HistFileCell hist_cell(const HistFileColumn& column, std::string_view text) {
  text = without_padding(text);
  if (text.find('\n') != std::string_view::npos) return {frames_in_a_line(text), std::nullopt};
  return {std::string(text), range_of(column.modifier, text)};
}

// `text`: "fd:          3, len: ~ 2^5". False: a key is not there.
bool read_keys(std::string_view text, const HistFileTable& table, HistFileRow& row) {
  for (std::size_t i = 0; i < table.keys.size(); ++i) {
    const std::string head = table.keys[i].name + ':';
    if (!text.starts_with(head)) return false;
    text.remove_prefix(head.size());
    const std::string next = i + 1 < table.keys.size() ? ", " + table.keys[i + 1].name + ':' : std::string();
    const std::size_t end = next.empty() ? text.size() : text.find(next);
    if (end == std::string_view::npos) return false;
    row.keys.push_back(hist_cell(table.keys[i], text.substr(0, end)));
    text.remove_prefix(std::min(text.size(), end + 2));
  }
  return true;
}

// `text`: " hitcount:          2  len:         40".
void read_values(std::string_view text, const HistFileTable& table, HistFileRow& row) {
  const auto behind = [&](const std::string& name) -> std::optional<std::string_view> {
    const std::size_t at = text.find(' ' + name);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view rest = text.substr(at + 1 + name.size());
    const std::size_t begin = rest.find_first_not_of(' ');
    if (begin == std::string_view::npos) return std::nullopt;
    return rest.substr(begin, rest.find_first_of(" \n\t", begin) - begin);
  };
  if (const auto hits = behind("hitcount:")) row.hits = hist_number(*hits).value_or(0);
  row.at_least = row.hits;
  if (const auto own = behind("(at least"))
    row.at_least = hist_number(own->substr(0, own->find(')'))).value_or(row.hits);
  for (const HistFileColumn& column : table.values) {
    const auto value = behind(column.is_statistic() ? column.name + " (" + column.modifier + "):" : column.name + ':');
    row.values.push_back(value ? value_of(column, *value) : std::nullopt);
    row.wholes.push_back(value ? whole_of(column, *value) : 0);
  }
}

void read_row(std::string_view text, HistFileTable& table) {
  const std::size_t with_hits = text.rfind("} hitcount:");
  const std::size_t end = with_hits != std::string_view::npos ? with_hits : text.rfind('}');
  if (end == std::string_view::npos || end < 2) return;
  HistFileRow row;
  if (!read_keys(text.substr(2, end - 2), table, row)) return;
  row.head = text.substr(0, end + 1);
  read_values(text.substr(end + 1), table, row);
  table.rows.push_back(std::move(row));
}

// Whether a line of a table's body begins something new; lines of stacks, and of texts with line ends, do not.
bool begins_part(std::string_view line) {
  return line.starts_with("{ ") || line.starts_with("Totals:") || line.starts_with("Percentiles of ") ||
         line.starts_with("Snapshot taken ") || line.starts_with("# ");
}

}  // namespace

bool HistFileColumn::is_measuring() const {
  return modifier == "log2" || modifier == "loglinear" || modifier.starts_with("buckets");
}

bool HistFileColumn::is_statistic() const { return modifier == "min" || modifier == "max" || modifier == "avg"; }

std::optional<std::size_t> HistFileTable::measuring_key() const {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!keys[i].is_measuring()) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

std::vector<HistFileTable> read_hist_file(std::string_view text) {
  constexpr std::string_view kInfo = "# trigger info: ";
  std::vector<HistFileTable> tables;
  HistFileTable heading;
  bool are_rows = false;
  while (!text.empty()) {
    std::string_view part = take(text, "\n");
    if (part.starts_with(kInfo)) {
      heading.keys.clear();
      HistFileTable& table = tables.emplace_back(heading);
      read_trigger(part.substr(kInfo.size()), table);
      are_rows = true;
    } else if (part.starts_with("# ") && part != "# event histogram") {
      heading = {};
      read_heading(part.substr(2), heading);
    } else if (part.starts_with("{ ") && are_rows) {
      // The row goes on to the next part.
      const char* const begin = part.data();
      while (!text.empty() && !begins_part(text)) take(text, "\n");
      read_row({begin, static_cast<std::size_t>(text.data() - begin)}, tables.back());
    } else if (part.starts_with("Totals:")) {
      are_rows = false;
    } else if (!tables.empty() && part.starts_with("    Hits: ")) {
      tables.back().hits = hist_number(without_padding(part.substr(10))).value_or(0);
    } else if (!tables.empty() && part.starts_with("    Dropped: ")) {
      tables.back().dropped = hist_number(without_padding(part.substr(13))).value_or(0);
    } else if (!tables.empty() && !are_rows && part.starts_with("Top ")) {
      take(part, ": hits of any other key: ");
      tables.back().others_at_most = hist_number(take(part, " "));
    }
  }
  return tables;
}

}  // namespace kevt::record
