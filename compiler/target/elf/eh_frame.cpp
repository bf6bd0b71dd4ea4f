// Frame descriptions (.eh_frame) as a list of function ranges.
//
// A stripped library has symbols for its exported functions only, but the unwinder needs a frame
// description (FDE) for every function, so .eh_frame is the most complete list of functions there
// is. The section is a sequence of entries
//
//   u32 length | u32 id | body        id 0: CIE (how to read its FDEs), else FDE: distance to its CIE
//
// of which only pc_begin, pc_range and the exception table's address are read, e.g. an FDE with
// pc_begin -0x1f3a0 (pc-relative, 4 bytes) and pc_range 0x40 is one function of 64 bytes.
// Not done: the call frame instructions themselves, indirect pointers, 64-bit DWARF lengths.
// Format: LSB core specification, "Exception Frames"; DWARF pointer encodings DW_EH_PE_*.
#include "compiler/target/elf/eh_frame.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

namespace kevt::target {
namespace {

constexpr std::uint8_t kOmit = 0xff;
constexpr std::uint8_t kIndirect = 0x80;
constexpr std::size_t kMostCies = 1 << 16;  // linkers merge equal CIEs

// Reads forward through a piece of the section; after a failed read `ok()` stays false.
class Cursor {
 public:
  Cursor(CheckedBytes bytes, ImageAddr address, std::uint64_t at) : bytes_(bytes), address_(address), at_(at) {}

  bool ok() const { return ok_; }
  std::uint64_t at() const { return at_; }
  void skip(std::uint64_t count) {
    if (bytes_.holds(at_, count)) {
      at_ += count;
    } else {
      ok_ = false;
    }
  }
  template <class T>
  T fixed() {
    const std::optional<T> value = bytes_.read<T>(at_);
    if (!value) {
      ok_ = false;
      return T{};
    }
    at_ += sizeof(T);
    return *value;
  }
  std::uint64_t uleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t byte = fixed<std::uint8_t>();
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (!(byte & 0x80)) return value;
    }
    ok_ = false;
    return 0;
  }
  std::int64_t sleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t byte = fixed<std::uint8_t>();
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte & 0x80) continue;
      if ((byte & 0x40) && shift + 7 < 64) value |= ~std::uint64_t{0} << (shift + 7);
      return static_cast<std::int64_t>(value);
    }
    ok_ = false;
    return 0;
  }
  // A number in the format that the low four bits of a pointer encoding name.
  std::uint64_t number(std::uint8_t encoding) {
    switch (encoding & 0x0f) {
      case 0x00:
      case 0x04:
      case 0x0c:
        return fixed<std::uint64_t>();
      case 0x01:
        return uleb();
      case 0x02:
        return fixed<std::uint16_t>();
      case 0x03:
        return fixed<std::uint32_t>();
      case 0x09:
        return static_cast<std::uint64_t>(sleb());
      case 0x0a:
        return static_cast<std::uint64_t>(std::int64_t{fixed<std::int16_t>()});
      case 0x0b:
        return static_cast<std::uint64_t>(std::int64_t{fixed<std::int32_t>()});
    }
    ok_ = false;
    return 0;
  }
  // A pointer: absolute, or relative to its own address. 0 stays 0 (a null pointer).
  std::uint64_t pointer(std::uint8_t encoding) {
    const std::uint64_t place = address_.value + at_;
    const std::uint64_t value = number(encoding);
    if (value == 0) return 0;
    switch (encoding & 0x70) {
      case 0x00:
        return value;
      case 0x10:
        return place + value;
    }
    ok_ = false;
    return 0;
  }
  std::string_view text() {
    constexpr std::uint64_t kLongest = 63;  // "zPLRS" is usual
    const std::string_view value = bytes_.text(at_, kLongest);
    skip(value.size() + 1);
    return value;
  }

 private:
  CheckedBytes bytes_;
  ImageAddr address_;
  std::uint64_t at_;
  bool ok_ = true;
};

struct Cie {
  std::uint8_t pointer_encoding = 0;
  std::uint8_t lsda_encoding = kOmit;
  bool has_augmentation = false;
};

// Reads the augmentation data that the letters of `augmentation` announce.
void read_augmentation(Cursor& in, std::string_view augmentation, Cie& cie) {
  for (const char letter : augmentation.substr(1)) {
    switch (letter) {
      case 'R':
        cie.pointer_encoding = in.fixed<std::uint8_t>();
        break;
      case 'L':
        cie.lsda_encoding = in.fixed<std::uint8_t>();
        break;
      case 'P':
        in.number(in.fixed<std::uint8_t>());
        break;
      default:  // 'S', 'B': flags without data
        break;
    }
  }
}

