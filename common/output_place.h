// Where output goes: what is recorded of a program is for the user alone, whoever else may write to the folder.
//
// A new file has mode 0600 and replaces nothing. What stands there already is used as it is asked for: a device, a
// FIFO, a file, which is emptied and gets mode 0600. A symbolic link is followed. In a folder that others may write to,
// /tmp say, each of them must be the user's own or the folder's owner's: another one could have planted it. That is
// what fs.protected_symlinks, _fifos and _regular do, at their strictest, and whatever they are set to.
#pragma once

#include <string>

#include "common/error.h"
#include "common/unique_fd.h"

namespace kevt {

// An open file and where it stands, links followed.
struct OutputPlace {
  UniqueFd file;        // may be read too, where that is allowed
  UniqueFd folder;      // none: it stands nowhere (/dev/stdout)
  std::string name;     // in the folder
  bool is_new = false;  // nothing stood there
};

// Where PATH leads. `file` is an O_PATH descriptor of what is there; none: nothing is there.
Result<OutputPlace> find_output(const std::string& path);
// Opens PATH for writing; a regular file is emptied.
Result<OutputPlace> open_output(const std::string& path);
// The same for a name in a folder that is open.
Result<OutputPlace> open_output_in(const UniqueFd& folder, const std::string& name);
// Makes a folder for the user alone, or opens the one that is there.
Result<UniqueFd> open_output_folder(const std::string& path);

// A new file with a name that nobody can know, NAME.RANDOM and the suffix, in the folder of `path`.
Result<OutputPlace> create_temporary(const std::string& path, const std::string& suffix);
// The same beside a place that has a folder.
Result<OutputPlace> create_temporary_beside(const OutputPlace& place);

}  // namespace kevt
