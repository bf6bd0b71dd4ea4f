// Printing that never throws: a full disk or a reader that left shows in ferror(), which main() looks at.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <utility>

namespace kevt::cli {

template <class... Args>
void print_to(std::FILE* stream, fmt::format_string<Args...> format, Args&&... args) {
  fmt::memory_buffer text;
  fmt::format_to(fmt::appender(text), format, std::forward<Args>(args)...);
  (void)std::fwrite(text.data(), 1, text.size(), stream);
}

template <class... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
  print_to(stdout, format, std::forward<Args>(args)...);
}

}  // namespace kevt::cli
