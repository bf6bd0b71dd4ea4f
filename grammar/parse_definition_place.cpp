// Places: `mod:symbol+0x10%return`, `/path:0x10%return(0x2224)`, `system.event`.
//
// Problem: a wrong place has five or six different messages with columns inside the word, and the
// kernel's order of looking decides which one is shown. Idea: the grammar has cut the word; here the
// pieces are looked at in the kernel's order and the first bad one is reported.
//
//   /bin/sh:10(10)a   ->  BadRefcntSuffix at the 'a'
//
// Not here: whether the symbol or file exists (sema).
// Mirrors __trace_kprobe_create(), __trace_uprobe_create() and __trace_eprobe_create() of 6.1.
#include <limits>
#include <utility>

#include "grammar/parse_definition_parts.h"

namespace kevt::grammar {
namespace {

// False: reported. An absent suffix is fine.
bool take_return_suffix(const LineContext& line, const std::optional<Piece>& suffix, model::ProbeKind& point) {
  if (!suffix) return true;
  if (suffix->text != "%return") {
    line.report(
        {.kind = diag::Kind::BadAddrSuffix, .word = kPlaceWord, .column = suffix->begin, .order = diag::kStepPlace});
    return false;
  }
  point = model::ProbeKind::Return;
  return true;
}

model::SymbolPlace split_module(std::string_view text, std::uint64_t offset) {
  model::SymbolPlace place{.offset = offset};
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    place.symbol = text;
  } else {
    place.module = text.substr(0, colon);
    place.symbol = text.substr(colon + 1);
  }
  return place;
}

// The semaphore behind a uprobe place. False: reported.
bool take_reference(const LineContext& line, const FilePlacePieces& pieces, model::FilePlace& place) {
  const auto report = [&](diag::Kind kind, std::uint32_t column, int errno_value) {
    line.report(
        {.kind = kind, .word = kPlaceWord, .column = column, .order = diag::kStepPlace, .errno_value = errno_value});
    return false;
  };
  if (!pieces.reference) return true;
  const ReferencePieces& reference = *pieces.reference;
  if (!reference.tail) return report(diag::Kind::RefcntOpenBrace, reference.counter.end, EINVAL);
  if (!reference.tail->text.empty()) return report(diag::Kind::BadRefcntSuffix, reference.tail->begin, EINVAL);
  const Number counter = parse_unsigned(reference.counter.text, kAutoBase);
  if (counter.error != 0) return report(diag::Kind::BadRefcnt, reference.counter.begin, counter.error);
  place.reference_counter = counter.value;
  return true;
}

}  // namespace

std::optional<model::Place> parse_symbol_place(const LineContext& line, model::ProbeKind& point) {
  const std::string_view word = line.words[kPlaceWord];
  const Number address = parse_unsigned(word, kAutoBase);
  if (address.error == 0) return model::AddressPlace{.address = address.value};

  const SymbolPlacePieces pieces = cut_symbol_place(word);
  if (!take_return_suffix(line, pieces.suffix, point)) return std::nullopt;
  Number offset;
  if (pieces.displacement) offset = parse_signed(pieces.displacement->text, kAutoBase);
  if (offset.error != 0 || offset.value > std::numeric_limits<std::uint32_t>::max()) {
    line.report({.kind = diag::Kind::BadProbeAddr, .word = kPlaceWord, .order = diag::kStepPlace});
    return std::nullopt;
  }
  return split_module(pieces.symbol.text, offset.value);
}

std::optional<model::Place> parse_file_place(const LineContext& line, model::ProbeKind& point) {
  const FilePlacePieces pieces = cut_file_place(line.words[kPlaceWord]);
  model::FilePlace place{.path = std::string(pieces.path.text)};
  if (!take_reference(line, pieces, place)) return place;
  if (!take_return_suffix(line, pieces.suffix, point)) return place;
  const Number offset = parse_unsigned(pieces.offset.text, kAutoBase);
  if (offset.error != 0) {
    line.report({.kind = diag::Kind::BadUprobeOffs,
                 .word = kPlaceWord,
                 .column = pieces.offset.begin,
                 .order = diag::kStepPlace,
                 .errno_value = offset.error});
  }
  place.offset = offset.value;
  return place;
}

std::optional<model::Place> parse_event_place(const LineContext& line) {
  EventName name;
  const auto mistake = take_event_name(line.words[kPlaceWord], name);
  if (mistake || name.group.empty() || name.event.empty()) {
    // The kernel logs what is wrong with the name, then that it needs one.
    std::optional<diag::Prelude> prelude;
    if (mistake) prelude = diag::Prelude{mistake->kind, mistake->column};
    line.report({.kind = diag::Kind::NoEventInfo, .word = kPlaceWord, .order = diag::kStepPlace, .prelude = prelude});
    return std::nullopt;
  }
  return model::EventPlace{.system = std::move(name.group), .event = std::move(name.event)};
}

}  // namespace kevt::grammar
