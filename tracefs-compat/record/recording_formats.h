// The factories of recording_formats.def, and what most of them are made with.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "common/error.h"
#include "tracefs-compat/record/output_file.h"
#include "tracefs-compat/record/recording.h"

namespace kevt::record {

#define KEVT_RECORDING_FORMAT(name, text, endings, factory) \
  Result<std::unique_ptr<RecordWriter>> factory(const std::string& path, const Metadata& metadata);
#include "tracefs-compat/record/recording_formats.def"
#undef KEVT_RECORDING_FORMAT

// A writer of one file, or of standard output.
template <class Writer, class... More>
Result<std::unique_ptr<RecordWriter>> create_in_file(const std::string& path, const Metadata& metadata, More... more) {
  auto file = KEVT_TRY(OutputFile::create(path));
  return std::make_unique<Writer>(std::move(file), metadata, more...);
}

}  // namespace kevt::record
