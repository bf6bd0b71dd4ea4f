// Words of the shell that import_shell.cpp knows: commands without effect here, readers, openers and closers of blocks.
#pragma once

#include <algorithm>
#include <string_view>

namespace kevt::script {

inline constexpr std::string_view kWithoutEffect[] = {
    "cd",       "set",   "exit", "mount", "umount", "shopt",   "wait",  "true",  ":",     "export",
    "readonly", "local", "sync", "trap",  "clear",  "declare", "unset", "umask", "pushd", "popd"};
inline constexpr std::string_view kReaders[] = {"cat", "head", "tail", "less", "more", "grep",
                                                "tee", "wc",   "awk",  "sed",  "sort"};
inline constexpr std::string_view kOpeners[] = {"if", "for", "while", "until", "case", "select", "{", "("};
inline constexpr std::string_view kClosers[] = {"fi", "done", "esac", "}", ")"};
inline constexpr std::string_view kInner[] = {"then", "do", "else", "elif", "!", "time"};

template <std::size_t N>
bool is_one_of(std::string_view word, const std::string_view (&words)[N]) {
  return std::ranges::find(words, word) != std::end(words);
}

}  // namespace kevt::script
