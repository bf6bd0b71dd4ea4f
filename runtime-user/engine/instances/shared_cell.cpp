#include "runtime-user/engine/instances/shared_cell.h"

#include <atomic>
#include <utility>

namespace kevt::engine {

SharedCellPool::SharedCellPool(std::span<std::uint64_t> words) : words_(words) {
  for (std::uint32_t index = 0; index < words.size(); ++index) free_.push_back(index);
}

std::optional<std::uint32_t> SharedCellPool::take() {
  if (free_.empty()) return std::nullopt;
  const std::uint32_t index = free_.front();
  free_.pop_front();
  return index;
}

SharedCell::SharedCell(SharedCell&& other) noexcept
    : own_(other.own_), room_(std::exchange(other.room_, nullptr)), index_(other.index_) {}

SharedCell& SharedCell::operator=(SharedCell&& other) noexcept {
  std::swap(own_, other.own_);
  std::swap(room_, other.room_);
  std::swap(index_, other.index_);
  return *this;
}

SharedCell::~SharedCell() {
  if (room_) room_->give_back(index_);
}

std::uint64_t& SharedCell::place() const { return room_ ? room_->at(index_) : own_; }

std::uint64_t SharedCell::load() const { return std::atomic_ref(place()).load(); }
void SharedCell::store(std::uint64_t value) { std::atomic_ref(place()).store(value); }
std::uint64_t SharedCell::exchange(std::uint64_t value) { return std::atomic_ref(place()).exchange(value); }
void SharedCell::take_one() { std::atomic_ref(place()).fetch_sub(1); }

bool SharedCell::share(SharedCellPool& room) {
  if (room_) return room_ == &room;
  const auto index = room.take();
  if (!index) return false;
  std::atomic_ref(room.at(*index)).store(own_);
  room_ = &room;
  index_ = *index;
  return true;
}

}  // namespace kevt::engine
