// All sections that are read late, by their addresses: the address of a text or a DIE tells which section it is in.
// Line tables and places are asked for by a unit or an attribute, which know their Dwarf. Texts elsewhere (in
// .debug_info itself, in sections that are packed, in .debug_line_str) have been read.
#include "compiler/target/types/late_sections.h"

#include <dwarf.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <utility>

#include "compiler/target/types/line_files.h"
#include "compiler/target/types/table_cursor.h"

namespace kevt::target {
namespace {

constexpr std::uint64_t kAtOnce = 256;  // bytes in which most texts end
constexpr unsigned kFewTexts = 20'000;  // of more, all are read: reading on is faster than a block now and then

struct Section {
  std::shared_ptr<const FileContents> contents;
  std::uint64_t begin = 0, size = 0;  // in the contents
  std::vector<std::uint64_t> heads;   // of units; empty: these are texts
  std::atomic<unsigned> asked = 0;

  bool want(std::uint64_t at, std::uint64_t length) const { return contents->want(begin + at, length); }

  // Whether the bytes from `at` on have been read, up to a NUL.
  bool read_text(std::uint64_t at) {
    if (++asked == kFewTexts && !want(0, size)) return false;
    for (std::uint64_t length = kAtOnce; at < size; at += length) {
      length = std::min(length, size - at);
      if (!want(at, length)) return false;
      if (std::memchr(contents->bytes().data() + begin + at, 0, length) != nullptr) return true;
    }
    return false;
  }
  bool read_unit(std::uint64_t at) const {
    const auto next = std::ranges::upper_bound(heads, at);
    const std::uint64_t first = next == heads.begin() ? 0 : *std::prev(next);
    return want(first, (next == heads.end() ? size : *next) - first);
  }
};

// Of a Dwarf: what is asked for by a unit or an attribute, not by an address.
struct Tables {
  std::shared_ptr<const FileContents> contents;
  std::optional<CheckedBytes> texts, lines, places;
  std::mutex mutex;                    // guards:
  std::set<std::uint64_t> have_lines;  // where tables begin that have been read
};

struct Sections {
  std::shared_mutex mutex;
  std::map<const std::uint8_t*, std::unique_ptr<Section>> by_begin;
  std::map<Dwarf*, std::unique_ptr<Tables>> by_dwarf;
};

// Never destroyed: what is read late may live in another static object.
Sections& sections() {
  static auto& all = *new Sections;
  return all;
}

// read(SECTION, OFFSET) of the section that has `address`; true if that is none of those read late.
template <class Read>
bool read_by(const void* address, Read read) {
  Sections& all = sections();
  const std::shared_lock lock(all.mutex);
  const auto* at = static_cast<const std::uint8_t*>(address);
  const auto behind = all.by_begin.upper_bound(at);
  if (behind == all.by_begin.begin()) return true;
  const auto& [begin, section] = *std::prev(behind);
  const auto offset = static_cast<std::uint64_t>(at - begin);
  return offset >= section->size || read(*section, offset);
}

// Whether the bytes are there; those that lie outside are libdw's to judge.
bool has_read(CheckedBytes section, std::uint64_t at, std::uint64_t length, const Tables& of) {
  const auto part = section.part(at, length);
  return !part || !part->span().empty() || length == 0 || !of.contents->problem();
}

// The line table at `at`, and all texts if names of its files are among them: libdw reads those by itself.
bool read_line_table(Tables& of, std::uint64_t at) {
  const std::lock_guard lock(of.mutex);
  if (of.have_lines.contains(at)) return true;
  const LineTableExtent table = line_table_at(*of.lines, at);
  const bool is_whole = table.bytes != 0 && of.lines->holds(at, table.bytes);
  if (!has_read(*of.lines, is_whole ? at : 0, is_whole ? table.bytes : of.lines->size(), of)) return false;
  if (table.needs_debug_str && of.texts && !has_read(*of.texts, 0, of.texts->size(), of)) return false;
  of.have_lines.insert(at);
  return true;
}

// The entries of a list of DWARF 5, 2.6.2, up to its end.
bool read_place_list(const Tables& of, std::uint64_t at) {
  TableCursor in(*of.places, at);
  for (;;) {
    bool has_expression = true;
    switch (in.number<std::uint8_t>()) {
      case DW_LLE_base_addressx:
        in.uleb();
        has_expression = false;
        break;
      case DW_LLE_base_address:
        in.skip(sizeof(Dwarf_Addr));
        has_expression = false;
        break;
      case DW_LLE_startx_endx:
      case DW_LLE_startx_length:
      case DW_LLE_offset_pair:
        in.uleb();
        in.uleb();
        break;
      case DW_LLE_default_location:
        break;
      case DW_LLE_start_end:
        in.skip(2 * sizeof(Dwarf_Addr));
        break;
      case DW_LLE_start_length:
        in.skip(sizeof(Dwarf_Addr));
        in.uleb();
        break;
      default:  // the end, and what is not known
        in.fail();
    }
    if (in.good() && has_expression) {
      const std::uint64_t bytes = in.uleb();
      if (!has_read(*of.places, in.place(), bytes, of)) return false;
      in.skip(bytes);
    }
    if (!in.good()) return !of.contents->problem();
  }
}

unsigned version_of(const Dwarf_Attribute& attribute) {
  Dwarf_Die unit;
  Dwarf_Half version = 0;
  const auto* found = dwarf_cu_die(attribute.cu, &unit, &version, nullptr, nullptr, nullptr, nullptr, nullptr);
  return found != nullptr ? version : 0u;
}

// The table of a unit (DW_FORM_loclistx): its lists are behind their offsets, which are behind its head.
bool read_place_table(const Tables& of, Dwarf_Attribute& attribute) {
  constexpr std::uint64_t kHead = 12;  // bytes, the length among them: no table of 4 GB is expected
  Dwarf_Die unit;
  Dwarf_Attribute base;
  Dwarf_Word behind_head = 0;
  if (dwarf_cu_die(attribute.cu, &unit, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) == nullptr ||
      dwarf_attr(&unit, DW_AT_loclists_base, &base) == nullptr || dwarf_formudata(&base, &behind_head) != 0 ||
      behind_head < kHead)
    return has_read(*of.places, 0, of.places->size(), of);
  const std::uint64_t begin = behind_head - kHead;
  const auto bytes = of.places->read<std::uint32_t>(begin);
  return bytes ? has_read(*of.places, begin, sizeof *bytes + std::uint64_t{*bytes}, of) : !of.contents->problem();
}

// read(TABLES) of the unit's Dwarf, if some of it is read late.
template <class Read>
bool read_tables_of(Dwarf_CU* unit, Read read) {
  Sections& all = sections();
  const std::shared_lock lock(all.mutex);
  const auto found = all.by_dwarf.find(dwarf_cu_getdwarf(unit));
  return found == all.by_dwarf.end() || read(*found->second);
}

}  // namespace

const char* text_of(Dwarf_Attribute& attribute) {
  const char* text = dwarf_formstring(&attribute);
  const auto read = [](Section& section, std::uint64_t at) { return section.read_text(at); };
  return text != nullptr && read_by(text, read) ? text : nullptr;
}

bool read_unit_of(const Dwarf_Die& die) {
  return read_by(die.addr, [](const Section& section, std::uint64_t at) { return section.read_unit(at); });
}

std::optional<Dwarf_Die> die_at(Dwarf* dwarf, Dwarf_Off at) {
  Dwarf_Die die;
  if (dwarf_offdie(dwarf, at, &die) == nullptr || !read_unit_of(die)) return std::nullopt;
  return die;
}

std::optional<Dwarf_Die> unit_at(Dwarf* dwarf, Dwarf_Addr address) {
  Dwarf_Die unit;
  if (dwarf_addrdie(dwarf, address, &unit) != nullptr) return read_unit_of(unit) ? std::optional(unit) : std::nullopt;
  Dwarf_Off at = 0, next = 0;
  std::size_t header = 0;
  while (dwarf_nextcu(dwarf, at, &next, &header, nullptr, nullptr, nullptr) == 0) {
    if (dwarf_offdie(dwarf, at + header, &unit) != nullptr && dwarf_haspc(&unit, address) > 0)
      return read_unit_of(unit) ? std::optional(unit) : std::nullopt;
    at = next;
  }
  return std::nullopt;
}

bool read_lines_of(Dwarf_Die& unit) {
  return read_tables_of(unit.cu, [&](Tables& tables) {
    Dwarf_Attribute attribute;
    Dwarf_Word at = 0;
    return !tables.lines || dwarf_attr(&unit, DW_AT_stmt_list, &attribute) == nullptr ||
           dwarf_formudata(&attribute, &at) != 0 || read_line_table(tables, at);
  });
}

bool read_places_of(Dwarf_Attribute& attribute) {
  const unsigned form = dwarf_whatform(&attribute);
  if (form != DW_FORM_sec_offset && form != DW_FORM_loclistx) return true;
  return read_tables_of(attribute.cu, [&](const Tables& tables) {
    Dwarf_Word at = 0;
    if (!tables.places || version_of(attribute) < 5) return true;  // before, they are in .debug_loc
    if (form == DW_FORM_loclistx) return read_place_table(tables, attribute);
    return dwarf_formudata(&attribute, &at) != 0 || read_place_list(tables, at);
  });
}

LateSections::LateSections(Dwarf* dwarf, std::shared_ptr<const FileContents> contents, LateParts parts)
    : dwarf_(dwarf) {
  Sections& all = sections();
  const std::unique_lock lock(all.mutex);
  const auto add = [&](const std::optional<CheckedBytes>& bytes, std::vector<std::uint64_t> heads) {
    if (!bytes) return;
    const auto whole = bytes->unread_span();
    auto section = std::make_unique<Section>();
    section->contents = contents;
    section->begin = static_cast<std::uint64_t>(whole.data() - contents->bytes().data());
    section->size = whole.size();
    section->heads = std::move(heads);
    begins_.push_back(whole.data());
    all.by_begin.insert_or_assign(whole.data(), std::move(section));
  };
  add(parts.texts, {});
  add(parts.units, std::move(parts.heads));
  auto tables = std::make_unique<Tables>();
  tables->contents = std::move(contents);
  tables->texts = parts.texts;
  tables->lines = parts.lines;
  tables->places = parts.places;
  all.by_dwarf.insert_or_assign(dwarf, std::move(tables));
}

LateSections::~LateSections() {
  Sections& all = sections();
  const std::unique_lock lock(all.mutex);
  for (const std::uint8_t* begin : begins_) all.by_begin.erase(begin);
  all.by_dwarf.erase(dwarf_);
}

}  // namespace kevt::target
