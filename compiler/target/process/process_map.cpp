// /proc/PID/maps, read once and then reasoned about without the process.
//
//   7f0012000000-7f0012159000 r-xp 00026000 08:01 1234   /usr/lib/x86_64-linux-gnu/libc.so.6
//
// Lines of one file in a row are one loaded object, until a line's file offset goes back: then the file
// is mapped a second time. The load bias follows from any executable line: it maps file offset 0x26000
// at 0x7f0012000000, the image has that offset at 0x26000, so the bias is the difference.
// find_gap looks for room for code within the 2 GiB that a jump reaches. Not done: MAP_GROWSDOWN areas other than
// the main stack; the arena is mapped with MAP_FIXED_NOREPLACE, so a race is an error and no damage.
// The line format is the one of fs/proc/task_mmu.c (show_map_vma, 6.1).
#include "compiler/target/process/process_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>

#include "common/page.h"

namespace kevt::target {
namespace {

constexpr std::uint64_t kLowest = 0x10000;            // default vm.mmap_min_addr
constexpr std::uint64_t kHighest = 0x7fff'ffff'f000;  // user addresses end there (47 bits)
constexpr std::uint64_t kStackRoom = 64 << 20;        // below [stack]
constexpr std::uint64_t kHeapRoom = 64 << 20;         // above [heap]

// Reads the fields of one line from left to right; after a failure `ok` stays false.
class LineReader {
 public:
  explicit LineReader(std::string_view line) : rest_(line) {}

  std::uint64_t number(int base, char end) {
    std::uint64_t value = 0;
    const auto [at, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, base);
    const std::size_t used = at - rest_.data();
    if (error != std::errc{} || (end != 0 && (used >= rest_.size() || rest_[used] != end))) {
      ok_ = false;
      return 0;
    }
    rest_.remove_prefix(used + (end != 0 ? 1 : 0));
    return value;
  }
  std::string_view word(std::size_t length) {
    if (rest_.size() < length + 1 || rest_[length] != ' ') {
      ok_ = false;
      return {};
    }
    const std::string_view text = rest_.substr(0, length);
    rest_.remove_prefix(length + 1);
    return text;
  }
  std::string_view rest() {
    const std::size_t first = rest_.find_first_not_of(' ');
    return first == std::string_view::npos ? std::string_view{} : rest_.substr(first);
  }
  bool ok() const { return ok_; }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

// The kernel writes newlines in names as \012; nothing else is escaped.
std::string unescape(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const bool newline = text.starts_with("\\012");
    out.push_back(newline ? '\n' : text.front());
    text.remove_prefix(newline ? 4 : 1);
  }
  return out;
}

void set_path(Mapping& mapping, std::string_view text) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (mapping.inode != 0 && text.ends_with(kDeleted)) {
    mapping.deleted = true;
    text.remove_suffix(kDeleted.size());
  }
  mapping.path = unescape(text);
}

std::optional<Mapping> parse_line(std::string_view line) {
  LineReader in(line);
  Mapping mapping;
  mapping.start.value = in.number(16, '-');
  mapping.end.value = in.number(16, ' ');
  const std::string_view rights = in.word(4);
  mapping.offset.value = in.number(16, ' ');
  mapping.device_major = static_cast<std::uint32_t>(in.number(16, ':'));
  mapping.device_minor = static_cast<std::uint32_t>(in.number(16, ' '));
  mapping.inode = in.number(10, 0);
  if (!in.ok() || mapping.end <= mapping.start) return std::nullopt;
  mapping.readable = rights[0] == 'r';
  mapping.writable = rights[1] == 'w';
  mapping.executable = rights[2] == 'x';
  mapping.shared = rights[3] == 's';
  set_path(mapping, in.rest());
  return mapping;
}

bool continues(const LoadedObject& object, const Mapping& mapping) {
  const Mapping& last = object.ranges.back();
  const bool same_file = object.inode == mapping.inode && object.device_major == mapping.device_major &&
                         object.device_minor == mapping.device_minor && object.path == mapping.path;
  return same_file && mapping.offset.value + kPage >= last.offset.value + (last.end - last.start) &&
         mapping.offset > object.ranges.front().offset;
}

struct Gap {
  std::uint64_t begin;
  std::uint64_t end;
};

std::vector<Gap> free_gaps(const std::vector<Mapping>& maps) {
  std::vector<Gap> gaps;
  std::uint64_t begin = kLowest;
  for (const Mapping& mapping : maps) {
    const std::uint64_t below = mapping.path.starts_with("[stack") ? kStackRoom : kPage;
    const std::uint64_t end = mapping.start.value > below ? mapping.start.value - below : 0;
    if (end > begin) gaps.push_back({begin, std::min(end, kHighest)});
    const std::uint64_t above = mapping.path == "[heap]" ? kHeapRoom : kPage;
    begin = std::max(begin, mapping.end.value + above);
  }
  if (begin < kHighest) gaps.push_back({begin, kHighest});
  return gaps;
}

std::uint64_t farthest(std::uint64_t start, std::uint64_t size, std::uint64_t near) {
  const std::uint64_t below = near > start ? near - start : 0;
  const std::uint64_t above = start + size > near ? start + size - near : 0;
  return std::max(below, above);
}

}  // namespace

