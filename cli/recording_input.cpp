// Opens a recording, compiles its filters against the events it holds, and tells mistakes as those of a probe's filter.
#include "cli/recording_input.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "cli/exit_status.h"
#include "tracefs-compat/fleet/fleet_reader.h"

namespace kevt::cli {
namespace {

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || std::string_view("_/.-*?[]").find(c) != std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool is_event_name(std::string_view text) {
  if (text.empty()) return false;
  for (char c : text)
    if (!is_name_char(c)) return false;
  return true;
}

bool take_moment(const std::string& text, const char* option, std::optional<record::Moment>& out,
                 const Reporter& report) {
  if (text.empty()) return true;
  out = record::parse_moment(text);
  if (!out)
    report.error(fmt::format("{}: `{}` is no moment; write seconds as they are printed, or +seconds", option, text));
  return out.has_value();
}

// Whose records are wanted.
bool take_instance(const std::string& name, const record::Metadata& metadata, std::optional<std::uint32_t>& out,
                   const Reporter& report) {
  if (name.empty()) return true;
  const auto& names = metadata.instances;
  const auto known = std::ranges::find(names, name);
  if (known != names.end())
    out = static_cast<std::uint32_t>(known - names.begin()) + 1;
  else if (name == "top")
    out = 0;
  else
    report.error(fmt::format("the recording has no instance `{}`; it has top{}{}", name, names.empty() ? "" : ", ",
                             fmt::join(names, ", ")));
  return out.has_value();
}

}  // namespace

void take_range(const std::string& range, InputOptions& input) {
  const std::size_t comma = range.find(',');
  input.from = range.substr(0, comma);
  input.to = comma == range.npos ? "" : range.substr(comma + 1);
}

record::FilterRequest split_filter(const std::string& word) {
  const std::string_view text = trimmed(word);
  const auto first = text.find(':');
  if (first == std::string_view::npos || !is_event_name(trimmed(text.substr(0, first)))) return {std::string(text), ""};
  const std::string_view rest = trimmed(text.substr(first + 1));
  if (is_event_name(rest)) return {std::string(text), ""};  // SYSTEM:EVENT
  const auto second = rest.find(':');
  if (second != std::string_view::npos && is_event_name(trimmed(rest.substr(0, second))))
    return {fmt::format("{}:{}", trimmed(text.substr(0, first)), trimmed(rest.substr(0, second))),
            std::string(trimmed(rest.substr(second + 1)))};
  return {std::string(trimmed(text.substr(0, first))), std::string(rest)};
}

std::optional<RecordingInput> RecordingInput::open(const InputOptions& options, const Reporter& report, int& status) {
  RecordingInput made;
  made.file_ = options.file;
  std::string note;
  auto reader = fleet::open_recording(options.file, &note);
  if (!reader) {
    report.error(reader.error());
    status = kFailed;
    return std::nullopt;
  }
  made.reader_ = std::move(*reader);
  if (!note.empty()) report.status(note);
  record::Query query;
  query.limit = options.limit.value_or(~0ull);
  status = kUsage;
  if (!take_instance(options.instance, made.metadata(), query.instance, report)) return std::nullopt;
  if (!take_moment(options.from, "--from", query.from, report) || !take_moment(options.to, "--to", query.to, report))
    return std::nullopt;
  std::vector<record::FilterRequest> requests;
  for (const std::string& word : options.filters) requests.push_back(split_filter(word));
  diag::Sink sink;
  std::size_t mistaken = 0;
  auto filters = record::RecordFilters::compile(requests, made.metadata().formats, sink, mistaken);
  status = kNotCompiled;
  if (!filters) {
    report.error(filters.error());
    return std::nullopt;
  }
  if (!*filters) {
    const Source source{requests[mistaken].expression, fmt::format("<filter {}>", mistaken + 1), 1};
    for (const diag::Diagnostic& one : sink.diagnostics()) report.diagnostic(locate(one, source));
    return std::nullopt;
  }
  status = kOk;
  query.filters = std::move(**filters);
  made.queried_ = std::make_unique<record::QueriedReader>(*made.reader_, std::move(query));
  return made;
}

int RecordingInput::finish(const Reporter& report) const {
  for (const std::string& problem : reader_->problems()) report.error(file_ + ": " + problem);
  return reader_->problems().empty() ? kOk : kFailed;
}

}  // namespace kevt::cli
