// BTF is a header, a list of records of varying size, and a block of names. A record's place in the list is its id.
//
//   {magic eb9f, version 1, flags, header length, type offset, type bytes, name offset, name bytes}
//   {name, info: kind in bits 24–28, count in 0–15, bit 31: offsets hold bit-field sizes; size or type} and what the
//   kind adds
//
// Written from the format's description in the kernel (Documentation/bpf/btf.rst), for kinds 1 to 19. A later kind is
// refused: its size is unknown, so nothing behind it could be read. Ids and names of a module's file (split BTF)
// go on where the kernel's end; if several modules are read, those of each are moved behind the ones before it.
#include "compiler/target/types/btf.h"

#include <fmt/format.h>

#include <fstream>
#include <vector>

#include "compiler/target/elf/checked_bytes.h"

namespace kevt::target {

namespace {

constexpr std::uint16_t kMagic = 0xeb9f;
constexpr std::uint32_t kMaxBytes = 256u << 20;
constexpr std::size_t kPiece = 1u << 20;

enum Kind : std::uint32_t {
  kInt = 1,
  kPtr,
  kArray,
  kStruct,
  kUnion,
  kEnum,
  kForward,
  kTypedef,
  kVolatile,
  kConst,
  kRestrict,
  kFunc,
  kFuncProto,
  kVar,
  kDatasec,
  kFloat,
  kDeclTag,
  kTypeTag,
  kEnum64
};

struct Header {
  std::uint16_t magic;
  std::uint8_t version;
  std::uint8_t flags;
  std::uint32_t header_bytes;
  std::uint32_t type_offset;
  std::uint32_t type_bytes;
  std::uint32_t name_offset;
  std::uint32_t name_bytes;
};

struct Record {
  std::uint32_t name;
  std::uint32_t info;
  std::uint32_t size_or_type;

  std::uint32_t kind() const { return (info >> 24) & 0x1f; }
  std::uint32_t count() const { return info & 0xffff; }
  bool flag() const { return info >> 31; }
};

// The number of bytes that follow a record of this kind; nullopt: the kind is unknown.
std::optional<std::uint64_t> extra_bytes(const Record& record) {
  switch (record.kind()) {
    case kInt:
    case kVar:
    case kDeclTag:
      return 4;
    case kArray:
      return 12;
    case kStruct:
    case kUnion:
    case kDatasec:
    case kEnum64:
      return std::uint64_t{12} * record.count();
    case kEnum:
    case kFuncProto:
      return std::uint64_t{8} * record.count();
    case kPtr:
    case kForward:
    case kTypedef:
    case kVolatile:
    case kConst:
    case kRestrict:
    case kFunc:
    case kFloat:
    case kTypeTag:
      return 0;
  }
  return std::nullopt;
}

// Which ids and names of a module's file are the kernel's, and where the module's own begin in the table.
struct Base {
  TypeId types = 0;              // ids below are the kernel's
  std::uint32_t name_bytes = 0;  // names below are the kernel's
  TypeId first_type = 0;         // the module's first type in the table
  std::uint32_t first_name = 0;  // its first name, likewise
};

class Reader {
 public:
  Reader(CheckedBytes types, std::uint32_t name_bytes, TypeTable& table, Base base = {})
      : types_(types), name_bytes_(name_bytes), table_(table), base_(base) {
    const_ = table_.add_name("const ");
    volatile_ = table_.add_name("volatile ");
  }

  Result<void> read() {
    std::uint64_t at = 0;
    while (at < types_.size()) {
      const auto record = types_.read<Record>(at);
      const auto extra = record ? extra_bytes(*record) : std::nullopt;
      if (record && !extra) return std::unexpected(Error(fmt::format("type {} is of kind {}", id(), record->kind())));
      if (!record || !types_.holds(at + sizeof(Record), *extra) || !holds_name(record->name)) return broken();
      if (!take(*record, at + sizeof(Record))) return broken();
      at += sizeof(Record) + *extra;
    }
    for (TypeId i = 0; i < table_.size(); ++i)
      if (is_reference(table_.type(i).kind) && table_.type(i).target >= table_.size()) return broken();
    return {};
  }

