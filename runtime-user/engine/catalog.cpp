// A group's and an event's name hold no slash, so `GROUP/EVENT` names one event. Each new definition looks for its name
// among all: 10,000 of them are found by hash.
#include "runtime-user/engine/catalog.h"

namespace kevt::engine {

namespace {

std::string event_key(std::string_view group, std::string_view event) {
  std::string key(group);
  key += '/';
  key += event;
  return key;
}

}  // namespace

std::size_t Catalog::position(std::string_view group, std::string_view event) const {
  const auto it = by_name_.find(event_key(group, event));
  return it == by_name_.end() ? entries_.size() : it->second;
}

const target::CatalogEntry* Catalog::find(std::string_view group, std::string_view event) const {
  const std::size_t at = position(group, event);
  return at == entries_.size() ? nullptr : &entries_[at];
}

void Catalog::add(const model::Definition& definition, const model::RecordLayout& layout) {
  const auto [it, is_new] = by_name_.try_emplace(event_key(definition.group, definition.event), entries_.size());
  if (is_new)
    entries_.push_back({definition.group, definition.event, target::owner_of(definition.kind), {definition}, layout});
  else
    entries_[it->second].siblings.push_back(definition);
}

}  // namespace kevt::engine