Result<std::vector<Mapping>> parse_maps(std::string_view text) {
  std::vector<Mapping> maps;
  for (unsigned number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    auto mapping = parse_line(line);
    if (!mapping) return std::unexpected(Error(fmt::format("line {} of a maps file: `{}`", number, line)));
    maps.push_back(std::move(*mapping));
  }
  std::ranges::stable_sort(maps, {}, &Mapping::start);
  return maps;
}

Result<std::vector<Mapping>> read_maps(pid_t pid) {
  const std::string path = fmt::format("/proc/{}/maps", pid);
  std::ifstream in(path);
  if (!in) return std::unexpected(Error::from_errno("open " + path));
  std::ostringstream text;
  text << in.rdbuf();  // unlike an iterator, rdbuf() takes a failed read (the process has just ended) as the end
  return parse_maps(text.str());
}

bool LoadedObject::contains(RemoteAddr a) const {
  return std::ranges::any_of(ranges, [&](const Mapping& mapping) { return mapping.contains(a); });
}

std::vector<LoadedObject> loaded_objects(const std::vector<Mapping>& maps) {
  std::vector<LoadedObject> objects;
  for (const Mapping& mapping : maps) {
    if (!mapping.is_file()) continue;
    if (objects.empty() || !continues(objects.back(), mapping)) {
      objects.push_back({.path = mapping.path,
                         .deleted = mapping.deleted,
                         .device_major = mapping.device_major,
                         .device_minor = mapping.device_minor,
                         .inode = mapping.inode,
                         .ranges = {}});
    }
    objects.back().ranges.push_back(mapping);
  }
  std::erase_if(objects,
                [](const LoadedObject& object) { return std::ranges::none_of(object.ranges, &Mapping::executable); });
  return objects;
}

std::optional<std::uint64_t> load_bias(const LoadedObject& object, const ElfImage& image) {
  for (const Mapping& mapping : object.ranges) {
    if (!mapping.executable) continue;
    for (const ImageRange& range : image.executable_ranges()) {
      const std::optional<FileOffset> begin = image.file_offset(range.begin);
      if (!begin) continue;
      const std::uint64_t end = begin->value + (range.end.value - range.begin.value);
      const std::uint64_t mapped_end = mapping.offset.value + (mapping.end.value - mapping.start.value);
      if (mapping.offset.value >= end || mapped_end <= begin->value) continue;
      return mapping.start.value - (mapping.offset.value - begin->value + range.begin.value);
    }
  }
  return std::nullopt;
}

std::optional<RemoteAddr> find_gap(const std::vector<Mapping>& maps, RemoteAddr near, std::uint64_t size,
                                   std::uint64_t max_distance) {
  const std::uint64_t bytes = page_up(size);
  if (bytes == 0 || bytes < size) return std::nullopt;
  std::optional<RemoteAddr> best;
  std::uint64_t best_distance = max_distance;
  for (const Gap& gap : free_gaps(maps)) {
    if (gap.end < bytes || gap.end - bytes < gap.begin) continue;
    const std::uint64_t wanted = page_down(near.value);
    const std::uint64_t start = std::clamp(wanted, gap.begin, gap.end - bytes);
    const std::uint64_t distance = farthest(start, bytes, near.value);
    if (distance > best_distance || (best && distance == best_distance)) continue;
    best = RemoteAddr{start};
    best_distance = distance;
  }
  return best;
}

}  // namespace kevt::target
