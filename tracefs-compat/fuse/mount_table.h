// What /proc/self/mountinfo says of a directory.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kevt::fuse {

// "MAJOR:MINOR" of the file system that was mounted on `directory` last, in a text of mountinfo; nullopt: none is.
// `directory` is as the kernel writes it: absolute, without links.
std::optional<std::string> device_mounted_on(const std::string& directory, std::string_view mountinfo);
// The same, now.
std::optional<std::string> device_mounted_on(const std::string& directory);

}  // namespace kevt::fuse