 private:
  TypeId id() const { return table_.size(); }
  bool holds_name(std::uint32_t name) const { return name < std::uint64_t{base_.name_bytes} + name_bytes_; }
  std::uint32_t moved_name(std::uint32_t name) const {
    return name < base_.name_bytes ? name : name - base_.name_bytes + base_.first_name;
  }
  TypeId moved(TypeId id) const { return id < base_.types ? id : id - base_.types + base_.first_type; }
  std::unexpected<Error> broken() const {
    return std::unexpected(Error(fmt::format("it is damaged near type {}", id())));
  }
  static bool is_reference(TypeClass kind) {
    return kind == TypeClass::Pointer || kind == TypeClass::Array || kind == TypeClass::Modifier ||
           kind == TypeClass::Prototype || kind == TypeClass::Function;
  }

  bool take(const Record& record, std::uint64_t extra) {
    Type type{.bytes = record.size_or_type, .target = moved(record.size_or_type), .name = moved_name(record.name)};
    switch (record.kind()) {
      case kInt:
        take_integer(*types_.read<std::uint32_t>(extra), type);
        break;
      case kEnum:
      case kEnum64:
        type.kind = TypeClass::Enum;
        type.is_signed = true;
        if (!take_names(record, extra, type)) return false;
        break;
      case kPtr:
        type.kind = TypeClass::Pointer;
        break;
      case kArray:
        type.kind = TypeClass::Array;
        type.target = moved(*types_.read<std::uint32_t>(extra));
        type.count = *types_.read<std::uint32_t>(extra + 8);
        break;
      case kStruct:
      case kUnion:
        type.kind = record.kind() == kStruct ? TypeClass::Struct : TypeClass::Union;
        if (!take_members(record, extra, type)) return false;
        break;
      case kTypedef:
      case kVolatile:
      case kConst:
      case kRestrict:
      case kTypeTag:
        type.kind = TypeClass::Modifier;
        if (record.kind() != kTypedef) type.name = 0;
        type.prefix = record.kind() == kConst      ? const_
                      : record.kind() == kVolatile ? volatile_
                      : record.kind() == kTypedef  ? 0
                                                   : plain_of_modifiers();
        break;
      case kFunc:
        type.kind = TypeClass::Function;
        break;
      case kFuncProto:
        type.kind = TypeClass::Prototype;
        if (!take_parameters(record, extra, type)) return false;
        break;
      default:
        type.kind = TypeClass::Other;
        type.target = 0;
    }
    table_.add(type);
    return true;
  }

  // The prefix of a modifier that C's spelling leaves out: an empty name, the NUL that ends "const ".
  std::uint32_t plain_of_modifiers() const { return const_ + 6; }

  // `word` has the encoding in bits 24–27 (1 signed, 2 character, 4 bool) and the value's size, in bits, in bits 0–7.
  // `char` is signed before 6.2.
  void take_integer(std::uint32_t word, Type& type) const {
    type.kind = TypeClass::Integer;
    type.is_signed = (word >> 24) & 1;
    const std::uint32_t bits = word & 0xff;
    type.bytes = (bits + 7) / 8;
    type.is_text = bits == 8 && (!type.is_signed || table_.name(type.name) == "char");
  }

  bool take_members(const Record& record, std::uint64_t at, Type& type) {
    std::vector<Member> members;
    members.reserve(record.count());
    for (std::uint32_t i = 0; i < record.count(); ++i, at += 12) {
      const std::uint32_t offset = *types_.read<std::uint32_t>(at + 8);
      const auto name = *types_.read<std::uint32_t>(at);
      if (!holds_name(name)) return false;
      members.push_back({.name = moved_name(name),
                         .type = moved(*types_.read<std::uint32_t>(at + 4)),
                         .bit_offset = record.flag() ? offset & 0xffffff : offset,
                         .bit_size = record.flag() ? offset >> 24 : 0});
    }
    type.count = record.count();
    type.first = table_.add_members(members);
    return true;
  }

