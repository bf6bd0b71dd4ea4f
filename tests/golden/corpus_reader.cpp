// Reads JSON lines out of gzip.
//
//   read_corpus(folder + "/def.jsonl.gz")  →  one json a line
//
// Not here: what a record means; each corpus test knows its own.
#include "tests/golden/corpus_reader.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>

namespace kevt::golden {

std::optional<std::string> corpus_folder() {
  const char* folder = std::getenv("KEVT_CORPUS");
  if (folder == nullptr || *folder == '\0') return std::nullopt;
  return folder;
}

std::vector<nlohmann::json> read_corpus(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  EXPECT_NE(file, nullptr) << path;
  if (file == nullptr) return {};
  std::string text;
  char chunk[65536];
  for (int got = gzread(file, chunk, sizeof chunk); got > 0; got = gzread(file, chunk, sizeof chunk)) {
    text.append(chunk, static_cast<std::size_t>(got));
  }
  gzclose(file);
  std::vector<nlohmann::json> records;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    records.push_back(nlohmann::json::parse(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return records;
}

}  // namespace kevt::golden
