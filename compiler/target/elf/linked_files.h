// What a program will be made of, told without running it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kevt::target {

// The program and the libraries that it is linked with, each once, the program first; of a script (#!) those of its
// interpreter. Found as ld.so(8) finds them, but for LD_LIBRARY_PATH, LD_PRELOAD, folders of ld.so.conf, and
// DT_RPATH of the file that needs a file; a library that is not found is left out. Libraries that a program opens by
// itself (dlopen(3)) are not known. Empty: the file is no program that can be read.
std::vector<std::string> linked_files(const std::string& program);

// The path of a program as a shell finds it: a word with a '/' is a path, else a file in one of the folders of PATH;
// empty: there is none.
std::string program_path(std::string_view word);

}  // namespace kevt::target