  // {name, value}, or {name, low half, high half}.
  bool take_names(const Record& record, std::uint64_t at, Type& type) {
    std::vector<Member> names;
    names.reserve(record.count());
    const bool is_wide = record.kind() == kEnum64;
    for (std::uint32_t i = 0; i < record.count(); ++i, at += is_wide ? 12 : 8) {
      const auto name = *types_.read<std::uint32_t>(at);
      if (!holds_name(name)) return false;
      const auto low = *types_.read<std::uint32_t>(at + 4);
      const std::int64_t value =
          is_wide ? static_cast<std::int64_t>(std::uint64_t{*types_.read<std::uint32_t>(at + 8)} << 32 | low)
                  : std::int64_t{static_cast<std::int32_t>(low)};
      names.push_back(enumerator(moved_name(name), value));
    }
    type.count = record.count();
    type.first = table_.add_members(names);
    return true;
  }

  bool take_parameters(const Record& record, std::uint64_t at, Type& type) {
    std::vector<Member> parameters;
    parameters.reserve(record.count());
    for (std::uint32_t i = 0; i < record.count(); ++i, at += 8) {
      const auto name = *types_.read<std::uint32_t>(at);
      if (!holds_name(name)) return false;
      parameters.push_back(
          {.name = moved_name(name), .type = moved(*types_.read<std::uint32_t>(at + 4)), .bit_offset = i + 1});
    }
    type.count = record.count();
    type.first = table_.add_members(parameters);
    return true;
  }

  CheckedBytes types_;
  std::uint32_t name_bytes_;
  TypeTable& table_;
  Base base_;
  std::uint32_t const_ = 0;
  std::uint32_t volatile_ = 0;
};

// The .BTF section of an ELF file (64 bits, little endian); all bytes of a file that is not ELF.
std::optional<CheckedBytes> find_section(CheckedBytes file) {
  if (file.read<std::uint32_t>(0) != 0x464c457fu) return file;
  const auto table = file.read<std::uint64_t>(0x28);
  const auto entry = file.read<std::uint16_t>(0x3a);
  const auto count = file.read<std::uint16_t>(0x3c);
  const auto names = file.read<std::uint16_t>(0x3e);
  if (!table || !entry || !count || !names || *entry < 64) return std::nullopt;
  const auto section = [&](std::uint64_t index) { return file.part(*table + index * *entry, 64); };
  const auto contents = [&](const CheckedBytes& head) {
    return file.part(*head.read<std::uint64_t>(0x18), *head.read<std::uint64_t>(0x20));
  };
  const auto name_head = section(*names);
  const auto name_bytes = name_head ? contents(*name_head) : std::nullopt;
  for (std::uint64_t i = 0; name_bytes && i < *count; ++i) {
    const auto head = section(i);
    if (head && name_bytes->text(*head->read<std::uint32_t>(0)) == ".BTF") return contents(*head);
  }
  return std::nullopt;
}

// The two blocks of a file; both lie inside it.
struct Blocks {
  CheckedBytes types;
  CheckedBytes names;
};

Result<Blocks> find_blocks(std::span<const std::uint8_t> bytes) {
  const auto data = find_section(CheckedBytes(bytes));
  if (!data) return std::unexpected(Error("this ELF file has no .BTF section"));
  const auto header = data->read<Header>(0);
  if (!header || header->magic != kMagic) return std::unexpected(Error("this is not BTF"));
  if (header->version != 1) return std::unexpected(Error(fmt::format("BTF of version {}", header->version)));
  const std::uint64_t base = header->header_bytes;
  const auto types = data->part(base + header->type_offset, header->type_bytes);
  const auto names = data->part(base + header->name_offset, header->name_bytes);
  const bool ends = names && (names->size() == 0 || names->read<char>(names->size() - 1) == '\0');
  if (!types || !ends) return std::unexpected(Error("this BTF is cut off"));
  return Blocks{*types, *names};
}

std::string_view text_of(const CheckedBytes& names) {
  return {reinterpret_cast<const char*>(names.span().data()), names.size()};
}

// The number of types, with void: ids of a module's file below it are the kernel's. nullopt: the types are damaged.
std::optional<TypeId> count_types(CheckedBytes types) {
  TypeId count = 1;  // void
  for (std::uint64_t at = 0; at < types.size(); ++count) {
    const auto record = types.read<Record>(at);
    const auto extra = record ? extra_bytes(*record) : std::nullopt;
    if (!extra) return std::nullopt;
    at += sizeof(Record) + *extra;
  }
  return count;
}

Result<std::vector<std::uint8_t>> read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::unexpected(Error("`" + path + "` cannot be read"));
  std::vector<std::uint8_t> bytes;
  for (std::size_t used = 0;; used += static_cast<std::size_t>(file.gcount())) {
    bytes.resize(used + kPiece);
    if (bytes.size() > kMaxBytes) return std::unexpected(Error("`" + path + "` is too large for BTF"));
    file.read(reinterpret_cast<char*>(bytes.data() + used), kPiece);
    if (file) continue;
    bytes.resize(used + static_cast<std::size_t>(file.gcount()));
    return bytes;
  }
}

}  // namespace

