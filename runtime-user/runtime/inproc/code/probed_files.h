// ProbedFiles: the files of traced processes, each read once for all of them. For the sessions of one trace; not thread
// safe, as images are not.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <tuple>

#include "common/error.h"
#include "compiler/target/elf/elf_image.h"
#include "runtime-user/runtime/inproc/x86/site_plan.h"

namespace kevt::inproc {

// One file, wherever processes have mapped it: addresses in it are ImageAddr.
struct ProbedFile {
  explicit ProbedFile(target::ElfImage file) : image(std::move(file)), planner(image) {}
  ProbedFile(const ProbedFile&) = delete;
  ProbedFile& operator=(const ProbedFile&) = delete;

  target::ElfImage image;
  x86::SitePlanner planner;
};

class ProbedFiles {
 public:
  // The file at `path` as it is now; errors as of ElfImage::open().
  Result<std::shared_ptr<ProbedFile>> open(const std::string& path);

 private:
  // Device, inode, bytes, and when contents and inode were changed, in ns. All 0: unknown.
  using Version = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::int64_t, std::int64_t>;
  static Version version_of(const std::string& path);

  struct Known {
    Version version;
    std::shared_ptr<ProbedFile> file;
  };
  std::list<Known> recent_;  // the latest first
};

}  // namespace kevt::inproc
