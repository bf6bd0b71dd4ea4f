// A path is walked along the table's patterns:
//
//   instances/i/events/kprobes/op/enable
//   └ instance `i` ┘ └ the pattern events/{group}/{event}/enable with group=kprobes, event=op ┘
//
// A proper prefix of some pattern is a directory. A literal segment wins over a name in braces.
#include "tracefs-compat/tree/tree.h"

#include <algorithm>
#include <cerrno>
#include <span>

#include "tracefs-compat/tree/node_table.h"

namespace kevt::tree {

namespace {

constexpr mode_t kDirectoryMode = 0750;
constexpr std::string_view kInstances = "instances";

std::vector<std::string_view> segments_of(std::string_view path) {
  std::vector<std::string_view> segments;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    if (slash > 0) segments.push_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return segments;
}

// FUSE lets longer names through than file systems do.
bool is_too_long(std::string_view path) {
  constexpr std::size_t kLongestName = 255;
  return std::ranges::any_of(segments_of(path), [](std::string_view name) { return name.size() > kLongestName; });
}

const std::vector<std::vector<std::string_view>>& patterns() {
  static const auto all = [] {
    std::vector<std::vector<std::string_view>> made;
    for (const FileKind& kind : file_kinds()) made.push_back(segments_of(kind.pattern));
    return made;
  }();
  return all;
}

bool is_wildcard(std::string_view segment) { return segment.starts_with('{'); }
std::string_view wildcard_of(std::string_view segment) { return segment.substr(1, segment.size() - 2); }

// A cheap test that rules most patterns out.
bool may_match(const std::vector<std::string_view>& pattern, const std::vector<std::string_view>& path) {
  if (path.size() > pattern.size()) return false;
  for (std::size_t i = 0; i < path.size(); ++i)
    if (!is_wildcard(pattern[i]) && pattern[i] != path[i]) return false;
  return true;
}

// The names that the braces stand for, when `path` is the pattern or a prefix of it.
std::optional<std::vector<std::string>> match(const std::vector<std::string_view>& pattern,
                                              const std::vector<std::string_view>& path, Place place) {
  place.names.clear();
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (!is_wildcard(pattern[i])) continue;
    if (!is_name_of(wildcard_of(pattern[i]), place, path[i])) return std::nullopt;
    place.names.emplace_back(path[i]);
  }
  return place.names;
}

// Keeps an instance from being removed while a file of it is open.
class InstanceHandle final : public Handle {
 public:
  InstanceHandle(std::unique_ptr<Handle> inner, const Place& place)
      : inner_(std::move(inner)), tracing_(*place.tracing), instance_(*place.instance) {
    ++instance_.users;
  }
  ~InstanceHandle() override {
    inner_.reset();
    --instance_.users;
  }
  Result<std::size_t> read(std::uint64_t offset, std::span<char> out, Waiting waiting) override {
    return inner_->read(offset, out, waiting);
  }
  // Hits before the write are judged by the state before the write.
  Result<std::size_t> write(std::string_view data, const Caller& caller) override {
    tracing_.drain();
    return inner_->write(data, caller);
  }
  bool is_ready() override { return inner_->is_ready(); }
  PollState poll() override { return inner_->poll(); }
  bool wakes_poll() override { return inner_->wakes_poll(); }
  bool awaits_end() const override { return inner_->awaits_end(); }

 private:
  std::unique_ptr<Handle> inner_;
  engine::Tracing& tracing_;
  engine::Instance& instance_;
};

}  // namespace

namespace {

// Whether a path lasts; `names`: what its braces stand for. Static events and their groups last, even if the groups
// have probes, too; other names in events/ come and go.
bool is_lasting(const engine::EventTable& events, std::span<const std::string_view> path,
                std::span<const std::string> names) {
  if (path.size() < 2 || path[0] != "events" || path[1] == "ftrace" || names.empty()) return true;
  if (names.size() > 1) {
    const engine::TracedEvent* one = events.find(names[0], names[1]);
    return one && one->is_static();
  }
  const auto all = events.in_group(names[0]);
  return std::ranges::any_of(all, &engine::TracedEvent::is_static);
}

}  // namespace

struct Tree::Found {
  Place place;
  std::vector<std::string_view> path;  // within the instance
  const FileKind* file = nullptr;      // nullptr: a directory
  bool is_instances = false;
};

std::optional<Tree::Found> Tree::find(std::string_view path) const {
  Found found{.place = {.tracing = &tracing_, .instance = &tracing_.top(), .names = {}}};
  found.path = segments_of(path);
  bool is_top = true;
  if (!found.path.empty() && found.path.front() == kInstances) {
    found.is_instances = found.path.size() == 1;
    if (found.is_instances) return found;
    found.place.instance = tracing_.instances().find(found.path[1]);
    if (!found.place.instance) return std::nullopt;
    found.path.erase(found.path.begin(), found.path.begin() + 2);
    is_top = false;
  }
  if (found.path.empty()) return found;
  bool is_directory = false;
  const auto kinds = file_kinds();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (!is_top && kinds[i].scope == Scope::TopOnly) continue;
    if (is_directory && patterns()[i].size() > found.path.size()) continue;
    if (!may_match(patterns()[i], found.path)) continue;
    auto names = match(patterns()[i], found.path, found.place);
    if (!names) continue;
    found.place.names = *std::move(names);
    if (patterns()[i].size() == found.path.size()) {
      if (kinds[i].is_there && !kinds[i].is_there(found.place)) continue;
      found.file = &kinds[i];
      return found;
    }
    is_directory = true;
  }
  return is_directory ? std::optional(found) : std::nullopt;
}