Result<TypeTable> read_btf(std::span<const std::uint8_t> bytes) {
  const auto blocks = find_blocks(bytes);
  if (!blocks) return std::unexpected(blocks.error());
  const CheckedBytes& names = blocks->names;
  if (names.size() == 0) return std::unexpected(Error("this BTF is cut off"));
  if (names.read<char>(0) != '\0')
    return std::unexpected(Error("this BTF has no kernel's types of its own: a module's is read behind its kernel's"));
  TypeTable table;
  table.set_names(std::string(text_of(names)));
  if (auto read = Reader(blocks->types, static_cast<std::uint32_t>(names.size()), table).read(); !read)
    return std::unexpected(std::move(read.error()).while_doing("reading BTF"));
  return table;
}

Result<void> add_module_btf(TypeTable& table, std::span<const std::uint8_t> kernel,
                            std::span<const std::uint8_t> bytes) {
  const auto base = find_blocks(kernel);
  const auto own = find_blocks(bytes);
  if (!base) return std::unexpected(base.error());
  if (!own) return std::unexpected(own.error());
  const auto types = count_types(base->types);
  if (!types) return std::unexpected(Error("the kernel's BTF is damaged"));
  std::string_view names = text_of(own->names);
  if (names.ends_with('\0')) names.remove_suffix(1);  // add_name() ends it
  const Base from{.types = *types,
                  .name_bytes = static_cast<std::uint32_t>(base->names.size()),
                  .first_type = table.size(),
                  .first_name = table.add_name(names)};
  return Reader(own->types, static_cast<std::uint32_t>(own->names.size()), table, from).read();
}

Result<TypeTable> read_btf_files(std::span<const std::string> paths) {
  const std::string& first = paths.front();
  const auto kernel = read_bytes(first);
  if (!kernel) return std::unexpected(kernel.error());
  auto table = read_btf(*kernel);
  if (!table) return std::unexpected(std::move(table.error()).while_doing("reading `" + first + "`"));
  for (const std::string& path : paths.subspan(1)) {
    const auto bytes = read_bytes(path);
    if (!bytes) return std::unexpected(bytes.error());
    if (auto added = add_module_btf(*table, *kernel, *bytes); !added)
      return std::unexpected(
          std::move(added.error()).while_doing("reading `" + path + "` as a module of `" + first + "`"));
  }
  return table;
}

Result<TypeTable> read_btf_file(const std::string& path) { return read_btf_files(std::span(&path, 1)); }

}  // namespace kevt::target
