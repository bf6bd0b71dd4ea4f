// Asked only when a program has no such function: some 100,000 lines are read then, and not kept. Answers are kept,
// since an editor asks at every key.
#include "compiler/target/kernel/kernel_names.h"

#include <cstdint>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>

namespace kevt::target {
namespace {

constexpr std::size_t kMaxAnswers = 4096;

}  // namespace

// "ffffffff81000000 T _stext" or "… t name\t[module]".
bool names_function(std::string_view kallsyms, std::string_view name) {
  if (name.empty()) return false;
  for (std::size_t at = kallsyms.find(name); at != std::string_view::npos; at = kallsyms.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool is_whole = end == kallsyms.size() || kallsyms[end] == '\n' || kallsyms[end] == '\t';
    if (!is_whole || at < 3 || kallsyms[at - 1] != ' ' || kallsyms[at - 3] != ' ') continue;
    const char type = kallsyms[at - 2];
    if (type == 't' || type == 'T' || type == 'w' || type == 'W') return true;
  }
  return false;
}

bool is_kernel_function(std::string_view name) {
  static std::mutex guard;
  static std::map<std::string, bool, std::less<>> answers;
  const std::scoped_lock lock(guard);
  if (const auto known = answers.find(name); known != answers.end()) return known->second;
  std::ifstream file("/proc/kallsyms", std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (answers.size() >= kMaxAnswers) answers.clear();
  return answers[std::string(name)] = names_function(text.view(), name);
}

}  // namespace kevt::target
