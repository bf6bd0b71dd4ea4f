// SourceIndex: which units have lines of which source file, and where functions are declared.
//
// Both take a walk over all debug information, a second for 300 MB of it. So what was found is kept, by the build id of
// the file, in the user's cache folder; a kept index that is damaged, of another file or another user's is built anew.
// Only code that uses elfutils includes this header.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kevt::target {

// A function that a unit defines, also without code of its own.
struct IndexedFunction {
  std::string name;
  std::uint32_t file = 0;  // which: SourceIndex::file_of()
  std::uint32_t line = 0;
  Dwarf_Off die = 0;  // of the first that was found, if several units define the same
};

// Where an index is kept. `folder` is empty: nowhere.
struct IndexCache {
  std::string folder;
  std::uint64_t least_bytes = 0;  // of the file; what is smaller is read again as fast

  // The user's: $XDG_CACHE_HOME/kevtrace, or else $HOME/.cache/kevtrace.
  static IndexCache of_user();
};

// Which debug information an index is of.
struct IndexIdentity {
  std::vector<std::uint8_t> build_id;  // empty: the index cannot be kept
  std::uint64_t file_bytes = 0;        // of the file with the debug information
};

class SourceIndex {
 public:
  SourceIndex(Dwarf* dwarf, IndexIdentity identity, IndexCache cache = IndexCache::of_user());

  // The DIEs of the units that have lines of a file, by the file's whole path.
  const std::map<std::string, std::vector<Dwarf_Off>>& files();
  // By name, file and line. What several units define is there once.
  const std::vector<IndexedFunction>& functions();
  const std::string& file_of(const IndexedFunction& function) const { return function_files_[function.file]; }

 private:
  std::string place_of(std::string_view kind) const;
  bool load(std::string_view kind);
  void keep(std::string_view kind) const;
  void build_files();
  void build_functions();

  Dwarf* dwarf_;
  IndexIdentity identity_;
  IndexCache cache_;
  std::optional<std::map<std::string, std::vector<Dwarf_Off>>> files_;
  std::optional<std::vector<IndexedFunction>> functions_;
  std::vector<std::string> function_files_;
};

}  // namespace kevt::target
