// What takes long to find out and can be found out again, kept between runs in a folder of the user.
//
// Nothing depends on it: a piece that is damaged, too large or not the user's own is as good as none, and one that
// cannot be written is not kept.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace kevt {

// $XDG_CACHE_HOME/kevtrace, or else $HOME/.cache/kevtrace. Empty: neither is an absolute path.
std::string user_cache_folder();

// The bytes that were kept under `name`, a file name. Only a regular file that belongs to this user, that nobody else
// may write to, and whose checksum fits is read.
std::optional<std::string> read_cached(const std::string& folder, const std::string& name);
// Keeps `bytes` under `name`: whole or not at all, also when several write at a time. Of more than `most_files` the
// oldest go.
void write_cached(const std::string& folder, const std::string& name, std::string_view bytes,
                  std::size_t most_files = 64);

}  // namespace kevt
