// A kernel's types in 20 records, for tests: what the functions `work`, `nothing`, `many` and the tracepoint `tick`
// take.
//
//   struct thing { unsigned int size; int :3 pad, flag:3 …; union { struct thing *inner; char text[8]; }; const char
//   *name; };
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

namespace kevt::golden {

class BtfBuilder {
 public:
  BtfBuilder() = default;
  // A module's: ids and names go on behind the kernel's.
  BtfBuilder(std::uint32_t types, std::uint32_t name_bytes) : names_(), last_(types - 1), kernel_names_(name_bytes) {}

  std::uint32_t name(const std::string& text) {
    const auto at = static_cast<std::uint32_t>(kernel_names_ + names_.size());
    names_ += text;
    names_ += '\0';
    return text.empty() ? 0 : at;
  }
  // The new type's id.
  std::uint32_t type(const std::string& text, std::uint32_t kind, std::uint32_t count, std::uint32_t size_or_type,
                     std::initializer_list<std::uint32_t> extra = {}, bool bits = false) {
    for (const std::uint32_t word : {name(text), kind << 24 | count | (bits ? 1u << 31 : 0), size_or_type})
      types_.push_back(word);
    types_.insert(types_.end(), extra);
    return ++last_;
  }
  std::vector<std::uint8_t> bytes() const {
    const auto type_bytes = static_cast<std::uint32_t>(4 * types_.size());
    const std::uint32_t header[] = {0x0001eb9f, 24,         0,
                                    type_bytes, type_bytes, static_cast<std::uint32_t>(names_.size())};
    std::vector<std::uint8_t> out(sizeof header + type_bytes + names_.size());
    std::memcpy(out.data(), header, sizeof header);
    std::memcpy(out.data() + sizeof header, types_.data(), type_bytes);
    std::memcpy(out.data() + sizeof header + type_bytes, names_.data(), names_.size());
    return out;
  }

 private:
  std::vector<std::uint32_t> types_;
  std::string names_ = std::string(1, '\0');
  std::uint32_t last_ = 0;
  std::uint32_t kernel_names_ = 0;
};

inline std::vector<std::uint8_t> small_btf() {
  BtfBuilder b;
  constexpr std::uint32_t kInt = 1, kPtr = 2, kArray = 3, kStruct = 4, kUnion = 5, kEnum = 6, kConst = 10, kFunc = 12,
                          kProto = 13;
  constexpr std::uint32_t kSigned = 1u << 24;
  const auto u32 = b.type("unsigned int", kInt, 0, 4, {32});
  const auto s64 = b.type("long", kInt, 0, 8, {kSigned | 64});
  const auto character = b.type("char", kInt, 0, 1, {8});
  const std::uint32_t thing = 12;  // below
  const auto const_char = b.type("", kConst, 0, character);
  const auto text = b.type("", kPtr, 0, const_char);
  const auto const_thing = b.type("", kConst, 0, thing);
  const auto to_const = b.type("", kPtr, 0, const_thing);
  const auto to_thing = b.type("", kPtr, 0, thing);
  const auto array = b.type("", kArray, 0, 0, {character, u32, 8});
  const auto mood = b.type("mood", kEnum, 1, 4, {b.name("GOOD"), 0});
  const auto either = b.type("", kUnion, 2, 8, {b.name("inner"), to_thing, 0, b.name("text"), array, 0});
  b.type("thing", kStruct, 6, 32,
         {b.name("size"), u32, 0, b.name("flag"), u32, 3u << 24 | 35, 0, either, 64, b.name("name"), text, 128,
          b.name("mood"), mood, 192, b.name("next"), to_thing, 224},
         true);
  const auto proto = b.type("", kProto, 2, s64, {b.name("it"), to_const, b.name("count"), u32});
  b.type("work", kFunc, 0, proto);
  b.type("nothing", kFunc, 0, b.type("", kProto, 0, 0));
  b.type("many", kFunc, 0, b.type("", kProto, 2, 0, {b.name("format"), text, 0, 0}));
  b.type("__probestub_tick", kFunc, 0, b.type("", kProto, 2, 0, {b.name("data"), to_thing, b.name("mood"), mood}));
  b.type("dentry", kStruct, 1, 64, {b.name("d_name"), b.type("qstr", kStruct, 1, 16, {b.name("name"), text, 64}), 256});
  const auto to_dentry = b.type("", kPtr, 0, 0);
  b.type("file", kStruct, 1, 64,
         {b.name("f_path"), b.type("path", kStruct, 1, 16, {b.name("dentry"), to_dentry, 64}), 128});
  b.type("task_struct", kStruct, 2, 64, {b.name("pid"), u32, 64, b.name("comm"), array, 128});
  return b.bytes();
}

// The same as section .BTF of an otherwise empty ELF file.
inline std::vector<std::uint8_t> small_btf_in_elf() {
  const auto btf = small_btf();
  const std::string names("\0.BTF\0.shstrtab\0", 16);
  std::vector<std::uint8_t> out(64);
  const std::uint64_t btf_at = out.size();
  out.insert(out.end(), btf.begin(), btf.end());
  const std::uint64_t names_at = out.size();
  out.insert(out.end(), names.begin(), names.end());
  const std::uint64_t table = out.size();
  out.resize(table + 3 * 64);
  const auto put = [&](std::uint64_t at, auto value) { std::memcpy(out.data() + at, &value, sizeof value); };
  std::memcpy(out.data(), "\177ELF\2\1\1", 7);
  put(0x28, table);
  put(0x3a, std::uint16_t{64});
  put(0x3c, std::uint16_t{3});
  put(0x3e, std::uint16_t{2});
  put(table + 64, std::uint32_t{1});
  put(table + 64 + 0x18, btf_at);
  put(table + 64 + 0x20, std::uint64_t{btf.size()});
  put(table + 128, std::uint32_t{6});
  put(table + 128 + 0x18, names_at);
  put(table + 128 + 0x20, std::uint64_t{names.size()});
  return out;
}

}  // namespace kevt::golden