std::optional<Cie> read_cie(CheckedBytes section, ImageAddr address, std::uint64_t offset) {
  Cursor in(section, address, offset + 8);
  Cie cie;
  const std::uint8_t version = in.fixed<std::uint8_t>();
  if (version != 1 && version != 3) return std::nullopt;
  const std::string_view augmentation = in.text();
  in.uleb();  // code alignment
  in.sleb();  // data alignment
  if (version == 1) {
    in.skip(1);
  } else {
    in.uleb();
  }
  if (augmentation.starts_with('z')) {
    cie.has_augmentation = true;
    in.uleb();
    read_augmentation(in, augmentation, cie);
  } else if (!augmentation.empty()) {
    return std::nullopt;
  }
  if (!in.ok()) return std::nullopt;
  return cie;
}

std::optional<FrameRange> read_fde(CheckedBytes section, ImageAddr address, std::uint64_t offset, const Cie& cie) {
  if (cie.pointer_encoding & kIndirect) return std::nullopt;
  Cursor in(section, address, offset + 8);
  FrameRange range;
  range.start.value = in.pointer(cie.pointer_encoding);
  range.size = in.number(cie.pointer_encoding & 0x0f);
  if (!in.ok() || range.size == 0 || range.start.value == 0) return std::nullopt;
  if (cie.has_augmentation && in.uleb() > 0 && cie.lsda_encoding != kOmit && !(cie.lsda_encoding & kIndirect)) {
    range.lsda.value = in.pointer(cie.lsda_encoding);
  }
  if (!in.ok()) range.lsda = {};
  return range;
}

}  // namespace

std::vector<FrameRange> read_eh_frame(CheckedBytes section, ImageAddr address, std::size_t most) {
  constexpr std::uint64_t kUsualBytes = 24;  // of an entry, at least
  std::vector<FrameRange> ranges;
  ranges.reserve(std::min<std::uint64_t>(most, section.size() / kUsualBytes));
  std::map<std::uint64_t, std::optional<Cie>> cies;
  for (std::uint64_t offset = 0; ranges.size() < most;) {
    const auto length = section.read<std::uint32_t>(offset);
    const auto id = section.read<std::uint32_t>(offset + 4);
    if (!length || !id || *length < 4 || *length == 0xffffffff) break;  // 0 ends the section
    if (*id != 0 && *id <= offset + 4) {
      const std::uint64_t cie_offset = offset + 4 - *id;
      auto found = cies.find(cie_offset);
      if (found == cies.end() && cies.size() == kMostCies) break;
      if (found == cies.end()) found = cies.emplace(cie_offset, read_cie(section, address, cie_offset)).first;
      if (found->second) {
        if (const auto range = read_fde(section, address, offset, *found->second)) ranges.push_back(*range);
      }
    }
    offset += 4 + std::uint64_t{*length};
  }
  if (!std::ranges::is_sorted(ranges, {}, &FrameRange::start))  // linkers write them in the order of the code
    std::ranges::stable_sort(ranges, {}, &FrameRange::start);
  return ranges;
}

LandingPads read_landing_pads(CheckedBytes lsda, ImageAddr lsda_address, ImageAddr function, std::size_t most) {
  LandingPads found;
  Cursor in(lsda, lsda_address, 0);
  const std::uint8_t start_encoding = in.fixed<std::uint8_t>();
  const std::uint64_t pad_base = start_encoding == kOmit ? function.value : in.pointer(start_encoding);
  if (in.fixed<std::uint8_t>() != kOmit) in.uleb();  // type table
  const std::uint8_t site_encoding = in.fixed<std::uint8_t>();
  const std::uint64_t table_length = in.uleb();
  const std::uint64_t end = in.at() + table_length;
  while (in.ok() && in.at() < end && found.pads.size() < most) {
    in.number(site_encoding);  // start
    in.number(site_encoding);  // length
    const std::uint64_t pad = in.number(site_encoding);
    in.uleb();  // action
    if (in.ok() && pad != 0) found.pads.push_back({pad_base + pad});
  }
  found.read_bytes = in.at();
  return found;
}

}  // namespace kevt::target
