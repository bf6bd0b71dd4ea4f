#include "compiler/target/elf/linked_files.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "compiler/target/elf/elf_image.h"
#include "compiler/target/elf/mapped_file.h"

namespace kevt::target {
namespace {

constexpr std::size_t kMostFiles = 500;
constexpr int kMostInterpreters = 4;  // as many as the kernel follows

bool is_regular(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

// Where a script's first line leads, with `env` followed: "#!/usr/bin/env python3". nullopt: the file is no script.
std::optional<std::string> interpreter_of_script(const std::string& path) {
  if (!is_regular(path)) return std::nullopt;  // nobody might ever write to a pipe
  std::ifstream file(path, std::ios::binary);
  std::string line(256, '\0');
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(file.gcount()));
  if (!line.starts_with("#!")) return std::nullopt;
  std::istringstream words(line.substr(2, line.find('\n') - 2));
  std::string interpreter, argument;
  words >> interpreter >> argument;
  while (argument.starts_with('-') && words >> argument) continue;  // `env -S`
  return interpreter.ends_with("/env") ? program_path(argument) : interpreter;
}

std::string library_of(const ElfImage& image, std::string_view name) {
  if (name.contains('/')) return std::string(name);
  const std::string origin = std::filesystem::path(image.path()).parent_path();
  std::istringstream folders{std::string(image.run_path())};
  for (std::string folder; std::getline(folders, folder, ':');) {
    for (const std::string_view word : {"$ORIGIN", "${ORIGIN}"})
      if (const std::size_t at = folder.find(word); at != std::string::npos) folder.replace(at, word.size(), origin);
    if (const std::string path = folder + '/' + std::string(name); !folder.empty() && is_regular(path)) return path;
  }
  for (const char* folder : library_folders())
    if (const std::string path = std::string(folder) + '/' + std::string(name); is_regular(path)) return path;
  return "";
}

}  // namespace

std::string program_path(std::string_view word) {
  if (word.contains('/')) return std::string(word);
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = folder + '/' + std::string(word);
    if (!folder.empty() && !word.empty() && is_regular(file) && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

std::vector<std::string> linked_files(const std::string& program) {
  std::string path = program;
  for (int i = 0; i < kMostInterpreters; ++i) {
    auto interpreter = interpreter_of_script(path);
    if (!interpreter) break;
    path = *std::move(interpreter);
  }
  std::vector<std::string> files;
  std::set<std::pair<dev_t, ino_t>> known;
  const auto add = [&](const std::string& file) {
    const auto id = file_id(file);
    if (id && files.size() < kMostFiles && known.emplace(id->device, id->inode).second) files.push_back(file);
  };
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);  // $ORIGIN is the real file's folder
  if (!error) add(real);
  for (std::size_t next = 0; next < files.size(); ++next) {
    const auto image = ElfImage::open(files[next]);
    if (!image) {
      files.erase(files.begin() + static_cast<std::ptrdiff_t>(next--));
      continue;
    }
    for (const std::string_view name : image->needed())
      if (const std::string library = library_of(*image, name); !library.empty()) add(library);
  }
  return files;
}

}  // namespace kevt::target
