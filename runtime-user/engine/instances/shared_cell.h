// SharedCell: a number of the engine that the code of hits may also read and change.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>

namespace kevt::engine {

// The words of one runtime (ProbeRuntime::shared_cells), and which of them are free. A word that was given back is
// taken again as late as possible, since a hit in progress may still change it.
class SharedCellPool {
 public:
  explicit SharedCellPool(std::span<std::uint64_t> words);
  SharedCellPool(const SharedCellPool&) = delete;

  bool offers_any() const { return !words_.empty(); }
  std::optional<std::uint32_t> take();
  void give_back(std::uint32_t index) { free_.push_back(index); }
  std::uint64_t& at(std::uint32_t index) { return words_[index]; }

 private:
  std::span<std::uint64_t> words_;
  std::deque<std::uint32_t> free_;
};

class SharedCell {
 public:
  explicit SharedCell(std::uint64_t value = 0) : own_(value) {}
  SharedCell(SharedCell&& other) noexcept;
  SharedCell& operator=(SharedCell&& other) noexcept;
  ~SharedCell();

  std::uint64_t load() const;
  void store(std::uint64_t value);
  std::uint64_t exchange(std::uint64_t value);
  void take_one();
  // Moves the number into one of `room`'s words for the rest of its life; `room` must outlive this cell. False: no word
  // is free, or the cell lies in another pool.
  bool share(SharedCellPool& room);
  std::uint32_t index() const { return index_; }  // of its word; only after share() was true

 private:
  std::uint64_t& place() const;

  mutable std::uint64_t own_ = 0;
  SharedCellPool* room_ = nullptr;  // nullptr: the number is own_
  std::uint32_t index_ = 0;
};

// A cell that is on or off. Any value but 0 that a traced process writes counts as on.
class SharedSwitch {
 public:
  explicit SharedSwitch(bool on) : word_(on ? 1 : 0) {}
  explicit operator bool() const { return word_.load() != 0; }
  SharedSwitch& operator=(bool on) {
    word_.store(on ? 1 : 0);
    return *this;
  }
  // Returns the state before.
  bool exchange(bool on) { return word_.exchange(on ? 1 : 0) != 0; }
  SharedCell& word() { return word_; }

 private:
  SharedCell word_;
};

// How often something may still happen. A value that a traced process made negative counts as 0.
class SharedCount {
 public:
  explicit SharedCount(std::uint64_t left) : word_(left) {}
  std::uint64_t left() const {
    const std::uint64_t left = word_.load();  // read once: hits may change it meanwhile
    return static_cast<std::int64_t>(left) < 0 ? 0 : left;
  }
  void take_one() { word_.take_one(); }
  SharedCell& word() { return word_; }

 private:
  SharedCell word_;
};

}  // namespace kevt::engine
