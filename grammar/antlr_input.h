// What every user of an ANTLR grammar here needs to count columns in bytes.
#pragma once

#include <string>
#include <string_view>

namespace kevt::grammar {

// ANTLR wants UTF-8 and counts characters: every byte becomes one character (Latin-1), so columns are bytes.
std::string as_latin1(std::string_view bytes);

}  // namespace kevt::grammar
