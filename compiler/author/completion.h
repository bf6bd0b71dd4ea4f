// Completions at the cursor in a definition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/author/suggestion.h"
#include "compiler/author/symbol_index.h"
#include "compiler/target/target_env.h"

namespace kevt::author {

struct Completion {
  std::size_t begin = 0;  // byte of the line; suggestions replace what stands from here to the cursor
  std::vector<Suggestion> suggestions;
};

// What stands at the cursor. Only a place needs functions, and only arguments need types.
enum class DefinitionPart : std::uint8_t { Begin, Place, Argument };
DefinitionPart part_at(std::string_view line, std::size_t cursor);

// How names of functions match what is typed. Prefix: shells replace only what is typed.
enum class NameMatch : std::uint8_t { Ranked, Prefix };

// `cursor`: a byte of the line. Functions come from `symbols`, which may be empty; argument names and structure members
// come from the types of `env` (nullptr: no types).
Completion complete_definition(std::string_view line, std::size_t cursor, const SymbolIndex& symbols,
                               const target::TargetEnv* env = nullptr, NameMatch match = NameMatch::Ranked);
// Completes fields in a filter.
Completion complete_filter(std::string_view text, std::size_t cursor, std::span<const std::string> fields);

}  // namespace kevt::author
