// Reads what is known about the target on demand.
//
// A process loads libraries while it runs, so its mappings are looked at again if the last look is two seconds ago. A
// kernel's functions come from its directory; addresses and types from kallsyms and BTF if they can be read. (A user
// without privileges sees zero addresses; then only names are known.)
#include "gui/model/target_context.h"

#include <fstream>
#include <sstream>
#include <unordered_set>

namespace kevt::gui {
namespace {

constexpr qint64 kLookAgainMs = 2000;

std::string text_of(const QString& path) {
  std::ifstream file(path.toStdString(), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

// The list without functions that cannot be probed. Lines are "NAME" or "NAME [MODULE]".
std::string without(const std::string& functions, const std::string& blacklist) {
  std::unordered_set<std::string> refused;
  std::istringstream lines(blacklist);
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t tab = line.find('\t'); tab != std::string::npos)
      refused.insert(line.substr(tab + 1, line.find_first_of(" \t", tab + 1) - tab - 1));
  if (refused.empty()) return functions;
  std::string out;
  std::istringstream names(functions);
  for (std::string line; std::getline(names, line);)
    if (!refused.contains(line.substr(0, line.find_first_of(" \t")))) out.append(line).push_back('\n');
  return out;
}

}  // namespace

void TargetContext::readProcess() {
  auto made = target::ProcessEnv::of_process(sources_.pid, {});
  if (!made) {
    trouble_ = QString::fromStdString(made.error().message());
    return;
  }
  process_ = *std::move(made);
  symbols_ = std::make_shared<author::SymbolIndex>(author::SymbolIndex::of_modules(process_->modules()));
}

void TargetContext::readKernel() {
  std::string names = sources_.functions.toStdString();
  if (!sources_.kallsyms.isEmpty() && names.empty()) names = author::functions_of_kallsyms(text_of(sources_.kallsyms));
  if (!sources_.blacklist.isEmpty()) names = without(names, text_of(sources_.blacklist));
  symbols_ = std::make_shared<author::SymbolIndex>(author::SymbolIndex::of_kernel_list(names));
  if (sources_.kallsyms.isEmpty() && sources_.btf.isEmpty()) return;
  target::KernelFiles files{.kallsyms = sources_.kallsyms.toStdString(),
                            .btf = {},
                            .is_of_this_machine = sources_.kallsyms == QStringLiteral("/proc/kallsyms")};
  if (!sources_.btf.isEmpty()) files.btf.push_back(sources_.btf.toStdString());
  auto made = target::TypedKernel::open(files);
  if (!made && !sources_.btf.isEmpty()) {
    trouble_ = QString::fromStdString(made.error().message());
    files.kallsyms.clear();  // addresses are hidden: use types only
    made = target::TypedKernel::open(files);
  }
  if (made)
    kernel_ = *std::move(made);
  else
    trouble_ = QString::fromStdString(made.error().message());
}

void TargetContext::read() {
  if (is_read_) {
    if (!process_ || since_look_.elapsed() < kLookAgainMs) return;
    since_look_.start();
    const auto has_changed = process_->refresh();
    if (!has_changed || !*has_changed) return;
    symbols_ = std::make_shared<author::SymbolIndex>(author::SymbolIndex::of_modules(process_->modules()));
    return;
  }
  is_read_ = true;
  since_look_.start();
  if (sources_.pid != 0)
    readProcess();
  else
    readKernel();
}

const target::TargetEnv* TargetContext::env() {
  read();
  if (process_) return &*process_;
  return kernel_ ? &*kernel_ : nullptr;
}

const target::ProcessEnv* TargetContext::process() {
  read();
  return process_ ? &*process_ : nullptr;
}

const target::PlaceSides* TargetContext::sides() {
  if (!sources_.has_kernel_beside) return nullptr;
  if (!sides_) sides_ = target::PlaceSides::of_running_kernel();
  return &*sides_;
}

std::shared_ptr<const author::SymbolIndex> TargetContext::symbols() {
  read();
  return symbols_;
}

}  // namespace kevt::gui
