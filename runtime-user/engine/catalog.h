// Catalog: the events that are defined, found by name.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "compiler/target/event_catalog.h"

namespace kevt::engine {

class Catalog {
 public:
  // Appends the definition to its event, or makes one with that layout.
  void add(const model::Definition& definition, const model::RecordLayout& layout);
  // Position of an event in the order of their first definitions, or size().
  std::size_t position(std::string_view group, std::string_view event) const;
  std::size_t size() const { return entries_.size(); }
  const target::CatalogEntry* find(std::string_view group, std::string_view event) const;
  const std::deque<target::CatalogEntry>& entries() const { return entries_; }

 private:
  std::deque<target::CatalogEntry> entries_;
  std::unordered_map<std::string, std::size_t> by_name_;  // GROUP/EVENT
};

}  // namespace kevt::engine
