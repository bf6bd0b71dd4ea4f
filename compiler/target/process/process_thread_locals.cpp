// The linker knows where a program's own thread-local variables are: their block ends at the thread pointer. A
// library's block is placed by the dynamic linker, which writes the place into words of the library's data, for its
// code. Any of these words tells where the whole block is: in the static block at a distance that is the same for all
// threads, or elsewhere in each thread, under the number of the module.
//
// Words that the dynamic linker has not written yet, and a process's words that mean something else, are told by their
// size. A descriptor's argument is the distance, or the address of the module's number and an offset, as its function
// wants (glibc's sysdeps/x86_64/dl-tlsdesc.S, musl's arch/x86_64).
#include "compiler/target/process/process_thread_locals.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <optional>

#include "common/unique_fd.h"

namespace kevt::target {

namespace {

using Holds = ThreadLocalWord::Holds;

// The memory of the process, which may be gone.
class ProcessWords {
 public:
  explicit ProcessWords(pid_t pid) : memory_(::open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDONLY | O_CLOEXEC)) {}

  bool are_readable() const { return static_cast<bool>(memory_); }
  std::optional<std::array<std::uint64_t, 2>> two_at(std::uint64_t address) const {
    std::array<std::uint64_t, 2> words = {};
    const ssize_t got = ::pread(memory_.get(), words.data(), sizeof words, static_cast<off_t>(address));
    return got == sizeof words ? std::optional(words) : std::nullopt;
  }
  // Of which the second may not be mapped.
  std::optional<std::uint64_t> one_at(std::uint64_t address) const {
    std::uint64_t word = 0;
    const ssize_t got = ::pread(memory_.get(), &word, sizeof word, static_cast<off_t>(address));
    return got == sizeof word ? std::optional(word) : std::nullopt;
  }

 private:
  UniqueFd memory_;
};

// `distance`: of the variable at `variable`. nullopt: no block of that size ends there.
std::optional<model::ThreadLocalPlace> in_static_block(const ElfImage& image, std::uint64_t distance,
                                                       std::uint64_t variable, std::uint64_t offset) {
  const auto start = static_cast<std::int64_t>(distance - variable);
  constexpr std::int64_t kFarthest = std::int64_t{1} << 32;
  if (start >= 0 || start < -kFarthest || start + static_cast<std::int64_t>(image.thread_local_bytes()) > 0)
    return std::nullopt;
  return model::ThreadLocalPlace{.is_static = true, .offset = start + static_cast<std::int64_t>(offset)};
}

std::optional<model::ThreadLocalPlace> in_module(std::uint64_t module, std::uint64_t offset) {
  constexpr std::uint64_t kMostModules = 1 << 20;
  if (module == 0 || module > kMostModules) return std::nullopt;
  return model::ThreadLocalPlace{
      .is_static = false, .offset = static_cast<std::int64_t>(offset), .module = static_cast<std::uint32_t>(module)};
}

std::optional<model::ThreadLocalPlace> place_by(const ThreadLocalWord& word, const ElfImage& image, std::uint64_t bias,
                                                const ProcessWords& memory, std::uint64_t offset) {
  const std::uint64_t at = word.at.value + bias;
  if (word.holds == Holds::Descriptor) {
    const auto words = memory.two_at(at);
    if (!words || (*words)[0] == 0) return std::nullopt;
    if (auto place = in_static_block(image, (*words)[1], word.variable, offset)) return place;
    const auto module = memory.one_at((*words)[1]);
    return module ? in_module(*module, offset) : std::nullopt;
  }
  const auto held = memory.one_at(at);
  if (!held) return std::nullopt;
  if (word.holds == Holds::Distance) return in_static_block(image, *held, word.variable, offset);
  return in_module(*held, offset);
}

}  // namespace

std::expected<model::ThreadLocalPlace, std::string> thread_local_place(const ElfImage& image, std::uint64_t bias,
                                                                       pid_t pid, std::uint64_t offset) {
  const std::uint64_t block = image.thread_local_bytes();
  if (offset >= block) return std::unexpected("the file's thread-local block ends before it");
  if (image.is_program())
    return model::ThreadLocalPlace{.is_static = true,
                                   .offset = static_cast<std::int64_t>(offset) - static_cast<std::int64_t>(block)};
  if (pid == 0) return std::unexpected("where a library's thread-local variables are is known in a process alone");
  const ProcessWords memory(pid);
  if (!memory.are_readable()) return std::unexpected("the process's memory cannot be read");
  const auto words = image.thread_local_words();
  if (words.empty())
    return std::unexpected("its file has no word that tells where it is: code reaches it through another file alone");
  for (const bool is_static : {true, false})
    for (const ThreadLocalWord& word : words)
      if (auto place = place_by(word, image, bias, memory, offset); place && place->is_static == is_static)
        return *place;
  return std::unexpected("the dynamic linker has not placed it yet");
}

}  // namespace kevt::target
