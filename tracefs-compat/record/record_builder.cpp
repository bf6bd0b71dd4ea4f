#include "tracefs-compat/record/record_builder.h"

#include <algorithm>
#include <cstring>

namespace kevt::record {
namespace {

constexpr std::size_t kMaxRecord = 0xffff;  // bytes; a data_loc word has 16 bits for an offset

}  // namespace

RecordBuilder::RecordBuilder(const EventFormat& event, std::vector<std::uint8_t>& out) : event_(event), out_(out) {
  out_.assign(std::min<std::size_t>(event.fixed_size(), kMaxRecord), 0);
}

void RecordBuilder::store_common(std::uint8_t flags, std::uint8_t preempt_count, std::int32_t pid) {
  store(0, event_.id, 2);
  store(2, flags, 1);
  store(3, preempt_count, 1);
  store(4, static_cast<std::uint32_t>(pid), 4);
}

void RecordBuilder::store(std::uint64_t offset, std::uint64_t value, std::uint32_t bytes) {
  if (bytes <= 8 && offset + bytes <= out_.size()) std::memcpy(out_.data() + offset, &value, bytes);
}

void RecordBuilder::store_number(const Field& field, std::uint64_t value, std::uint32_t item) {
  store(field.offset + std::uint64_t{item} * field.item_bytes, value, field.item_bytes);
}

void RecordBuilder::store_text(const Field& field, std::string_view text) {
  const std::size_t length = std::min<std::size_t>(text.size(), field.size);
  if (std::uint64_t{field.offset} + length <= out_.size()) std::memcpy(out_.data() + field.offset, text.data(), length);
}

void RecordBuilder::store_dynamic(const Field& field, std::string_view data, std::uint32_t item) {
  const std::uint64_t word_at = field.offset + 4ull * item;
  const std::size_t at = out_.size();
  if (at + data.size() > kMaxRecord) return;
  const std::uint64_t offset = field.is_relative ? at - (word_at + 4) : at;
  store(word_at, data.empty() ? 0 : data.size() << 16 | offset, 4);
  out_.insert(out_.end(), data.begin(), data.end());
}

void RecordBuilder::end_at(const Field& field, std::size_t items) {
  const std::uint64_t end = field.offset + items * field.item_bytes;
  const bool is_last = out_.size() == std::uint64_t{field.offset} + field.size;
  if (field.kind == FieldKind::Numbers && is_last && end < out_.size()) out_.resize(end);
}

}  // namespace kevt::record
