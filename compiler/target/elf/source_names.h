// What a programmer calls a function whose symbol is mangled: by C++ (the Itanium ABI) or by Rust (its legacy scheme).
//
//   _ZN3Foo3barEid                                        Foo::bar(int, double)
//   _ZN4main5Shape4area17h0123456789abcdefE               main::Shape::area
#pragma once

#include <string>
#include <string_view>

namespace kevt::target {

// Empty: it is not mangled, or its text might be out of all proportion. Hostile names grow exponentially; so all that a
// process makes has a bound, too, behind which symbols keep their own names.
std::string source_name(std::string_view symbol);

// Without result and parameters: "Foo::bar".
std::string_view qualified_name(std::string_view source_name);

// The name that is shown: qualified and without blanks, since it is a word of trace lines; or the symbol itself.
std::string shown_name(std::string_view symbol);

enum class NameMatch : unsigned char { No, Suffix, Exact };
// Whether `wanted` means it: qualified or the last parts of that, with or without parameters; blanks do not count.
NameMatch matches_source_name(std::string_view source_name, std::string_view wanted);

// The last identifier of what is wanted, which the symbol must have in it: "bar" of "Foo::bar(int)". Empty: an operator
// or the like.
std::string_view last_identifier(std::string_view wanted);

}  // namespace kevt::target
