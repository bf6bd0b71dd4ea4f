// Text from outside as XML and HTML may hold it.
#pragma once

#include <string>
#include <string_view>

namespace kevt::record {

// The character at the front of `text`, which is not empty: what is no UTF-8, and what XML forbids, becomes U+FFFD,
// control characters `?`, and what would be markup an entity. Takes it from `text`.
std::string take_xml_character(std::string_view& text);
std::string as_xml(std::string_view text);

}  // namespace kevt::record
