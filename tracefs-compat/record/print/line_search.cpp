// The alignments of a text with a line, and what they ask of a record.
//
// A part that is not constant is: around the whole text (it has the text), before its rest (it ends with what is in
// it), behind (it begins with the rest), or in the middle (it is what stands between). All ways are followed from left
// to right; the constants between the parts leave few of them.
#include "tracefs-compat/record/print/line_search.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace kevt::record {
namespace {

constexpr std::size_t kLongest = 64;
constexpr std::size_t kMostAlignments = 200, kMostSteps = 20'000;  // beyond them lines are made
constexpr std::string_view kDigits = "-0123456789", kHexDigits = "0123456789abcdefABCDEF", kTime = " .0123456789",
                           kCpu = " []0123456789";
// Of each of the five characters of flags, as layout::line_prefix() has them; large and small letters alike.
constexpr std::array<std::string_view, 5> kFlags = {"DdBbXx.", "NnPp.", "HhZzSs.", "0123456789ABCDEFabcdef.",
                                                    "0123456789ABCDEFabcdef."};

char folded(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string folded(std::string_view text, bool minds_case) {
  std::string out(text);
  if (!minds_case) std::ranges::transform(out, out.begin(), [](char c) { return folded(c); });
  return out;
}

bool has_same(const char* text, std::string_view wanted, bool minds_case) {
  if (minds_case) return std::memcmp(text, wanted.data(), wanted.size()) == 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (folded(text[i]) != wanted[i]) return false;
  return true;
}

bool has(std::string_view text, std::string_view wanted, bool minds_case) {
  if (wanted.size() > text.size()) return false;
  if (minds_case) return ::memmem(text.data(), text.size(), wanted.data(), wanted.size()) != nullptr;
  const char first = wanted[0];
  const char* const last = text.data() + (text.size() - wanted.size());
  for (const char* at = text.data(); at <= last; ++at)
    if (folded(*at) == first && has_same(at, wanted, false)) return true;
  return false;
}

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool may_have(const LineSearch::Part& part, std::string_view text) {
  if (text.size() > part.most) return false;
  if (part.at.empty()) return part.letters.empty() || text.find_first_not_of(part.letters) == std::string_view::npos;
  for (std::size_t from = 0; from + text.size() <= part.at.size(); ++from)
    if (std::ranges::equal(text, part.at.subspan(from, text.size()),
                           [](char c, std::string_view all) { return all.contains(c); }))
      return true;
  return false;
}

LineSearch::Answer answer(bool holds) { return holds ? LineSearch::Answer::Yes : LineSearch::Answer::No; }

}  // namespace

bool LineSearch::takes(std::string_view text) {
  return !text.empty() && text.size() <= kLongest &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

LineSearch::LineSearch(TraceLines& lines, std::string_view text, bool minds_case)
    : lines_(lines), text_(folded(text, minds_case)), minds_case_(minds_case) {
  has_other_cases_ = !minds_case && text_.find_first_of("ks") != std::string::npos;  // U+212A, U+017F
}

// ---- the plan of an event -------------------------------------------------------------------

const LineSearch::Plan& LineSearch::plan_of(const EventFormat& event) {
  const auto [it, is_new] = plans_.try_emplace(&event);
  Plan& plan = it->second;
  if (!is_new) return plan;
  const auto format = lines_.own_format(event);
  if (!format) return plan;
  plan.is_understood = true;
  plan.format = *format;
  add_parts(event, plan);
  align(plan);
  const auto is_doubtful = [](const Part& part) { return !is_ascii(part.text); };
  if (has_other_cases_ && std::ranges::any_of(plan.parts, is_doubtful)) plan = {};
  return plan;
}

void LineSearch::add_constant(std::string_view text, Plan& plan) const {
  if (text.empty()) return;
  if (plan.parts.empty() || plan.parts.back().kind != PartKind::Constant) plan.parts.push_back({});
  plan.parts.back().text += folded(text, minds_case_);
}

void LineSearch::add_parts(const EventFormat& event, Plan& plan) const {
  plan.parts.push_back({.kind = PartKind::Task, .least = 24});                 // "            bash-4711   "
  plan.parts.push_back({.kind = PartKind::Cpu, .letters = kCpu, .least = 7});  // " [000] "
  plan.parts.push_back({.kind = PartKind::Flags, .at = kFlags, .least = 5, .most = 5});
  plan.parts.push_back({.kind = PartKind::Time, .letters = kTime, .least = 13});  // " 84527.624472"
  add_constant(": " + event.name + ": ", plan);
  for (const PrintPiece& piece : plan.format.print->pieces()) {
    add_constant(piece.before, plan);
    if (piece.conversion == 0) continue;
    Part part{.kind = PartKind::Other, .piece = &piece};
    const bool is_plain = piece.width == 0 && piece.precision < 0 && !piece.plus;
    if ((part.field = plan.format.print->place_of(piece)) != nullptr) {
      part.kind = PartKind::Place;
    } else if ((part.field = plan.format.print->string_of(piece)) != nullptr) {
      part.kind = PartKind::String;
    } else if (is_plain && (piece.conversion == 'd' || piece.conversion == 'u')) {
      part.kind = PartKind::Integer;
      part.letters = kDigits;
      part.least = 1;
      part.field = plan.format.print->number_of(piece);
    } else if (is_plain && !piece.prefix && (piece.conversion == 'x' || piece.conversion == 'X')) {
      part.kind = PartKind::Integer;
      part.letters = kHexDigits;
      part.least = 1;
    }
    plan.parts.push_back(std::move(part));
  }
}

void LineSearch::add_alignment(Plan& plan, const Alignment& made) {
  if (made.empty()) plan.all = Answer::Yes;
  plan.alignments.push_back(made);
  std::ranges::stable_sort(plan.alignments.back(), {}, [](const Condition& one) { return one.part->kind; });
}

// What is behind text_[0 … at) lies from the beginning of `part` on.
void LineSearch::align_from(Plan& plan, std::size_t part, std::size_t at, Alignment& so_far) const {
  if (plan.all == Answer::Yes || plan.alignments.size() > kMostAlignments || ++plan.steps > kMostSteps) return;
  const std::string_view rest = std::string_view(text_).substr(at);
  if (rest.empty()) return add_alignment(plan, so_far);
  if (part == plan.parts.size()) return;
  const Part& here = plan.parts[part];
  if (here.kind == PartKind::Constant) {
    const std::size_t common = std::min(here.text.size(), rest.size());
    if (here.text.compare(0, common, rest, 0, common) == 0) align_from(plan, part + 1, at + common, so_far);
    return;
  }
  const auto with = [&](How how, std::string_view text, std::size_t next) {
    so_far.push_back({&here, how, std::string(text)});
    align_from(plan, how == How::Begins ? plan.parts.size() : part + 1, next, so_far);
    so_far.pop_back();
  };
  if (may_have(here, rest)) with(How::Begins, rest, text_.size());
  for (std::size_t inside = here.least; inside < rest.size(); ++inside) {
    if (!may_have(here, rest.substr(0, inside))) break;
    with(How::Is, rest.substr(0, inside), at + inside);
  }
}

void LineSearch::align(Plan& plan) const {
  Alignment so_far;
  for (std::size_t i = 0; i < plan.parts.size() && plan.all != Answer::Yes; ++i) {
    const Part& part = plan.parts[i];
    if (part.kind == PartKind::Constant) {
      for (std::size_t begin = 0; begin < part.text.size(); ++begin) {
        const std::size_t common = std::min(part.text.size() - begin, text_.size());
        if (part.text.compare(begin, common, text_, 0, common) == 0) align_from(plan, i + 1, common, so_far);
      }
      continue;
    }
    const auto with = [&](How how, std::string_view text) {
      so_far.push_back({&part, how, std::string(text)});
      if (how == How::Has)
        add_alignment(plan, so_far);
      else
        align_from(plan, i + 1, text.size(), so_far);
      so_far.pop_back();
    };
    if (may_have(part, text_)) with(How::Has, text_);
    for (std::size_t inside = 1; inside < text_.size(); ++inside) {
      if (!may_have(part, std::string_view(text_).substr(0, inside))) break;
      with(How::Ends, std::string_view(text_).substr(0, inside));
    }
  }
  if (plan.all == Answer::Yes) return;
  plan.is_understood = plan.alignments.size() <= kMostAlignments && plan.steps <= kMostSteps;
  if (plan.is_understood && plan.alignments.empty()) plan.all = Answer::No;
  std::ranges::stable_sort(plan.alignments, {}, [](const Alignment& one) {
    return one.empty() ? PartKind::Constant : one.back().part->kind;  // the dearest
  });
}

// ---- one record -----------------------------------------------------------------------------

LineSearch::Answer LineSearch::ask_line(const TypedRecord& record) {
  const Plan& plan = plan_of(*record.event);
  if (!plan.is_understood || plan.all != Answer::Maybe) return plan.all;
  Answer best = Answer::No;
  for (const Alignment& alignment : plan.alignments) {
    Answer all = Answer::Yes;
    for (const Condition& condition : alignment) {
      const Answer one = ask(plan, condition, record);
      if (one != Answer::Yes) all = one;
      if (one == Answer::No) break;
    }
    if (all == Answer::Yes) return all;
    if (all == Answer::Maybe) best = all;
  }
  return best;
}

LineSearch::Answer LineSearch::ask(const Plan& plan, const Condition& condition, const TypedRecord& record) {
  if (condition.part->kind == PartKind::String) return ask_string(condition, record);
  append_part(plan, *condition.part, record);
  return ask_text(condition, scratch_);
}

LineSearch::Answer LineSearch::ask_text(const Condition& condition, std::string_view text) const {
  if (has_other_cases_ && !is_ascii(text)) return Answer::Maybe;
  const std::string_view wanted = condition.text;
  const auto fits = [&] { return wanted.size() <= text.size(); };
  switch (condition.how) {
    case How::Has:
      return answer(has(text, wanted, minds_case_));
    case How::Begins:
      return answer(fits() && has_same(text.data(), wanted, minds_case_));
    case How::Ends:
      return answer(fits() && has_same(text.data() + (text.size() - wanted.size()), wanted, minds_case_));
    case How::Is:
      return answer(wanted.size() == text.size() && has_same(text.data(), wanted, minds_case_));
  }
  return Answer::Maybe;
}

LineSearch::Answer LineSearch::ask_string(const Condition& condition, const TypedRecord& record) {
  const Value value = value_of(*condition.part->field, record.bytes);
  if (value.kind != Value::Kind::Text) return ask_text(condition, "(fault)");
  // Quotes are around the string, so they can be left out where the text has none and may lie anywhere.
  const bool is_inside = condition.how == How::Has && !condition.text.contains('"');
  if (!condition.part->piece->quoted || is_inside) return ask_text(condition, value.text);
  scratch_.assign(1, '"');
  scratch_ += value.text;
  scratch_ += '"';
  return ask_text(condition, scratch_);
}

// Sets scratch_ to what the part prints.
void LineSearch::append_part(const Plan& plan, const Part& part, const TypedRecord& record) {
  scratch_.clear();
  switch (part.kind) {
    case PartKind::Task:
      return lines_.append_front(TraceLines::Front::Task, record, scratch_);
    case PartKind::Cpu:
      return lines_.append_front(TraceLines::Front::Cpu, record, scratch_);
    case PartKind::Flags:
      return lines_.append_front(TraceLines::Front::Flags, record, scratch_);
    case PartKind::Time:
      return lines_.append_front(TraceLines::Front::Time, record, scratch_);
    case PartKind::Constant:
      return;
    case PartKind::Place:
    case PartKind::String:
    case PartKind::Integer:
    case PartKind::Other:
      return plan.format.print->print_piece(*part.piece, record.bytes, lines_.metadata().symbols_of(record.thread()),
                                            plan.format.places, scratch_);
  }
}

}  // namespace kevt::record
