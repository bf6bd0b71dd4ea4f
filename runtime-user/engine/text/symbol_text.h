// Symbol texts of process probes: for a `symstr` field the extractor stores an 8-byte address, and the text is made
// here when the record is read. The result is the record that the event's `format` describes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/model/record_layout.h"
#include "compiler/target/target_env.h"

namespace kevt::engine {

bool has_symbol_text(const model::RecordLayout& layout);

// `record` may be hostile: words that point outside it become absent strings.
std::vector<std::uint8_t> expand_symbol_texts(const model::RecordLayout& layout, std::span<const std::uint8_t> record,
                                              const target::TargetEnv& env);

}  // namespace kevt::engine