Result<Attributes> Tree::attributes(std::string_view path) const {
  if (is_too_long(path)) return fails(ENAMETOOLONG);
  const auto found = find(path);
  if (!found) return fails(ENOENT);
  const auto& path_in = found->path;
  const bool lasts = is_lasting(tracing_.events(), path_in, found->place.names);
  if (found->file) return Attributes{false, found->file->mode, lasts, false};
  const bool is_group = path_in.size() == 2 && path_in[0] == "events" && path_in[1] != "ftrace";
  const bool gets_more = found->is_instances || is_group || (path_in.size() == 1 && path_in[0] == "events");
  return Attributes{true, kDirectoryMode, lasts, lasts && !gets_more};
}

// Appends the entries that the patterns give for `found`; literal names come before those in braces.
void Tree::list_files(const Found& found, std::vector<DirectoryEntry>& list) const {
  const bool is_top = found.place.instance == &tracing_.top();
  auto path = found.path;
  const std::size_t depth = path.size();
  path.emplace_back();
  const auto add = [&](std::size_t kind, std::string_view name, std::span<const std::string> names) {
    path.back() = name;
    const bool is_directory = patterns()[kind].size() > path.size();
    list.push_back({std::string(name), is_directory, is_directory ? kDirectoryMode : file_kinds()[kind].mode,
                    is_lasting(tracing_.events(), path, names)});
  };
  std::vector<std::string_view> listed;  // names in braces whose directories are
  const auto kinds = file_kinds();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto& pattern = patterns()[i];
    if (pattern.size() <= depth || (!is_top && kinds[i].scope == Scope::TopOnly)) continue;
    if (!may_match(pattern, found.path)) continue;
    Place place = found.place;
    auto names = match(pattern, found.path, place);
    if (!names) continue;
    place.names = *std::move(names);
    if (pattern.size() == depth + 1 && kinds[i].is_there && !kinds[i].is_there(place)) continue;
    const std::string_view next = pattern[depth];
    if (!is_wildcard(next)) {
      add(i, next, place.names);
      continue;
    }
    if (std::ranges::find(listed, next) != listed.end()) continue;
    listed.push_back(next);
    for (const std::string& name : names_of(wildcard_of(next), place)) {
      place.names.push_back(name);
      add(i, name, place.names);
      place.names.pop_back();
    }
  }
}

// Sorted by name, without repetitions: several patterns may give the same name.
Result<std::vector<DirectoryEntry>> Tree::list(std::string_view path) const {
  const auto found = find(path);
  if (!found) return fails(ENOENT);
  if (found->file) return fails(ENOTDIR);
  std::vector<DirectoryEntry> list;
  if (found->is_instances) {
    for (const auto& instance : tracing_.instances())
      if (!instance->name.empty()) list.push_back({instance->name, true, kDirectoryMode, true});
  } else {
    list_files(*found, list);
  }
  if (path.empty()) list.push_back({std::string(kInstances), true, kDirectoryMode, true});
  std::ranges::stable_sort(list, {}, &DirectoryEntry::name);
  const auto again = std::ranges::unique(list, {}, &DirectoryEntry::name);
  list.erase(again.begin(), again.end());
  return list;
}

Result<std::unique_ptr<Handle>> Tree::open(std::string_view path, const OpenRequest& request) {
  const auto found = find(path);
  if (!found) return fails(ENOENT);
  if (!found->file) return fails(EISDIR);
  if (request.writes) tracing_.drain();
  auto opened = found->file->open(found->place, request);
  if (!opened) return opened;
  return std::make_unique<InstanceHandle>(*std::move(opened), found->place);
}

namespace {

// The name of an instance, when the path is that of its folder.
std::optional<std::string_view> instance_name(std::string_view path) {
  const auto segments = segments_of(path);
  if (segments.size() != 2 || segments.front() != kInstances) return std::nullopt;
  return segments[1];
}

}  // namespace

Result<void> Tree::make_directory(std::string_view path) {
  const auto name = instance_name(path);
  return name ? tracing_.instances().make(*name) : fails(EPERM);
}

Result<void> Tree::remove_directory(std::string_view path) {
  if (is_too_long(path)) return fails(ENAMETOOLONG);
  const auto name = instance_name(path);
  return name ? tracing_.remove_instance(*name) : fails(EPERM);
}

}  // namespace kevt::tree
