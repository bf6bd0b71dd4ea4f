// For tests: a recording in memory, and a file that goes away.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tracefs-compat/record/recording.h"

namespace kevt::record {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "kevt-record-XXXXXX").string();
    if (!mkdtemp(name.data())) std::abort();
    path_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// "p:kprobes/opened libc:open64 path=+0(%di):string fd=%si:s32", "r:kprobes/closed libc:close ret=$retval:s64"
inline constexpr std::string_view kOpenedFormat =
    "name: opened\nID: 20000\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    "\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
    "\tfield:__data_loc char[] path;\toffset:16;\tsize:4;\tsigned:1;\n"
    "\tfield:s32 fd;\toffset:20;\tsize:4;\tsigned:1;\n"
    "\nprint fmt: \"(%lx) path=\\\"%s\\\" fd=%d\", REC->__probe_ip, __get_str(path), REC->fd\n";
inline constexpr std::string_view kClosedFormat =
    "name: closed\nID: 20001\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    "\tfield:unsigned long __probe_func;\toffset:8;\tsize:8;\tsigned:0;\n"
    "\tfield:unsigned long __probe_ret_ip;\toffset:16;\tsize:8;\tsigned:0;\n"
    "\tfield:s64 ret;\toffset:24;\tsize:8;\tsigned:1;\n"
    "\nprint fmt: \"(%lx <- %lx) ret=%Ld\", REC->__probe_func, REC->__probe_ret_ip, REC->ret\n";

inline void fill(Metadata& metadata) {
  metadata.formats.add(*parse_format("kprobes", kOpenedFormat));
  metadata.formats.add(*parse_format("kprobes", kClosedFormat));
  metadata.symbols.add({0x7f0000001000, 0x128, "open", "libc.so.6"});
  metadata.symbols.add({0x401000, 0x40, "main", ""});
  metadata.comms[7] = "cat";
  metadata.comms[8] = "python3";
  metadata.cpus = 2;
  metadata.host = "Linux test";
  metadata.wall_offset_ns = 1'700'000'000'000'000'000;
  metadata.definitions = {"p:kprobes/opened libc:open64 path=+0(%di):string fd=%si:s32"};
  metadata.filters = {"kprobes/opened: fd > 2"};
}

using Bytes = std::vector<std::uint8_t>;

template <class Number>
void store(Bytes& bytes, std::size_t at, Number value) {
  if (bytes.size() < at + sizeof value) bytes.resize(at + sizeof value);
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// `path` nullptr: it could not be read.
inline Bytes opened(std::int32_t pid, const char* path, std::int32_t fd) {
  Bytes bytes;
  store<std::uint16_t>(bytes, 0, 20000);
  store<std::int32_t>(bytes, 4, pid);
  store<std::uint64_t>(bytes, 8, 0x7f0000001000);
  const auto length = path ? static_cast<std::uint32_t>(std::strlen(path) + 1) : 0u;
  store<std::uint32_t>(bytes, 16, length << 16 | 24);
  store<std::int32_t>(bytes, 20, fd);
  if (path) bytes.insert(bytes.end(), path, path + length);
  return bytes;
}

inline Bytes closed(std::int32_t pid, std::int64_t ret) {
  Bytes bytes;
  store<std::uint16_t>(bytes, 0, 20001);
  store<std::int32_t>(bytes, 4, pid);
  store<std::uint64_t>(bytes, 8, 0x7f0000001000);
  store<std::uint64_t>(bytes, 16, 0x401010);
  store<std::int64_t>(bytes, 24, ret);
  return bytes;
}

inline TypedRecord typed(const Metadata& metadata, std::uint64_t time_ns, std::uint32_t cpu, const Bytes& bytes) {
  TypedRecord record{.time_ns = time_ns, .cpu = cpu, .bytes = bytes};
  std::uint16_t id;
  std::memcpy(&id, bytes.data(), sizeof id);
  std::memcpy(&record.pid, bytes.data() + 4, sizeof record.pid);
  record.event = metadata.formats.by_id(id);
  record.comm = metadata.comm_of(record.pid);
  return record;
}

}  // namespace kevt::record
