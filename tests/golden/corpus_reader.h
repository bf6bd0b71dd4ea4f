// The recorded answers of a real kernel: gzip of JSON lines, in the folder that KEVT_CORPUS names.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace kevt::golden {

// nullopt: the environment names none.
std::optional<std::string> corpus_folder();
// All records of one file; a test failure where it cannot be read.
std::vector<nlohmann::json> read_corpus(const std::string& path);

}  // namespace kevt::golden
