// A note of type 3, "stapsdt":
//
//   place, base, semaphore    three link-time addresses of 8 bytes
//   provider, name, arguments NUL-terminated
//
// prelink moves code without rewriting notes: if .stapsdt.base does not lie at `base`, the three addresses are wrong by
// the difference.
#include "compiler/target/elf/usdt.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <set>
#include <utility>

#include "compiler/target/elf/checked_bytes.h"
#include "compiler/target/elf/elf_sections.h"
#include "compiler/target/elf/file_contents.h"
#include "compiler/target/near_misses.h"

namespace kevt::target {

namespace {

constexpr std::uint32_t kMarkerNote = 3;
constexpr std::string_view kOwner = "stapsdt";
constexpr std::uint64_t kAddresses = 3 * sizeof(std::uint64_t), kLongestWord = 1024;

struct Note {
  std::uint64_t place = 0, base = 0, semaphore = 0;
  std::string_view provider, name, arguments;
};

std::optional<Note> note_in(CheckedBytes description) {
  Note note;
  const auto place = description.read<std::uint64_t>(0), base = description.read<std::uint64_t>(8),
             semaphore = description.read<std::uint64_t>(16);
  if (!place || !base || !semaphore) return std::nullopt;
  note = {.place = *place, .base = *base, .semaphore = *semaphore};
  note.provider = description.text(kAddresses, kLongestWord);
  const std::uint64_t name_at = kAddresses + note.provider.size() + 1;
  note.name = description.text(name_at, kLongestWord);
  note.arguments = description.text(name_at + note.name.size() + 1, kLongestWord);
  return note.provider.empty() || note.name.empty() ? std::nullopt : std::optional(note);
}

std::uint64_t padded_note(std::uint64_t bytes) { return (bytes + 3) & ~std::uint64_t{3}; }

template <class Use>
void for_each_note(CheckedBytes notes, Use use) {
  std::uint64_t at = 0;
  while (const auto header = notes.read<Elf64_Nhdr>(at)) {
    const std::uint64_t name_at = at + sizeof *header, description_at = name_at + padded_note(header->n_namesz);
    const auto description = notes.part(description_at, header->n_descsz);
    if (!description) return;
    if (header->n_type == kMarkerNote && notes.text(name_at, header->n_namesz) == kOwner)
      if (const auto note = note_in(*description)) use(*note);
    at = description_at + padded_note(header->n_descsz);
  }
}

std::optional<UsdtMarker> marker_of(const Note& note, const ElfImage& image, std::uint64_t moved) {
  const ImageAddr address{note.place + moved};
  const auto offset = image.file_offset(address);
  if (!offset || !image.is_executable(address)) return std::nullopt;
  UsdtMarker marker{.provider = std::string(note.provider),
                    .name = std::string(note.name),
                    .arguments = std::string(note.arguments),
                    .address = address,
                    .offset = *offset,
                    .semaphore = {}};
  if (note.semaphore) marker.semaphore = image.file_offset({note.semaphore + moved});
  return marker;
}

}  // namespace

Result<std::vector<UsdtMarker>> read_usdt_markers(const ElfImage& image) {
  std::vector<UsdtMarker> markers;
  auto contents = KEVT_TRY(FileContents::open_shared(image.path()));
  const CheckedBytes file(*contents);
  const auto header = read_elf_header(file);
  if (!header) return markers;
  const ElfSections sections = read_sections(file, *header);
  const Elf64_Shdr* notes = sections.find(".note.stapsdt");
  const Elf64_Shdr* base = sections.find(".stapsdt.base");
  if (notes)
    for_each_note(sections.contents(*notes).unbroken(), [&](const Note& note) {
      const std::uint64_t moved = base && note.base ? base->sh_addr - note.base : 0;
      if (auto marker = marker_of(note, image, moved)) markers.push_back(*std::move(marker));
    });
  if (auto problem = contents->problem()) return std::unexpected(std::move(*problem));
  return markers;
}

namespace {

// `4@counter(%rip)` becomes `4@0x3010(%file)`: probes of files name memory by its offset in the file.
std::string with_file_offsets(std::string_view arguments, const ElfImage& image) {
  constexpr std::string_view kByName = "(%rip)";
  std::string out;
  while (!arguments.empty()) {
    const std::size_t end = std::min(arguments.find(' '), arguments.size());
    const std::string_view word = arguments.substr(0, end);
    arguments.remove_prefix(std::min(end + 1, arguments.size()));
    if (!out.empty()) out += ' ';
    const std::size_t begin = word.find('@') + 1;  // 0: there is none
    const std::string_view name = word.substr(begin, word.find_first_of("+(", begin) - begin);
    const auto objects = word.ends_with(kByName) ? image.find_objects(name) : std::vector<ElfSymbol>();
    const std::string_view rest = word.substr(std::min(begin + name.size(), word.size()));
    std::uint64_t more = 0;  // of `counter+8(%rip)`
    if (rest.starts_with('+')) std::from_chars(rest.data() + 1, rest.data() + rest.size(), more);
    const auto offset = objects.size() == 1 ? image.file_offset(objects.front().address + more) : std::nullopt;
    out += offset ? fmt::format("{}{:#x}(%file)", word.substr(0, begin), offset->value) : std::string(word);
  }
  return out;
}

}  // namespace

std::expected<std::vector<UsdtSite>, LookupError> usdt_sites(const ElfImage& image, std::string_view path,
                                                             std::string_view provider, std::string_view name) {
  auto markers = read_usdt_markers(image);
  if (!markers) return std::unexpected(LookupError{.why = markers.error().message()});
  const std::string wanted = std::string(provider) + ":" + std::string(name);
  constexpr std::size_t kMostSites = 4096;
  std::vector<UsdtSite> sites;
  std::set<std::uint64_t> seen;  // offsets; folded functions share code, which has a note for each of them
  NearMisses near(wanted);
  for (UsdtMarker& marker : *markers) {
    const std::string text = marker.provider + ":" + marker.name;
    near.consider(text, "");
    if (text != wanted || !seen.insert(marker.offset.value).second) continue;
    if (sites.size() == kMostSites) return std::unexpected(LookupError{.why = "it has too many places"});
    UsdtSite& site = sites.emplace_back();
    site.path = path;
    site.offset = marker.offset.value;
    site.arguments = with_file_offsets(marker.arguments, image);
    if (marker.semaphore) site.semaphore = marker.semaphore->value;
  }
  if (!sites.empty()) return sites;
  return std::unexpected(LookupError{LookupFailure::NotFound, near.best()});
}

}  // namespace kevt::target
