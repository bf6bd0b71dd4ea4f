// Looks a directory up in /proc/self/mountinfo.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kevt::fuse {

// "MAJOR:MINOR" of the file system that was mounted on `directory` last; nullopt: none is. `mountinfo`: the text to
// search; `directory`: absolute and without links, as the kernel writes it.
std::optional<std::string> device_mounted_on(const std::string& directory, std::string_view mountinfo);
// The same by the present mountinfo.
std::optional<std::string> device_mounted_on(const std::string& directory);

}  // namespace kevt::fuse
