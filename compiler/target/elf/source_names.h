// What a programmer calls a function whose symbol is mangled: by C++ (the Itanium ABI) or by Rust (its legacy scheme,
// and v0, RFC 2603).
//
//   _ZN3Foo3barEid                                        Foo::bar(int, double)
//   _ZN4main5Shape4area17h0123456789abcdefE               main::Shape::area
//   _RNvMCs1234_4mainNtB2_5Shape4area                     main::Shape::area
#pragma once

#include <string>
#include <string_view>

namespace kevt::target {

// Whether `symbol` is written as mangled names are.
bool may_be_mangled(std::string_view symbol);

// The demangled name with its parameters. Empty: `symbol` is not mangled, or its text might be far too long. Hostile
// names grow exponentially, so the sum of all names that this process demangles is limited, too; after that the result
// is always empty.
std::string source_name(std::string_view symbol);

// The name without result type and parameters: "Foo::bar".
std::string_view qualified_name(std::string_view source_name);

// The name to show: qualified, and without blanks since it is one word of a trace line. If `symbol` is not mangled,
// `symbol` itself.
std::string shown_name(std::string_view symbol);

enum class NameMatch : unsigned char { No, Suffix, Exact };
// Whether `wanted` means this function. `wanted` may be the qualified name (Exact) or its last parts (Suffix), with or
// without parameters; blanks do not count. Parameters may also be written as in most sources: `const char*` for `char
// const*`, `std::string` for what it stands for.
NameMatch matches_source_name(std::string_view source_name, std::string_view wanted);

// The function of which `symbol` names a copy that a compiler has made: "area" of `area.constprop.0.isra.1`. Empty: it
// names none; `.part` and `.cold` are pieces of functions.
std::string_view copied_function(std::string_view symbol);
// Whether that copy's callers may pass other arguments than the function has parameters (`.isra`, `.constprop`).
bool has_other_arguments(std::string_view symbol);

// The last identifier of `wanted`, which the symbol must contain: "bar" of "Foo::bar(int)". Empty if the last part is
// no identifier, e.g. an operator.
std::string_view last_identifier(std::string_view wanted);

}  // namespace kevt::target
