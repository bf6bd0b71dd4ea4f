// The parts of the definition parser; parse_definition.cpp names them in order.
#pragma once

#include <optional>
#include <string_view>

#include "grammar/parse.h"
#include "grammar/parse_definition_report.h"
#include "grammar/parse_definition_words.h"

namespace kevt::grammar {

struct NameMistake {
  diag::Kind kind;
  std::uint32_t column;
};
struct EventName {
  std::string group;  // empty: not written
  std::string event;
};
// Cuts `GROUP/EVENT`, `GROUP.EVENT`, `GROUP/` or `EVENT`. If there is a mistake, the part before it is in `taken`.
std::optional<NameMistake> take_event_name(std::string_view name, EventName& taken);

// Fills group and event from `GROUP/EVENT`, which stands at `column` of the first word.
void parse_event_name(const LineContext& line, std::string_view name, std::uint32_t column, std::uint32_t order,
                      model::Definition& definition);

inline constexpr std::size_t kPlaceWord = 1;
// For all places: nullopt means that a mistake was reported.
std::optional<model::Place> parse_symbol_place(const LineContext& line, model::ProbeKind& point);
std::optional<model::Place> parse_file_place(const LineContext& line, model::ProbeKind& point);
std::optional<model::Place> parse_event_place(const LineContext& line);
std::optional<model::Place> parse_watch_place(const LineContext& line);
// A function, or the tracepoint of a tprobe; `$retval` in an argument makes an exit probe.
std::optional<model::Place> parse_function_place(const LineContext& line, model::ProbeKind& point);

// Words [2, end) as fetch-args, checked each on its own.
void parse_arguments(const LineContext& line, std::size_t end, model::Definition& definition);

// The argument whose type is parsed; `column` is where the argument's body begins in its word.
struct TypeRequest {
  std::size_t word;
  std::size_t argument;
  std::uint32_t column;
};
// LENGTH of a type `string(LENGTH)`; columns are the body's. nullopt: the type is another one.
std::optional<Piece> length_in(const TypePieces& type);
// The same of `s32[LENGTH]`; behind `..` it is the end. nullopt: there is a number between the brackets, or what is no
// expression of the dialect, or there are no brackets.
struct WrittenCount {
  Piece length;
  bool is_end = false;
};
std::optional<WrittenCount> count_in(const LineContext& line, const TypePieces& type);
// How many bytes of the body are the names that are written out in its type, `(kOff=0,kOn=1)`: no limit of a kernel
// counts them.
std::size_t bytes_of_names(const BodyPieces& body);
// nullopt: a mistake was reported.
std::optional<model::TypeSpec> parse_type(const LineContext& line, const TypeRequest& request, const BodyPieces& body);

// A line of synthetic_events, or `s:…` of dynamic_events.
std::optional<model::Statement> parse_synthetic_file_line(std::string_view line, diag::Sink& sink);
std::optional<model::Statement> parse_synthetic_definition(std::string_view line, diag::Sink& sink);

}  // namespace kevt::grammar
