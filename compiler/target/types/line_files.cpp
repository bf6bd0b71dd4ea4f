#include "compiler/target/types/line_files.h"

#include <dwarf.h>
#include <gelf.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "compiler/target/types/dwarf_die.h"
#include "compiler/target/types/table_cursor.h"

namespace kevt::target {
namespace {

struct Entry {
  std::string_view name;
  std::uint64_t folder = 0;
};

// A list of folders or files of DWARF 5: its entries say themselves of which parts they are.
class EntryList {
 public:
  EntryList(TableCursor& cursor, bool is_wide, CheckedBytes line_texts = {}, CheckedBytes texts = {})
      : at_(cursor), is_wide_(is_wide), line_texts_(line_texts), texts_(texts) {}

  std::vector<Entry> read() {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> parts;  // content type and form
    for (unsigned left = at_.number<std::uint8_t>(); left > 0; --left) {
      const std::uint64_t type = at_.uleb();
      parts.emplace_back(type, at_.uleb());
      needs_debug_str_ = needs_debug_str_ || parts.back().second == DW_FORM_strp;
    }
    constexpr std::uint64_t kMostEntries = 1 << 20;
    std::vector<Entry> entries;
    const std::uint64_t count = at_.uleb();
    if (count > kMostEntries || (parts.empty() && count != 0)) at_.fail();
    for (std::uint64_t i = 0; i < count && at_.good(); ++i) {
      Entry& entry = entries.emplace_back();
      for (const auto& [type, form] : parts) {
        if (type == DW_LNCT_path)
          entry.name = text(form);
        else if (const std::uint64_t value = number(form); type == DW_LNCT_directory_index)
          entry.folder = value;
      }
    }
    return entries;
  }
  // Whether texts of the list that was read are in .debug_str.
  bool needs_debug_str() const { return needs_debug_str_; }

 private:
  std::string_view text(std::uint64_t form) {
    if (form == DW_FORM_string) return at_.text();
    const std::uint64_t offset = at_.offset(is_wide_);
    if (form == DW_FORM_line_strp) return line_texts_.text(offset);
    if (form == DW_FORM_strp) return texts_.text(offset);
    at_.fail();
    return {};
  }
  std::uint64_t number(std::uint64_t form) {
    switch (form) {
      case DW_FORM_udata:
        return at_.uleb();
      case DW_FORM_data1:
        return at_.number<std::uint8_t>();
      case DW_FORM_data2:
        return at_.number<std::uint16_t>();
      case DW_FORM_data4:
        return at_.number<std::uint32_t>();
      case DW_FORM_data8:
        return at_.number<std::uint64_t>();
      case DW_FORM_data16:
        at_.skip(16);
        return 0;
      case DW_FORM_block:
        at_.skip(at_.uleb());
        return 0;
      default:
        at_.fail();
        return 0;
    }
  }

