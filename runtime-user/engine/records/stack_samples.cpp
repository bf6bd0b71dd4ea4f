// Debian's libraries keep no frame pointers, so a hit cannot walk its stack cheaply. It copies the part of the stack
// from the stack pointer on, and the reader unwinds by call frame information
// (compiler/target/process/stack_unwinder.h). The copy is made by fetch-args like any others: arrays of 64 words, one
// behind the other, are 2.5 KiB of the 3 KiB that the fixed part of a record may hold; strings have room of their own.
//
// A word beyond the end of the stack cannot be read and is stored as 0, as in any fetch-arg.
#include "runtime-user/engine/records/stack_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "common/assert.h"
#include "compiler/model/record_view.h"
#include "grammar/parse.h"

namespace kevt::engine {
namespace {

constexpr std::array<std::string_view, 6> kRegisters = {"bx", "bp", "r12", "r13", "r14", "r15"};
constexpr std::uint32_t kPieces = 5, kPieceWords = 64, kWord = 8;
constexpr std::string_view kStackPointer = "kevt_sp";

// The fetch-args of the sample, parsed once as part of a made-up definition.
std::vector<model::FetchArg> sample_args() {
  std::string text = fmt::format("p:sample sample {}=$stack:x64", kStackPointer);
  for (std::string_view name : kRegisters) text += fmt::format(" kevt_{}=%{}:x64", name, name);
  for (std::uint32_t i = 0; i < kPieces; ++i)
    text += fmt::format(" kevt_s{}=+{}($stack):x64[{}]", i, i * kPieceWords * kWord, kPieceWords);
  diag::Sink sink;
  auto parsed = grammar::parse_line_leniently(text, grammar::EventsFile::Dynamic, sink);
  KEVT_ASSERT(parsed && sink.empty());
  return std::get<model::Definition>(std::move(*parsed)).args;
}

}  // namespace

void add_stack_sample(model::Definition& written) {
  static const std::vector<model::FetchArg> args = sample_args();
  const auto end = static_cast<std::uint32_t>(written.command.size());  // mistakes in the sample are shown there
  for (model::FetchArg arg : args) {
    arg.span = arg.expr_span = arg.expr.base_span = arg.type.span = {end, end};
    for (model::Dereference& dereference : arg.expr.dereferences) dereference.span = {end, end};
    written.args.push_back(std::move(arg));
  }
}

void explain_stack_sample(diag::Diagnostic& mistake) {
  mistake.notes.push_back({"a sample of the stack (--stack) stands behind it: 12 arguments, 2.6 KiB"});
}

std::optional<StackSamples> StackSamples::of(const model::RecordLayout& sampled) {
  const auto& fields = sampled.fields;
  const auto first = std::ranges::find(fields, kStackPointer, &model::RecordField::name);
  if (first == fields.end() || fields.end() - first != 1 + std::ssize(kRegisters) + kPieces) return std::nullopt;
  StackSamples made;
  made.whole_size_ = sampled.fixed_size;
  made.registers_at_ = first->offset;
  made.stack_at_ = made.registers_at_ + (1 + std::size(kRegisters)) * kWord;
  for (const model::RecordField& field : fields)
    if (field.role == model::FieldRole::ProbeIp || field.role == model::FieldRole::ProbeRetIp)
      made.pc_at_ = field.offset;
  made.layout_ = sampled;
  made.layout_.fields.resize(static_cast<std::size_t>(first - fields.begin()));
  made.layout_.fixed_size = made.registers_at_;
  return made;
}

std::vector<std::uint8_t> StackSamples::public_record(std::span<const std::uint8_t> record) const {
  const std::uint32_t gone = whole_size_ - layout_.fixed_size;
  std::vector<std::uint8_t> out(record.begin(),
                                record.begin() + std::min<std::ptrdiff_t>(layout_.fixed_size, std::ssize(record)));
  out.resize(layout_.fixed_size);
  if (record.size() > whole_size_) out.insert(out.end(), record.begin() + whole_size_, record.end());
  for (const model::RecordField& field : layout_.fields) {
    if (!model::RecordLayout::is_string(field)) continue;
    for (std::uint32_t at = field.offset; at < field.offset + field.size; at += 4) {
      std::uint32_t word = 0;
      std::memcpy(&word, out.data() + at, sizeof word);
      if ((word & 0xffff) < whole_size_) continue;  // absent, or nonsense
      word -= gone;
      std::memcpy(out.data() + at, &word, sizeof word);
    }
  }
  return out;
}

target::StackSample StackSamples::sample(std::span<const std::uint8_t> record) const {
  const auto registers = [&](std::uint32_t i) { return model::number_at(record, registers_at_ + i * kWord, kWord); };
  const std::size_t room = record.size() > stack_at_ ? record.size() - stack_at_ : 0;
  return {.pc = model::number_at(record, pc_at_, kWord),
          .sp = registers(0),
          .bx = registers(1),
          .bp = registers(2),
          .r12 = registers(3),
          .r13 = registers(4),
          .r14 = registers(5),
          .r15 = registers(6),
          .stack = record.size() > stack_at_
                       ? record.subspan(stack_at_, std::min<std::size_t>(room, kPieces * kPieceWords * kWord))
                       : std::span<const std::uint8_t>{}};
}

}  // namespace kevt::engine
