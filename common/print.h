// Printing that never throws: a full disk or a reader that left shows in ferror(), which main() looks at.
//
// What is put into a format may be text of others (controls.h), so it is escaped where a terminal reads it, line ends
// too. The format itself is ours and may have lines and colours.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "common/controls.h"

namespace kevt {

// Text that ends its own lines: line ends and tabs stay.
struct Lines {
  std::string_view text;
};
// Text that is escaped already.
struct Clean {
  std::string_view text;
};

// An argument of print_to() as it is formatted.
template <class T>
auto printable(Controls controls, const T& value) {
  if constexpr (std::is_same_v<T, Lines>)
    return controls == Controls::Raw ? std::string(value.text) : escaped_lines(value.text);
  else if constexpr (std::is_same_v<T, Clean>)
    return std::string(value.text);
  else if constexpr (std::is_convertible_v<const T&, std::string_view>)
    return controls == Controls::Raw ? std::string(std::string_view(value)) : escaped(value);
  else
    return value;
}

template <class... Args>
void print_to(std::FILE* stream, fmt::format_string<decltype(printable(Controls::Raw, std::declval<Args>()))...> format,
              const Args&... args) {
  [[maybe_unused]] const Controls controls = controls_for(fileno(stream));
  fmt::memory_buffer text;
  const auto append = [&](const auto&... made) {
    fmt::vformat_to(fmt::appender(text), format, fmt::make_format_args(made...));
  };
  append(printable(controls, args)...);
  (void)std::fwrite(text.data(), 1, text.size(), stream);
}

// Where the program's own messages go: standard error, unless they were sent elsewhere. Not buffered.
std::FILE* messages();
// False: the file cannot be written; errno says why.
[[nodiscard]] bool send_messages_to(const std::string& path);

template <class... Args>
void print(fmt::format_string<decltype(printable(Controls::Raw, std::declval<Args>()))...> format,
           const Args&... args) {
  print_to(stdout, format, args...);
}

}  // namespace kevt