  TableCursor& at_;
  bool is_wide_;
  CheckedBytes line_texts_, texts_;
  bool needs_debug_str_ = false;
};

// What stands before the lists of folders and files.
struct TableHead {
  bool is_wide = false;     // offsets of 8 bytes
  std::uint64_t bytes = 0;  // of the table behind this number
  std::uint16_t version = 0;
  bool is_known() const { return version >= 2 && version <= 5; }
};

// Reads a version that is not known no further.
TableHead read_head(TableCursor& at) {
  TableHead head;
  const auto short_bytes = at.number<std::uint32_t>();
  head.is_wide = short_bytes == 0xffffffff;
  head.bytes = head.is_wide ? at.number<std::uint64_t>() : short_bytes;
  head.version = at.number<std::uint16_t>();
  if (!head.is_known()) return head;
  if (head.version == 5) at.skip(2);  // sizes of addresses and segment selectors
  at.offset(head.is_wide);            // bytes of the head
  at.skip(head.version >= 4 ? 5 : 4);
  const auto opcodes = at.number<std::uint8_t>();
  at.skip(opcodes == 0 ? 0 : opcodes - 1u);
  return head;
}

// Before DWARF 5: texts, and an empty one behind the last. Files and folders are numbered from 1; folder 0 is the
// unit's own.
std::pair<std::vector<Entry>, std::vector<Entry>> read_old_lists(TableCursor& at, std::string_view own) {
  std::vector<Entry> folders = {{.name = own}}, files;
  for (std::string_view name = at.text(); !name.empty() && at.good(); name = at.text())
    folders.push_back({.name = name});
  for (std::string_view name = at.text(); !name.empty() && at.good(); name = at.text()) {
    files.push_back({.name = name, .folder = at.uleb()});
    at.uleb();  // when it was changed
    at.uleb();  // bytes
  }
  return {std::move(folders), std::move(files)};
}

// A relative one is in the compiler's folder: whole_path() adds that.
std::string path_of(const Entry& file, const std::vector<Entry>& folders) {
  if (file.name.starts_with('/') || file.folder >= folders.size() || folders[file.folder].name.empty())
    return std::string(file.name);
  return std::string(folders[file.folder].name) + "/" + std::string(file.name);
}

CheckedBytes section_bytes(Elf_Scn* section) {
  const Elf_Data* data = elf_rawdata(section, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return {};
  return CheckedBytes(std::span(static_cast<const std::uint8_t*>(data->d_buf), data->d_size));
}

}  // namespace

LineFiles::LineFiles(Dwarf* dwarf) {
  Elf* const elf = dwarf_getelf(dwarf);
  std::size_t names = 0;
  if (elf == nullptr || elf_getshdrstrndx(elf, &names) != 0) return;
  const std::pair<std::string_view, CheckedBytes*> wanted[] = {
      {".debug_line", &line_}, {".debug_line_str", &line_texts_}, {".debug_str", &texts_}};
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || (header.sh_flags & SHF_COMPRESSED)) continue;
    const char* name = elf_strptr(elf, names, header.sh_name);
    for (const auto& [called, bytes] : wanted)
      if (name != nullptr && called == name) *bytes = section_bytes(section);
  }
}

std::optional<std::vector<std::string>> LineFiles::of(Dwarf_Die& unit) const {
  Dwarf_Attribute attribute;
  Dwarf_Word table = 0;
  if (dwarf_attr(&unit, DW_AT_stmt_list, &attribute) == nullptr || dwarf_formudata(&attribute, &table) != 0)
    return std::nullopt;
  const char* folder = dwarf_attr(&unit, DW_AT_comp_dir, &attribute) != nullptr ? text_of(attribute) : nullptr;
  const std::string_view own = folder == nullptr ? "" : folder;
  TableCursor at(line_, table);
  const TableHead head = read_head(at);
  if (!at.good() || !head.is_known()) return std::nullopt;
  std::vector<Entry> folders, files;
  if (head.version == 5) {
    folders = EntryList(at, head.is_wide, line_texts_, texts_).read();
    files = EntryList(at, head.is_wide, line_texts_, texts_).read();
  } else {
    std::tie(folders, files) = read_old_lists(at, own);
  }
  if (!at.good() || files.empty()) return std::nullopt;
  std::vector<std::string> paths;
  for (const Entry& file : files) paths.push_back(path_of(file, folders));
  return paths;
}

LineTableExtent line_table_at(CheckedBytes line_tables, std::uint64_t begin) {
  TableCursor at(line_tables, begin);
  const TableHead head = read_head(at);
  LineTableExtent table;
  for (unsigned list = 0; head.version == 5 && list < 2; ++list) {
    EntryList entries(at, head.is_wide);
    entries.read();
    table.needs_debug_str = table.needs_debug_str || entries.needs_debug_str();
  }
  if (at.good() && head.is_known() && head.bytes != 0) table.bytes = head.bytes + (head.is_wide ? 12 : 4);
  return table;
}

bool needs_debug_str(CheckedBytes line_tables) {
  for (std::uint64_t at = 0; at < line_tables.size();) {
    const LineTableExtent table = line_table_at(line_tables, at);
    if (table.needs_debug_str || table.bytes == 0) return true;
    at += table.bytes;
  }
  return false;
}

}  // namespace kevt::target
