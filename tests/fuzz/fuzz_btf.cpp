// The problem: `--btf FILE` takes any file.
//
// The idea: any bytes are read as BTF, also behind a header that fits them. Of what is taken every type can be spelled,
// stripped and searched: all walks end, and stay inside the table.
#include <cstdlib>
#include <cstring>

#include "compiler/target/types/btf.h"
#include "tests/fuzz/fuzz_entry.h"
#include "tests/golden/small_btf.h"

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

void check(std::span<const std::uint8_t> bytes) {
  const auto table = kevt::target::read_btf(bytes);
  if (!table) return require(!table.error().message().empty());
  for (kevt::target::TypeId id = 0; id < table->size(); ++id) {
    require(table->strip(id) < table->size());
    (void)table->type_text(id);
    if (const auto member = table->find_member(id, "inner")) (void)table->type(member->type);
    for (const auto& member : table->members(table->type(id))) (void)table->name(member.name);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(data, size);
  check(bytes);
  constexpr std::size_t kHeaderBytes = 24;
  if (size <= kHeaderBytes) return 0;
  // The same types and names under a header that says where they are.
  std::vector<std::uint8_t> fitted(bytes.begin(), bytes.end());
  const auto left = static_cast<std::uint32_t>(size - kHeaderBytes);
  std::uint32_t words[6];
  std::memcpy(words, fitted.data(), sizeof words);
  const std::uint32_t types = words[3] <= left ? words[3] & ~3u : left / 2 & ~3u;
  const std::uint32_t header[6] = {0x0001eb9f, kHeaderBytes, 0, types, types, left - types};
  std::memcpy(fitted.data(), header, sizeof header);
  if (left > types) fitted[kHeaderBytes + types] = fitted.back() = 0;
  check(fitted);
  return 0;
}

std::vector<std::string> kevt::fuzz::seeds() {
  const auto plain = kevt::golden::small_btf();
  const auto elf = kevt::golden::small_btf_in_elf();
  return {std::string(plain.begin(), plain.end()), std::string(elf.begin(), elf.end())};
}
