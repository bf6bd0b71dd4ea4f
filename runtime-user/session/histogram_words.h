// Names, keys and numbers of histograms in words, for the forms that other programs read and for heat maps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime-user/engine/histograms/hist_cells.h"

namespace kevt::session {

// Whether the key's number is shown by a name: `.sym`, `.sym-offset`, `.execname`, `.syscall`.
bool has_name(model::HistModifier modifier);
// With its sign, if the field has one.
std::string number_text(const model::HistField& field, std::uint64_t number);
// What an entry with so many hits shows of a value: HistSnapshot::Row::values.
std::string value_text(const model::HistField& field, std::uint64_t kept, std::uint64_t hits);
// 2^exponent, which may be 2^64.
std::string power_text(std::uint64_t exponent);
// The names, of which a repeated one gets a number.
std::vector<std::string> unique_names(const std::vector<std::string>& names);
// The names of the fields, as the trigger writes them; a repeated one gets a number.
std::vector<std::string> names_of(const std::vector<model::HistField>& fields);
// The greatest number of the bucket that begins at `begin`; not for `.log2`.
std::uint64_t bucket_end(const model::HistField& key, std::uint64_t begin);
// A key in one word: the name of a number that has one, the end of a `.log2` or `.loglinear` bucket, `16-31`, frames
// with `;` between them. May hold anything that a text of the traced program holds.
std::string plain_text(const model::HistField& key, const engine::HistCell& cell);

}  // namespace kevt::session
